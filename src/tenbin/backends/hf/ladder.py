"""Chooses the fastest scoring core that gives the right numbers for this very model.

Not every architecture allows every way of sharing work, and names do not tell. So the first run
asks the model itself: a few made-up sequences are scored by a candidate and by plain rows of one,
and two controls keep the comparison honest. A candidate that fails is passed over with one line
that says why; it never returns a number. Knows cores; knows no request.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from tenbin.backends.hf.desk import ScoringCore
from tenbin.backends.hf.encoding import Row
from tenbin.backends.hf.forward import Forward
from tenbin.backends.hf.packed import PackedTree
from tenbin.backends.hf.rows import PlainRows
from tenbin.errors import BackendError

_EXACT = 1e-4
"""Largest difference of a log-likelihood in float32."""
_NOISE = 4.0
"""In shorter types: so many times the model's own difference between one row and many."""
_LEAST_NOISE = 0.02
_WINDOW = 1024
"""Windows up to this length are tried by contexts that are longer."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A core, and why no faster one."""

    core: ScoringCore
    reasons: tuple[str, ...] = ()


def choose_core(
    forward: Forward,
    engine: str,
    batch_size: int | Literal["auto"],
    row_budget: int,
    pack_budget: int,
) -> Choice:
    """The fastest core that passes the probe, or the one that was asked for.

    Args:
        forward: The model.
        engine: `auto`, or a rung by name.
        batch_size: Rows a batch of plain rows, or `auto`.
        row_budget: Padded tokens a batch of plain rows.
        pack_budget: Tokens a pack.

    Raises:
        BackendError: The core that was asked for fails the probe.
    """
    plain = PlainRows(forward, batch_size, row_budget)
    if engine == "plain":
        return Choice(plain)
    reason = probe(forward, lambda: PackedTree(forward, pack_budget))
    if reason is None:
        return Choice(PackedTree(forward, pack_budget))
    if engine == "tree":
        raise BackendError(
            f"engine=tree does not fit this model: {reason}",
            "leave engine out to let tenbin choose",
        )
    return Choice(plain, (f"packed tree: {reason}",))


def probe(forward: Forward, make: Callable[[], PackedTree]) -> str | None:
    """Why a candidate must not be used; None when it gives the plain numbers.

    Args:
        forward: The model.
        make: Gives a fresh candidate.
    """
    if not forward.keeps or not forward.takes_positions:
        return "the model takes no position_ids or no logits_to_keep"
    groups = _sequences(forward)
    try:
        expected = _alone(forward, groups)
        found = _scores(make(), groups)
        moved = _scores(make(), _perturbed(groups, forward.vocabulary))
        with _everyone_reads_all(make()) as blind:
            wrong = _scores(blind, groups)
    except Exception as error:  # noqa: BLE001: whatever an architecture objects to
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}"
    allowed = _tolerance(forward, groups, expected)
    difference = _largest(expected, found)
    if not difference <= allowed:
        return f"log-likelihoods differ by {difference:.2g}, {allowed:.2g} is allowed"
    siblings = _largest(_unperturbed(found), _unperturbed(moved))
    if not siblings <= allowed:
        return f"a branch reaches its siblings: {siblings:.2g}"
    if not _largest(expected, wrong) > 20 * max(difference, 1e-7):
        return "a wrong mask changes nothing, so the probe proves nothing"
    return None


def _sequences(forward: Forward) -> list[list[Row]]:
    """Ragged contexts, shared prefixes, one-token, nested and long continuations."""
    generator = random.Random(0)

    def tokens(count: int) -> tuple[int, ...]:
        return tuple(generator.randrange(forward.vocabulary) for _ in range(count))

    shared = tokens(11)
    contexts = [shared + tokens(23), shared + tokens(4), tokens(1), shared, tokens(37)]
    if window := _shortest_window(forward):
        contexts.append(tokens(window + 19))
    groups = []
    for context in contexts:
        first = tokens(2)
        answers = [first, (*first, *tokens(3)), tokens(1), tokens(6)]
        groups.append([Row(context + answer, len(answer)) for answer in answers])
    return groups


def _shortest_window(forward: Forward) -> int | None:
    config = forward.model.config.get_text_config()
    values = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
    windows = [value for value in values if isinstance(value, int) and value <= _WINDOW]
    return min(windows, default=None)


Scored = list[list[float]]


def _alone(forward: Forward, groups: Sequence[Sequence[Row]]) -> Scored:
    core = PlainRows(forward, 1, 1)
    return _scores(core, groups)


def _scores(core: ScoringCore, groups: Sequence[Sequence[Row]]) -> Scored:
    found: dict[int, list[float]] = {}
    for number, scores in core.score(groups):
        if scores is None:
            raise MemoryError("the device's memory does not suffice for the probe")
        found[number] = [score.logprob for score in scores]
    return [found[number] for number in range(len(groups))]


def _perturbed(groups: Sequence[Sequence[Row]], vocabulary: int) -> list[list[Row]]:
    """The same with other tokens in each group's last answer."""
    changed = []
    for group in groups:
        last = group[-1]
        answer = tuple((token + 1) % vocabulary for token in last.ids[-last.scored :])
        changed.append([*group[:-1], Row(last.ids[: -last.scored] + answer, last.scored)])
    return changed


def _unperturbed(scored: Scored) -> Scored:
    return [values[:-1] for values in scored]


@contextmanager
def _everyone_reads_all(core: PackedTree) -> Any:
    """The candidate under a mask that is wrong on purpose."""
    core.ignores_tree = True
    try:
        yield core
    finally:
        core.ignores_tree = False


def _tolerance(forward: Forward, groups: Sequence[Sequence[Row]], alone: Scored) -> float:
    import torch

    if forward.dtype == torch.float32:
        return _EXACT
    together = _scores(PlainRows(forward, "auto", 1 << 14), groups)
    return max(_LEAST_NOISE, _NOISE * _largest(alone, together))


def _largest(first: Scored, second: Scored) -> float:
    pairs = [(a, b) for x, y in zip(first, second, strict=True) for a, b in zip(x, y, strict=True)]
    return max(abs(a - b) for a, b in pairs)
