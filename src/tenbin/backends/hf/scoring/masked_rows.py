"""Masked-rows engine, for models that take a 4D attention mask but bring their own attention.

One document per row: its context and all continuations as a small tree, separated by a mask of four
dimensions; several documents per batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import torch

from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.logprobs import TokenLogprobs
from tenbin.backends.hf.model.memory import send
from tenbin.backends.hf.model.prefix_tree import Ids, Pack, in_order, make_packs, sibling_ranges
from tenbin.backends.hf.scoring.base import score_groups
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, Target

_ROW_TOKENS = 2048
"""Tokens per row unless a sequence is longer: masks grow with the square of a row."""


@dataclass(frozen=True, slots=True)
class TreeBatch:
    """Trees side by side, left padded.

    Left padding puts the answers, which stand at the end of a tree, into few columns: the head is
    computed per column of the whole batch.
    """

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
        """Return row and column of a position of a sequence."""
        for row, tree in enumerate(self.trees):
            if sequence < len(tree.sequences):
                return row, self.width - len(tree) + tree.place(sequence, position)
            sequence -= len(tree.sequences)
        raise IndexError(sequence)


class MaskedRowsEngine:
    """One document per row under a mask of its own."""

    mode = "masked rows"

    def __init__(self, forward: Forward, budget: int) -> None:
        """Prepare an engine.

        Args:
            forward: The model.
            budget: Padded tokens per batch; halved after an out-of-memory error.
        """
        if not forward.keeps or not forward.takes_positions:
            raise TypeError("the model takes no position_ids or no logits_to_keep")
        self.forward = forward
        self.budget = budget
        self.broken = False
        """For the probe's negative control only: every token attends to all before it in its row,
        siblings included, which is wrong."""

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, yielding each group as soon as its last row is scored."""
        return score_groups(self.forward, groups, self._plan, self._launch, self._shrink, known)

    def _shrink(self, batch: TreeBatch) -> None:
        self.budget = max(1, min(self.budget, batch.width * len(batch.trees)) // 2)

    def _plan(self, inputs: Sequence[Ids]) -> Iterator[TreeBatch]:
        """One document per row, longest first, as many rows as the budget holds."""
        ordered = in_order(inputs)
        trees = [
            tree
            for first, last in sibling_ranges(ordered, [0])
            for tree in make_packs(ordered[first:last], min(self.budget, _ROW_TOKENS))
        ]
        # Neighbours of like length need little padding.
        trees.sort(key=len, reverse=True)
        batch: list[Pack] = []
        for tree in trees:
            if batch and (len(batch) + 1) * len(batch[0]) > self.budget:
                yield TreeBatch(batch)
                batch = []
            batch.append(tree)
        if batch:
            yield TreeBatch(batch)

    def _launch(self, batch: TreeBatch, targets: Sequence[Target]) -> TokenLogprobs | None:
        places = [
            batch.place(target.row, target.start + step)
            for target in targets
            for step in range(len(target.answer))
        ]
        answers = [target.answer for target in targets]
        tokens = [token for answer in answers for token in answer]
        return self.forward.guarded(
            lambda: self.forward.values(self._inputs(batch), places, tokens)[0], answers
        )

    def _inputs(self, batch: TreeBatch) -> dict[str, torch.Tensor]:
        width, device = batch.width, self.forward.device
        pads = [[0] * (width - len(tree)) for tree in batch.trees]
        rows = list(zip(pads, batch.trees, strict=True))
        ids = [token for pad, tree in rows for token in (*pad, *tree.ids)]
        positions = [place for pad, tree in rows for place in (*pad, *tree.positions)]
        allowed = send(torch.stack([self._allowed(tree, width) for tree in batch.trees]), device)
        mask = torch.zeros(allowed.shape, dtype=self.forward.dtype, device=device)
        mask.masked_fill_(~allowed, torch.finfo(self.forward.dtype).min)
        return {
            "input_ids": send(ids, device).view(len(rows), width),
            "position_ids": send(positions, device).view(len(rows), width),
            "attention_mask": mask[:, None],
        }

    def _allowed(self, tree: Pack, width: int) -> torch.Tensor:
        pad = width - len(tree)
        # Padding attends to itself: a softmax over nothing has no value.
        allowed = torch.eye(width, dtype=torch.bool)
        allowed[pad:, pad:] = (
            torch.ones(len(tree), len(tree), dtype=torch.bool).tril()
            if self.broken
            else tree_mask(tree)
        )
        return allowed


def tree_mask(tree: Pack) -> torch.Tensor:
    """Return which tokens of a tree each of its tokens attends to: its ancestors and itself."""
    mask = torch.zeros(len(tree), len(tree), dtype=torch.bool)
    for segment in tree.segments:
        start, end = segment.start, segment.start + segment.length
        if segment.parent >= 0:
            parent = tree.segments[segment.parent]
            # The parent's last token already attends to all that comes before this segment.
            mask[start:end] = mask[parent.start + parent.length - 1]
        mask[start:end, start:end] = torch.ones(segment.length, segment.length).tril().bool()
    return mask
