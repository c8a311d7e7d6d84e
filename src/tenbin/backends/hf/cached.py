"""The scoring core for models whose past can be kept: a context once, then its continuations.

Serves recurrent states, biased attention and all else that no mask describes. Contexts of one
length run together without padding; their cache is copied to the continuations, which run as a
second batch. Same numbers as plain rows. Knows token rows and the model; knows no text and no
request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch

from tenbin.backends.hf.desk import Desk, GroupScore, Target, run_works
from tenbin.backends.hf.encoding import Row
from tenbin.backends.hf.forward import Forward, Place
from tenbin.backends.hf.head import TokenValues
from tenbin.backends.hf.memory import send
from tenbin.backends.hf.tree import Ids, common_prefix

_ALIGN = 16
"""On a GPU contexts are cut to a multiple of this, so that more of them have one length."""
_LEAST = 8
"""A context shorter than this part of a row is not worth a second batch."""
_STEPS = 32
"""Tokens that are worth continuing one by one."""


@dataclass(slots=True)
class Family:
    """Inputs that share a context."""

    shared: int
    """Tokens of the context; all of them where there is one row."""
    rows: list[Ids]
    """What is computed."""
    covered: list[tuple[Ids, int]] = field(default_factory=list)
    """Inputs that a row begins with, and which: they cost nothing."""

    @property
    def longest(self) -> int:
        """Tokens of the longest row."""
        return max(len(ids) for ids in self.rows)

    @property
    def is_alone(self) -> bool:
        """Whether no cache is needed."""
        return len(self.rows) == 1


@dataclass(frozen=True, slots=True)
class Round:
    """Families whose contexts have one length, or single rows of any length."""

    families: list[Family]

    @property
    def shared(self) -> int:
        """Tokens of each context; of the longest where no cache is made."""
        return max(family.shared for family in self.families)

    @property
    def rows(self) -> list[tuple[int, Ids]]:
        """Each row with the number of its family."""
        return [(at, ids) for at, family in enumerate(self.families) for ids in family.rows]

    @property
    def hosts(self) -> list[tuple[Ids, int]]:
        """Each input with the number of the row in which it is computed."""
        found, before = [], 0
        for family in self.families:
            found += [(ids, before + at) for at, ids in enumerate(family.rows)]
            found += [(ids, before + at) for ids, at in family.covered]
            before += len(family.rows)
        return found

    @property
    def sequences(self) -> list[Ids]:
        """All inputs that the round answers."""
        return [ids for ids, _ in self.hosts]

    @property
    def size(self) -> int:
        """Tokens that the copied caches hold in the end."""
        return sum(len(item.rows) for item in self.families) * max(
            item.longest for item in self.families
        )


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

    def score(self, groups: Sequence[Sequence[Row]]) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done."""
        desk = Desk(groups)
        for kind in self.forward.classes(desk.inputs):
            yield from run_works(
                desk,
                kind,
                self._rounds,
                self._launch,
                self._shrink,
                self.forward.device.type == "cuda",
            )

    def _shrink(self, work: Round) -> None:
        self.budget = max(1, min(self.budget, work.size) // 2)

    def _rounds(self, inputs: Sequence[Ids]) -> Iterator[Round]:
        families = list(self._families(inputs))
        # Longest first: memory runs out at the start or never.
        families.sort(key=lambda item: (item.is_alone, item.shared, item.longest), reverse=True)
        batch: list[Family] = []
        for family in families:
            if batch and not self._fits(batch, family):
                yield Round(batch)
                batch = []
            batch.append(family)
        if batch:
            yield Round(batch)

    def _fits(self, batch: Sequence[Family], family: Family) -> bool:
        whole = Round([*batch, family])
        if family.is_alone != batch[0].is_alone or whole.size > self.budget:
            return False
        if not family.is_alone and family.shared != batch[0].shared:
            return False
        return not self.forward.is_too_wide(len(whole.families), whole.shared)

    def _families(self, inputs: Sequence[Ids]) -> Iterator[Family]:
        """Neighbours in sorted order, as long as sharing their context saves tokens."""
        rows, covered = self._covered(sorted(inputs))
        common = [0, *(common_prefix(a, b) for a, b in pairwise(rows)), 0]
        start, shared = 0, 0
        for at in range(1, len(rows) + 1):
            before = shared or common[at]
            after = min(before, common[at])
            if at < len(rows) and self._is_worth(
                rows[start : at + 1], before, after, common[at + 1]
            ):
                shared = after
                continue
            members = rows[start:at]
            inside = [(ids, n) for n, row in enumerate(members) for ids in covered.get(row, ())]
            whole = len(members) == 1
            yield Family(len(members[0]) if whole else self._cut(shared), members, inside)
            start, shared = at, 0

    def _covered(self, ordered: Sequence[Ids]) -> tuple[list[Ids], dict[Ids, list[Ids]]]:
        """Rows that must be computed, and the inputs that each of them begins with."""
        rows: list[Ids] = []
        covered: dict[Ids, list[Ids]] = {}
        for ids, longer in pairwise([*ordered, ()]):
            if longer[: len(ids)] == ids and len(longer) <= self.budget:
                covered.setdefault(longer, []).extend([ids, *covered.pop(ids, ())])
            else:
                rows.append(ids)
        return rows, covered

    def _is_worth(self, rows: Sequence[Ids], before: int, after: int, next_one: int) -> bool:
        """Whether the last row may join the ones before it.

        Args:
            rows: All of them.
            before: Tokens of the context without the last row.
            after: Tokens of the context with it.
            next_one: Tokens that the last row shares with the one that follows.
        """
        kind = self.forward.length_class
        if _LEAST * after < len(rows[-1]) or kind(self._cut(after)) != kind(len(rows[-1])):
            return False
        longest = max(len(ids) for ids in rows)
        if len(rows) * longest > self.budget or (self.stepwise and longest - after > _STEPS):
            return False
        # What the row saves, less what the others lose by a shorter context; and the same for the
        # row after it, which could begin a family with this one instead.
        saved = after - (before - after) * (len(rows) - 2)
        return saved > 0 and saved + after > next_one

    def _cut(self, shared: int) -> int:
        return shared - shared % self.align or shared

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
