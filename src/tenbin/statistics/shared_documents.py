"""Several models, or several checkpoints of one, on the documents that all of them scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.errors import ResultError
from tenbin.statistics.bootstrap import Resampling
from tenbin.statistics.groups import Joined, Member, join_members
from tenbin.statistics.measured import Measured
from tenbin.statistics.paired_sides import PairedMember
from tenbin.statistics.selection import on_shared_documents, widened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankedMember:
    """One task, or one task of a group, as every model answered it."""

    family: str
    """Members of one family may ask the same items."""
    models: tuple[Measured, ...]
    """One for each model, in the same order in all members."""
    weight: float | None = 1.0
    """In the mean of the group; None: as many as it has documents."""


@dataclass(frozen=True, slots=True)
class SharedDocuments:
    """All members on the documents that every model scored, summed by cluster."""

    members: list[tuple[str, list[Measured], float]]
    """Family, models and weight; weights together are 1."""
    joined: Joined
    rows: Array
    """Clusters × features of all members and models."""
    score: Callable[[Array], Array]
    """From sums, shape (..., features), to scores, shape (..., models)."""

    @classmethod
    def of(cls, members: Sequence[RankedMember]) -> SharedDocuments:
        """Cut members down to shared documents.

        Raises:
            ResultError: There are none.
        """
        import numpy as np

        found: list[tuple[str, list[Measured], float]] = []
        for member in members:
            models = on_shared_documents(member.models)
            if not models[0].documents:
                raise ResultError("the models share no scored document")
            if len({model.features.shape[1] for model in models}) > 1:
                models = widened(models)
            weight = len(models[0].documents) if member.weight is None else member.weight
            found.append((member.family, models, weight))
        total = sum(weight for *_, weight in found)
        found = [(family, models, weight / total) for family, models, weight in found]
        joined = join_members([Member(family, models[0]) for family, models, _ in found])
        blocks = []
        for (_, models, _), clusters in zip(found, joined.clusters, strict=True):
            features = np.concatenate([model.features for model in models], axis=1)
            sums = np.zeros((len(joined.strata), features.shape[1]))
            np.add.at(sums, clusters, features)
            blocks.append(sums)
        borders = np.cumsum([block.shape[1] for block in blocks])[:-1]

        def score(sums: Array) -> Array:
            parts = np.split(sums, borders, axis=-1)
            total: Array = np.sum(
                [
                    weight * _scores(models, part)
                    for (_, models, weight), part in zip(found, parts, strict=True)
                ],
                axis=0,
            )
            return total

        return cls(found, joined, np.concatenate(blocks, axis=1), score)

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return sum(len(models[0].documents) for _, models, _ in self.members)

    @property
    def heaviest(self) -> float:
        """How much one document weighs at most."""
        return max(weight / len(models[0].documents) for _, models, weight in self.members)

    def pair(self, first: int, second: int) -> list[PairedMember]:
        """Two of the models, for a comparison."""
        return [
            PairedMember(family, models[first], models[second], weight)
            for family, models, weight in self.members
        ]

    def resampling(self) -> Resampling:
        """Resamples clusters for all models at once, so that what models share cancels."""
        return Resampling(self.rows, self.score, self.joined.strata)


def _scores(models: Sequence[Measured], sums: Array) -> Array:
    import numpy as np

    parts = np.split(sums, len(models), axis=-1)
    return np.stack([one.score(part) for one, part in zip(models, parts, strict=True)], axis=-1)
