"""Both sides of a comparison, task by task, on the documents that both scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenbin.errors import ResultError
from tenbin.statistics.groups import Joined, Member, join_members
from tenbin.statistics.measured import Measured
from tenbin.statistics.selection import on_shared_documents, widened


@dataclass(frozen=True, slots=True)
class PairedMember:
    """Two sides of one task, or of one task of a group."""

    family: str
    """Members of one family may ask the same items."""
    baseline: Measured
    other: Measured
    weight: float | None = 1.0
    """In the mean of the group; None: as many as it has documents."""


@dataclass(frozen=True, slots=True)
class PairedSides:
    """Both sides of each member on the documents that both scored."""

    sides: list[tuple[Measured, Measured]]
    weights: list[float]
    """Of each member, together 1."""
    joined: Joined

    @classmethod
    def of(cls, members: Sequence[PairedMember]) -> PairedSides:
        """Cut every member down to the documents that both of its sides scored.

        Raises:
            ResultError: There are none, or the sides are no scores of the same kind.
        """
        sides, weights, units = [], [], []
        for member in members:
            if member.baseline.linear != member.other.linear:
                raise ResultError("the two sides are scores of different kinds")
            first, second = on_shared_documents([member.baseline, member.other])
            if not first.documents:
                continue
            if not (math.isfinite(first.value) and math.isfinite(second.value)):
                raise ResultError(
                    "a score is beyond the range of a float",
                    "compare another metric: perplexity per byte instead of per word, for one",
                )
            if first.features.shape[1] != second.features.shape[1]:
                first, second = widened([first, second])
            sides.append((first, second))
            weights.append(len(first.documents) if member.weight is None else member.weight)
            units.append(Member(member.family, first))
            if first.clusters != second.clusters:
                # Data may differ where the user allows it: what either side joins belongs together.
                units[-1] = Member(member.family, _jointly_clustered(first, second))
        if not sides:
            raise ResultError(
                "the two sides share no scored document",
                "compare runs of the same data, split and language",
            )
        total = sum(weights)
        return cls(sides, [weight / total for weight in weights], join_members(units))

    def values(self) -> tuple[float, float]:
        """The mean of each side."""
        if len(self.sides) == 1:
            first, second = self.sides[0]
            return first.value, second.value
        pairs = list(zip(self.sides, self.weights, strict=True))
        return (
            math.fsum(weight * first.value for (first, _), weight in pairs),
            math.fsum(weight * second.value for (_, second), weight in pairs),
        )

    def correlation(self) -> float | None:
        """Between the two sides over documents; members have means of their own."""
        import numpy as np

        parts = [
            [side.values - side.values.mean() for side in member if len(side.documents)]
            for member in self.sides
        ]
        one, two = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        spread = math.sqrt(float(one @ one) * float(two @ two))
        return float(one @ two) / spread if spread > 1e-12 else None


def _jointly_clustered(first: Measured, second: Measured) -> Measured:
    numbers = join_members([Member("", first), Member("", second)]).clusters[0]
    return replace(first, clusters=tuple(str(number) for number in numbers))
