"""The scoring core for models whose past can be kept: a context once, then its continuations.

Serves recurrent states, biased attention and all else that no mask describes. Contexts of one
length run together without padding; their cache is copied to the continuations, which run as a
second batch. Same numbers as plain rows. Knows token rows and the model; knows no text and no
request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch

from tenbin.backends.hf.model.forward import Forward, Place
from tenbin.backends.hf.model.logprobs import TokenValues
from tenbin.backends.hf.model.memory import send
from tenbin.backends.hf.model.prefix_tree import Ids
from tenbin.backends.hf.scoring.cache_plan import ContextPlan, Round
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, Target

_ALIGN = 16
"""On a GPU contexts are cut to a multiple of this, so that more of them have one length."""


class CachedContexts:
    """Contexts once, continuations on copies of their cache."""

    mode = "KV cache"

    def __init__(
        self, forward: Forward, budget: int, align: int | None = None, stepwise: bool = False
    ) -> None:
        """Prepare a core.

        Args:
            forward: The model.
            budget: Tokens of all copied caches of a batch; halved where memory ends.
            align: Contexts are cut to a multiple of this; by device if not given.
            stepwise: Continue token by token: some recurrent layers read their state only so.
        """
        self.forward = forward
        self.budget = budget
        self.stepwise = stepwise
        device = forward.device.type
        self.align = align or (_ALIGN if device == "cuda" and not stepwise else 1)
        self.past = "past_key_values" if "past_key_values" in forward.names else "cache_params"
        self.broken = False
        """Continuations meet the cache of another context: for the probe's control only."""

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done."""
        return self.forward.run_groups(groups, self._plan, self._launch, self._shrink, known)

    def _shrink(self, work: Round) -> None:
        self.budget = max(1, min(self.budget, work.size) // 2)

    def _plan(self, inputs: Sequence[Ids]) -> Iterator[Round]:
        # Made anew: the budget may have been halved.
        return ContextPlan(self.forward, self.budget, self.align, self.stepwise).rounds(inputs)

    def _launch(self, work: Round, targets: Sequence[Target]) -> TokenValues | None:
        hosts = [host for _, host in work.hosts]
        answers = [target.answer for target in targets]
        asked = [
            (hosts[target.row], target.start + step, token)
            for target in targets
            for step, token in enumerate(target.answer)
        ]
        return self.forward.guarded(lambda: self._values(work, asked), answers)

    def _values(self, work: Round, asked: Sequence[tuple[int, int, int]]) -> torch.Tensor:
        """Values of tokens, each given with its row and the position that predicts it."""
        shared, rows = work.shared, work.rows
        early = [at for at, (_, position, _) in enumerate(asked) if position < shared]
        late = [at for at, (_, position, _) in enumerate(asked) if position >= shared]
        contexts = [family.rows[0][:shared] for family in work.families]
        places = [(rows[asked[at][0]][0], asked[at][1]) for at in early]
        inputs: dict[str, Any] = {"input_ids": self.forward.padded(contexts)}
        tokens = [asked[at][2] for at in early]
        if not late:
            return self.forward.values(inputs, places, tokens)[0]
        values, cache = self._context(inputs, places, tokens)
        tails = [at for at, (_, ids) in enumerate(rows) if len(ids) > shared]
        # A copy for every continuation, of keys and values and of recurrent states alike.
        cache.reorder_cache(send([rows[at][0] for at in tails], self.forward.device))
        number = {row: at for at, row in enumerate(tails)}
        places = [(number[asked[at][0]], asked[at][1] - shared) for at in late]
        ids = self.forward.padded([rows[at][1][shared:] for at in tails])
        more = self._continued(cache, ids, places, [asked[at][2] for at in late])
        return _in_order(torch.cat([values, more]), [*early, *late])

    def _context(
        self, inputs: dict[str, Any], places: Sequence[Place], tokens: Sequence[int]
    ) -> tuple[torch.Tensor, Any]:
        inputs = {**inputs, "use_cache": True}
        values, output = self.forward.values(inputs, places, tokens, repeats=False)
        if self.broken:
            inputs["input_ids"] = (inputs["input_ids"] + 1) % self.forward.vocabulary
            output = self.forward.values(inputs, [], [], repeats=False)[1]
        return values, getattr(output, self.past)

    def _continued(
        self, cache: Any, ids: torch.Tensor, places: Sequence[Place], tokens: Sequence[int]
    ) -> torch.Tensor:
        """Values of tokens in the continuations of a cache, which is used up."""
        inputs = {"use_cache": True, self.past: cache}
        if not self.stepwise:
            inputs["input_ids"] = ids
            return self.forward.values(inputs, places, tokens, repeats=False)[0]
        found, order = [], []
        for step in range(ids.shape[1]):
            here = [at for at, (_, column) in enumerate(places) if column == step]
            order += here
            inputs["input_ids"] = ids[:, step : step + 1]
            values, output = self.forward.values(
                inputs, [(places[at][0], 0) for at in here], [tokens[at] for at in here], False
            )
            inputs[self.past] = getattr(output, self.past)
            found.append(values)
        return _in_order(torch.cat(found), order)


def _in_order(values: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    """Values put back to where they were asked."""
    back = sorted(range(len(order)), key=order.__getitem__)
    return values[send(back, values.device)]
