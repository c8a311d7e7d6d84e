"""The fastest scoring core: packs of a prefix tree, every distinct position computed once.

Same interface and same numbers as plain rows. Knows token rows and the model; knows no text and
no request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tenbin.backends.hf.attention import (
    NAME,
    active_plan,
    attention_of,
    make_plan,
    register,
)
from tenbin.backends.hf.desk import Desk, GroupScore, Target
from tenbin.backends.hf.encoding import Row
from tenbin.backends.hf.forward import Forward
from tenbin.backends.hf.tree import Ids, Pack, Segment, make_packs


class PackedTree:
    """Rows as a packed prefix tree under the model's own attention interface."""

    mode = "packed tree"

    def __init__(self, forward: Forward, budget: int) -> None:
        """Prepare a core.

        Args:
            forward: The model.
            budget: Tokens a pack; halved where memory ends.
        """
        register()
        self.forward = forward
        self.budget = budget
        self.ignores_tree = False
        """Every token reads all before it in the pack: wrong, for the probe's control only."""

    def score(self, groups: Sequence[Sequence[Row]]) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done."""
        desk = Desk(groups)
        for kind in self._classes(desk.inputs):
            yield from self._score_all(kind, desk)

    def _classes(self, inputs: Sequence[Ids]) -> list[list[Ids]]:
        """Inputs that may share a pack: some rotary embeddings look at the longest row."""
        classes: dict[int, list[Ids]] = {}
        for ids in inputs:
            classes.setdefault(self.forward.length_class(len(ids)), []).append(ids)
        return list(classes.values())

    def _score_all(self, inputs: Sequence[Ids], desk: Desk) -> Iterator[tuple[int, GroupScore]]:
        waiting = [inputs]
        while waiting:
            part = waiting.pop()
            done = 0
            for pack in make_packs(part, self.budget):
                scores = self._score_pack(pack, desk.targets(pack.sequences))
                if scores is None and len(pack.sequences) > 1:
                    # Halve, and pack again what is left: nothing that was answered is lost.
                    self.budget = max(1, len(pack) // 2)
                    waiting.append(sorted(part)[done:])
                    break
                done += len(pack.sequences)
                yield from desk.collect(pack.sequences, scores)

    def _score_pack(self, pack: Pack, targets: Sequence[Target]) -> list[tuple[float, bool]] | None:
        places = [
            [pack.place(target.row, target.start + step) for step in range(len(target.answer))]
            for target in targets
        ]
        plan = make_plan(_flat(pack) if self.ignores_tree else pack, self.forward.device)
        with attention_of(self.forward.model, NAME), active_plan(plan):
            return self.forward.score_packed(
                pack.ids, pack.positions, places, [target.answer for target in targets]
            )


def _flat(pack: Pack) -> Pack:
    """The same row as if it were one sequence."""
    return replace(pack, segments=[Segment(0, 0, len(pack), -1)])
