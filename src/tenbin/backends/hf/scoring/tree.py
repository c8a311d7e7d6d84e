"""Tree engine, the fastest: packs of a prefix tree, every distinct position computed once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from tenbin.backends.hf.kernels.tree_attention import (
    NAME,
    active_plan,
    attention_of,
    make_plan,
    no_kernel,
    register,
)
from tenbin.backends.hf.model.compilation import Compilation
from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.llama_layers import misfit
from tenbin.backends.hf.model.logprobs import TokenLogprobs
from tenbin.backends.hf.model.memory import send
from tenbin.backends.hf.model.prefix_tree import (
    Pack,
    Segment,
    distinct_tokens,
    make_packs,
)
from tenbin.backends.hf.scoring.base import score_groups
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, Target

if TYPE_CHECKING:
    from tenbin.backends.hf.scoring.fused_pack_triton import FusedPack


class TreeEngine:
    """Rows as a packed prefix tree under the model's own attention interface."""

    mode = "packed tree"

    def __init__(
        self,
        forward: Forward,
        budget: int,
        compilation: Compilation | None = None,
        fused: bool = False,
    ) -> None:
        """Prepare an engine.

        Args:
            forward: The model.
            budget: Tokens per pack; halved after an out-of-memory error.
            compilation: When to compile the model's layers; None for never.
            fused: Whether layers that are not compiled run with fused kernels; see `may_be_fused`.
        """
        register()
        if not forward.keeps or not forward.takes_positions:
            raise TypeError("the model takes no position_ids or no logits_to_keep")
        self.forward = forward
        self.budget = budget
        self.compilation = compilation or Compilation("never")
        self._tokens = 0
        self.fused: FusedPack | None = None
        """Runs the layers, unless they are compiled."""
        if fused:
            # Imported where it is used: it needs Triton.
            from tenbin.backends.hf.scoring.fused_pack_triton import FusedPack

            self.fused = FusedPack(forward.model)
        self._is_compiled = False
        self.broken = False
        """For the probe's negative control only: every token attends to all before it in the pack,
        siblings included, which is wrong."""

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, yielding each group as soon as its last row is scored."""
        if not groups:
            return
        if self.compilation.is_possible(self.forward.model):
            # Those of earlier calls count too: a run that has been long will go on.
            contexts = [max((row.ids for row in group), key=len) for group in groups if group]
            self._tokens += distinct_tokens(contexts)
        with self.compilation.layers_of(self.forward.model, self._tokens) as compiled:
            self._is_compiled = compiled
            layers = ", compiled layers" if compiled else ", fused layers" if self.fused else ""
            self.mode = type(self).mode + layers
            yield from score_groups(
                self.forward,
                groups,
                lambda inputs: make_packs(inputs, self.budget),
                self._launch,
                self._shrink,
                known,
            )

    def _shrink(self, pack: Pack) -> None:
        self.budget = max(1, min(self.budget, len(pack)) // 2)

    def _launch(self, pack: Pack, targets: Sequence[Target]) -> TokenLogprobs | None:
        places = [
            (0, pack.place(target.row, target.start + step))
            for target in targets
            for step in range(len(target.answer))
        ]
        answers = [target.answer for target in targets]
        tokens = [token for answer in answers for token in answer]
        device = self.forward.device

        def compute() -> torch.Tensor:
            plan = make_plan(_flat(pack) if self.broken else pack, device)
            if self.fused is not None and not self._is_compiled:
                columns = [column for _, column in places]
                ids = send(pack.ids, device)
                return self.fused.values(ids, plan, columns, tokens, self.forward.positions)
            inputs = {
                "input_ids": send(pack.ids, device)[None],
                "position_ids": plan.positions[None],
            }
            with attention_of(self.forward.model, NAME), active_plan(plan):
                return self.forward.values(inputs, places, tokens)[0]

        return self.forward.guarded(compute, answers)


def may_be_fused(forward: Forward) -> bool:
    """Whether a model's layers look as if fused kernels could run them; the probe decides."""
    device = forward.device
    if device.type != "cuda" or no_kernel(device) is not None:
        return False
    return forward.keeps and misfit(forward.model) is None


def _flat(pack: Pack) -> Pack:
    """The same row as if it were one sequence."""
    return replace(pack, segments=[Segment(0, 0, len(pack), -1)])
