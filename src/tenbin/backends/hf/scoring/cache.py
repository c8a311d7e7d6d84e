"""Cache engine: each context once, then its continuations on copies of its KV cache.

Serves recurrent states, biased attention and everything else that no mask describes. Contexts of
one length run together without padding; their cache is copied to the continuations, which run as a
second batch. Contexts are not padded because a recurrent state would carry the padding on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch

from tenbin.backends.hf.model.forward import Forward, Place
from tenbin.backends.hf.model.logprobs import TokenLogprobs
from tenbin.backends.hf.model.memory import send
from tenbin.backends.hf.model.prefix_tree import Ids, common_prefix
from tenbin.backends.hf.scoring.base import score_groups
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, Target

_ALIGN = 16
"""On a GPU, contexts are cut to a multiple of this, so that more of them have one length."""
_SMALLEST_SHARE = 8
"""A context shorter than one part in this many of a row is not worth a second batch."""
_MOST_STEPS = 32
"""Tokens that are worth continuing one by one."""


class CacheEngine:
    """Contexts once, continuations on copies of their cache."""

    mode = "KV cache"

    def __init__(
        self, forward: Forward, budget: int, align: int | None = None, stepwise: bool = False
    ) -> None:
        """Prepare an engine.

        Args:
            forward: The model.
            budget: Tokens of all copied caches of a batch; halved after an out-of-memory error.
            align: Contexts are cut to a multiple of this; by device if not given.
            stepwise: Continue token by token: some recurrent layers read their state only then.
        """
        self.forward = forward
        self.budget = budget
        self.stepwise = stepwise
        device = forward.device.type
        self.align = align or (_ALIGN if device == "cuda" and not stepwise else 1)
        self.past = "past_key_values" if "past_key_values" in forward.names else "cache_params"
        self.broken = False
        """For the probe's negative control only: continuations get the cache of another context,
        which is wrong."""

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, yielding each group as soon as its last row is scored."""
        return score_groups(self.forward, groups, self._plan, self._launch, self._shrink, known)

    def _shrink(self, batch: ContextBatch) -> None:
        self.budget = max(1, min(self.budget, batch.size) // 2)

    def _plan(self, inputs: Sequence[Ids]) -> Iterator[ContextBatch]:
        # Made anew for every plan: the budget may have been halved.
        return ContextPlan(self.forward, self.budget, self.align, self.stepwise).batches(inputs)

    def _launch(self, batch: ContextBatch, targets: Sequence[Target]) -> TokenLogprobs | None:
        hosts = [host for _, host in batch.hosts]
        answers = [target.answer for target in targets]
        asked = [
            (hosts[target.row], target.start + step, token)
            for target in targets
            for step, token in enumerate(target.answer)
        ]
        return self.forward.guarded(lambda: self._values(batch, asked), answers)

    def _values(self, batch: ContextBatch, asked: Sequence[tuple[int, int, int]]) -> torch.Tensor:
        """Values of tokens, each given with its row and the position that predicts it."""
        shared, rows = batch.shared, batch.rows
        early = [at for at, (_, position, _) in enumerate(asked) if position < shared]
        late = [at for at, (_, position, _) in enumerate(asked) if position >= shared]
        contexts = [group.rows[0][:shared] for group in batch.groups]
        places = [(rows[asked[at][0]][0], asked[at][1]) for at in early]
        inputs: dict[str, Any] = {"input_ids": self.forward.padded(contexts)}
        tokens = [asked[at][2] for at in early]
        if not late:
            return self.forward.values(inputs, places, tokens)[0]
        values, cache = self._context(inputs, places, tokens)
        tails = [at for at, (_, ids) in enumerate(rows) if len(ids) > shared]
        # One copy per continuation, of keys and values and of recurrent states alike.
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
        # repeats=False: running the context twice would write its cache twice.
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
    """Put values back into the order in which they were asked for."""
    back = sorted(range(len(order)), key=order.__getitem__)
    return values[send(back, values.device)]


@dataclass(slots=True)
class ContextGroup:
    """Inputs that share a context."""

    shared: int
    """Tokens of the context; the whole row if there is only one."""
    rows: list[Ids]
    """What is computed."""
    covered: list[tuple[Ids, int]] = field(default_factory=list)
    """Inputs that are a prefix of a row, and which row: they cost nothing."""

    @property
    def longest(self) -> int:
        """Tokens of the longest row."""
        return max(len(ids) for ids in self.rows)

    @property
    def is_alone(self) -> bool:
        """Whether no cache is needed."""
        return len(self.rows) == 1


@dataclass(frozen=True, slots=True)
class ContextBatch:
    """Groups whose contexts have one length, or single rows of any length."""

    groups: list[ContextGroup]

    @property
    def shared(self) -> int:
        """Tokens of each context; of the longest where no cache is made."""
        return max(group.shared for group in self.groups)

    @property
    def rows(self) -> list[tuple[int, Ids]]:
        """Each row with the number of its group."""
        return [(at, ids) for at, group in enumerate(self.groups) for ids in group.rows]

    @property
    def hosts(self) -> list[tuple[Ids, int]]:
        """Each input with the number of the row in which it is computed."""
        found, before = [], 0
        for group in self.groups:
            found += [(ids, before + at) for at, ids in enumerate(group.rows)]
            found += [(ids, before + at) for ids, at in group.covered]
            before += len(group.rows)
        return found

    @property
    def sequences(self) -> list[Ids]:
        """All inputs that the batch answers."""
        return [ids for ids, _ in self.hosts]

    @property
    def size(self) -> int:
        """Tokens that the copied caches hold in the end."""
        return sum(len(item.rows) for item in self.groups) * max(
            item.longest for item in self.groups
        )


class ContextPlan:
    """Cuts inputs into batches of contexts under a budget."""

    def __init__(self, forward: Forward, budget: int, align: int, stepwise: bool) -> None:
        """Prepare a plan.

        Args:
            forward: Says which lengths may share a batch.
            budget: Tokens of all copied caches of a batch.
            align: Contexts are cut to a multiple of this.
            stepwise: Whether continuations run token by token.
        """
        self.forward = forward
        self.budget = budget
        self.align = align
        self.stepwise = stepwise

    def batches(self, inputs: Sequence[Ids]) -> Iterator[ContextBatch]:
        """Cut distinct inputs of one length class into batches, longest contexts first."""
        groups = list(self._groups(inputs))
        # Longest first: memory runs out at the start or never.
        groups.sort(key=lambda item: (item.is_alone, item.shared, item.longest), reverse=True)
        batch: list[ContextGroup] = []
        for group in groups:
            if batch and not self._fits(batch, group):
                yield ContextBatch(batch)
                batch = []
            batch.append(group)
        if batch:
            yield ContextBatch(batch)

    def _fits(self, batch: Sequence[ContextGroup], group: ContextGroup) -> bool:
        whole = ContextBatch([*batch, group])
        if group.is_alone != batch[0].is_alone or whole.size > self.budget:
            return False
        if not group.is_alone and group.shared != batch[0].shared:
            return False
        return not self.forward.is_too_wide(len(whole.groups), whole.shared)

    def _groups(self, inputs: Sequence[Ids]) -> Iterator[ContextGroup]:
        """Group neighbours in sorted order as long as sharing their context saves tokens."""
        rows, covered = self._covered(sorted(inputs))
        common = [0, *(common_prefix(a, b) for a, b in pairwise(rows)), 0]
        start, shared = 0, 0
        for at in range(1, len(rows) + 1):
            before = shared or common[at]
            after = min(before, common[at])
            if at < len(rows) and self._pays_off(
                rows[start : at + 1], before, after, common[at + 1]
            ):
                shared = after
                continue
            members = rows[start:at]
            inside = [(ids, n) for n, row in enumerate(members) for ids in covered.get(row, ())]
            whole = len(members) == 1
            yield ContextGroup(len(members[0]) if whole else self._cut(shared), members, inside)
            start, shared = at, 0

    def _covered(self, ordered: Sequence[Ids]) -> tuple[list[Ids], dict[Ids, list[Ids]]]:
        """Return the rows that must be computed, and the inputs that are prefixes of each."""
        rows: list[Ids] = []
        covered: dict[Ids, list[Ids]] = {}
        for ids, longer in pairwise([*ordered, ()]):
            if longer[: len(ids)] == ids and len(longer) <= self.budget:
                covered.setdefault(longer, []).extend([ids, *covered.pop(ids, ())])
            else:
                rows.append(ids)
        return rows, covered

    def _pays_off(self, rows: Sequence[Ids], before: int, after: int, next_one: int) -> bool:
        """Whether the last row should join the ones before it.

        Args:
            rows: All of them.
            before: Tokens of the context without the last row.
            after: Tokens of the context with it.
            next_one: Tokens that the last row shares with the one that follows.
        """
        kind = self.forward.length_class
        if _SMALLEST_SHARE * after < len(rows[-1]) or kind(self._cut(after)) != kind(len(rows[-1])):
            return False
        longest = max(len(ids) for ids in rows)
        if len(rows) * longest > self.budget or (self.stepwise and longest - after > _MOST_STEPS):
            return False
        # What the row saves, minus what the others lose by a shorter context; and compared with
        # what it would save by starting a group with the row after it instead.
        saved = after - (before - after) * (len(rows) - 2)
        return saved > 0 and saved + after > next_one

    def _cut(self, shared: int) -> int:
        return shared - shared % self.align or shared
