"""The batch loop that all scoring engines share: plan, launch, collect, and shrink if need be.

An engine supplies three functions: one that cuts inputs into batches under its budget, one that
starts a batch on the device, and one that lowers the budget after an out-of-memory error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.prefix_tree import Ids
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, ScoreCollector, Target


class Batch(Protocol):
    """Inputs that are computed together."""

    @property
    def sequences(self) -> Sequence[Ids]:
        """All inputs that it answers."""
        ...


class PendingScores(Protocol):
    """Scores that may still be on their way from the device."""

    def scores(self) -> list[tuple[float, bool]]:
        """Wait for them."""
        ...


AnyBatch = TypeVar("AnyBatch", bound=Batch)


def score_groups(
    forward: Forward,
    groups: Sequence[Sequence[Row]],
    plan: Callable[[Sequence[Ids]], Iterable[AnyBatch]],
    launch: Callable[[AnyBatch, Sequence[Target]], PendingScores | None],
    shrink: Callable[[AnyBatch], None],
    known: Collection[int] = (),
) -> Iterator[tuple[int, GroupScore]]:
    """Score groups of rows in an engine's batches; see `run_batches` for the functions.

    Args:
        forward: The model.
        groups: The rows of each request.
        plan: Cuts inputs into batches.
        launch: Starts a batch.
        shrink: Lowers the budget.
        known: Groups that need no score; see `ScoringEngine`.

    Yields:
        Position of a group and its scores, as soon as its last row is scored.
    """
    collector = ScoreCollector(groups, known)
    on_gpu = forward.device.type == "cuda"
    for inputs in forward.classes(collector.inputs):
        yield from run_batches(collector, inputs, plan, launch, shrink, lookahead=on_gpu)


def run_batches(
    collector: ScoreCollector,
    inputs: Sequence[Ids],
    plan: Callable[[Sequence[Ids]], Iterable[AnyBatch]],
    launch: Callable[[AnyBatch, Sequence[Target]], PendingScores | None],
    shrink: Callable[[AnyBatch], None],
    lookahead: bool,
) -> Iterator[tuple[int, GroupScore]]:
    """Compute inputs batch by batch; after an out-of-memory error, plan the rest anew.

    Args:
        collector: Takes the scores.
        inputs: What is to be computed.
        plan: Cuts inputs into batches under the engine's budget.
        launch: Starts a batch and returns its scores to come; None if memory did not suffice.
        shrink: Lowers the budget below a batch that was too large.
        lookahead: Start a batch before waiting for the previous one, so that the device does not
            idle while the host collects scores and prepares the next batch.
    """
    launched: list[tuple[Sequence[Ids], PendingScores | None]] = []

    def collect(keep: int) -> Iterator[tuple[int, GroupScore]]:
        while len(launched) > keep:
            sequences, pending = launched.pop(0)
            yield from collector.collect(sequences, None if pending is None else pending.scores())

    left = inputs
    while left:
        done: list[Sequence[Ids]] = []
        out_of_memory = False
        for batch in plan(left):
            if collector.skips(batch.sequences):
                done.append(batch.sequences)
                continue
            pending = launch(batch, collector.targets(batch.sequences))
            if pending is None and len(batch.sequences) > 1:
                shrink(batch)
                out_of_memory = True
                break
            # A single input that does not fit is collected without scores: nothing smaller exists.
            done.append(batch.sequences)
            launched.append((batch.sequences, pending))
            yield from collect(keep=1 if lookahead else 0)
        yield from collect(keep=0)
        if not out_of_memory:
            return
        # Batches that were launched before the error keep their scores.
        answered = {ids for sequences in done for ids in sequences}
        left = [ids for ids in left if ids not in answered]
