"""Inputs that share a context, and which of them run together: the plan of the cached core.

Knows token ids and lengths; knows no tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.prefix_tree import Ids, common_prefix

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


class ContextPlan:
    """Cuts inputs into rounds under a budget."""

    def __init__(self, forward: Forward, budget: int, align: int, stepwise: bool) -> None:
        """Prepare a plan.

        Args:
            forward: Asked which lengths may share a batch.
            budget: Tokens of all copied caches of a round.
            align: Contexts are cut to a multiple of this.
            stepwise: Whether continuations run token by token.
        """
        self.forward = forward
        self.budget = budget
        self.align = align
        self.stepwise = stepwise

    def rounds(self, inputs: Sequence[Ids]) -> Iterator[Round]:
        """Cut inputs into batches.

        Args:
            inputs: Distinct inputs of one length class.

        Yields:
            Batches, longest contexts first.
        """
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
