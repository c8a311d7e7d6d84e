"""The scoring core for models that take a mask but bring their own attention.

One document a row: its context and all continuations as a small tree, held apart by a mask of four
dimensions; several documents a batch. Same numbers as plain rows. Knows token rows and the
model; knows no text and no request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import torch

from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.logprobs import TokenValues
from tenbin.backends.hf.model.memory import send
from tenbin.backends.hf.model.prefix_tree import Ids, Pack, families, in_order, make_packs
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, Target

_ROW = 2048
"""Tokens a row where its sequences are not longer: masks grow with the square."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Trees side by side, padded on the left so that answers stand in few columns."""

    trees: list[Pack]

    @property
    def sequences(self) -> list[Ids]:
        """All inputs, tree by tree."""
        return [ids for tree in self.trees for ids in tree.sequences]

    @property
    def width(self) -> int:
        """Tokens of the longest row."""
        return max(len(tree) for tree in self.trees)

    def place(self, sequence: int, position: int) -> tuple[int, int]:
        """Row and column of a position of a sequence."""
        for row, tree in enumerate(self.trees):
            if sequence < len(tree.sequences):
                return row, self.width - len(tree) + tree.place(sequence, position)
            sequence -= len(tree.sequences)
        raise IndexError(sequence)


class MaskedRows:
    """One document a row under a mask of its own."""

    mode = "masked rows"

    def __init__(self, forward: Forward, budget: int) -> None:
        """Prepare a core.

        Args:
            forward: The model.
            budget: Padded tokens a batch; halved where memory ends.
        """
        if not forward.keeps or not forward.takes_positions:
            raise TypeError("the model takes no position_ids or no logits_to_keep")
        self.forward = forward
        self.budget = budget
        self.broken = False
        """Every token reads all before it in its row: wrong, for the probe's control only."""

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done."""
        return self.forward.run_groups(groups, self._sheets, self._launch, self._shrink, known)

    def _shrink(self, sheet: Sheet) -> None:
        self.budget = max(1, min(self.budget, sheet.width * len(sheet.trees)) // 2)

    def _sheets(self, inputs: Sequence[Ids]) -> Iterator[Sheet]:
        """Rows of one document each, longest first, as many as the budget holds."""
        ordered = in_order(inputs)
        trees = [
            tree
            for first, last in families(ordered, [0])
            for tree in make_packs(ordered[first:last], min(self.budget, _ROW))
        ]
        trees.sort(key=len, reverse=True)
        batch: list[Pack] = []
        for tree in trees:
            if batch and (len(batch) + 1) * len(batch[0]) > self.budget:
                yield Sheet(batch)
                batch = []
            batch.append(tree)
        if batch:
            yield Sheet(batch)

    def _launch(self, sheet: Sheet, targets: Sequence[Target]) -> TokenValues | None:
        places = [
            sheet.place(target.row, target.start + step)
            for target in targets
            for step in range(len(target.answer))
        ]
        answers = [target.answer for target in targets]
        tokens = [token for answer in answers for token in answer]
        return self.forward.guarded(
            lambda: self.forward.values(self._inputs(sheet), places, tokens)[0], answers
        )

    def _inputs(self, sheet: Sheet) -> dict[str, torch.Tensor]:
        width, device = sheet.width, self.forward.device
        pads = [[0] * (width - len(tree)) for tree in sheet.trees]
        rows = list(zip(pads, sheet.trees, strict=True))
        ids = [token for pad, tree in rows for token in (*pad, *tree.ids)]
        positions = [place for pad, tree in rows for place in (*pad, *tree.positions)]
        allowed = send(torch.stack([self._allowed(tree, width) for tree in sheet.trees]), device)
        mask = torch.zeros(allowed.shape, dtype=self.forward.dtype, device=device)
        mask.masked_fill_(~allowed, torch.finfo(self.forward.dtype).min)
        return {
            "input_ids": send(ids, device).view(len(rows), width),
            "position_ids": send(positions, device).view(len(rows), width),
            "attention_mask": mask[:, None],
        }

    def _allowed(self, tree: Pack, width: int) -> torch.Tensor:
        pad = width - len(tree)
        # Padding reads itself: a softmax over nothing has no value.
        allowed = torch.eye(width, dtype=torch.bool)
        allowed[pad:, pad:] = (
            torch.ones(len(tree), len(tree), dtype=torch.bool).tril()
            if self.broken
            else tree_mask(tree)
        )
        return allowed


def tree_mask(tree: Pack) -> torch.Tensor:
    """Which tokens of a tree each of its tokens reads: its ancestors and itself."""
    mask = torch.zeros(len(tree), len(tree), dtype=torch.bool)
    for segment in tree.segments:
        start, end = segment.start, segment.start + segment.length
        if segment.parent >= 0:
            parent = tree.segments[segment.parent]
            # The parent's last token already reads all that this segment reads before itself.
            mask[start:end] = mask[parent.start + parent.length - 1]
        mask[start:end, start:end] = torch.ones(segment.length, segment.length).tril().bool()
    return mask
