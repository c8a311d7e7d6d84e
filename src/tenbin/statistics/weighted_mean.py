"""Means of several members on documents that may belong together, and their weighted mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenbin.statistics.intervals import t_quantile
from tenbin.statistics.score_interval import (
    ScoreInterval,
    effective_sizes,
    expected_variances,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Means:
    """The means of several members, and how they vary together."""

    values: Array
    """On the scale from 0 to the highest value."""
    covariance: Array
    """Members × members, by cluster."""
    clusters: Array
    """Of each member."""
    shared: Array
    """Members × members: the share of their clusters that two of them have in common."""
    influence: Any
    """Clusters × members, sparse: how far each cluster moves each mean."""
    incidence: Any
    """Clusters × members, sparse: 1 where a member has documents of a cluster."""

    @classmethod
    def of(cls, values: Sequence[Array], clusters: Sequence[NDArray[Any]], count: int) -> Means:
        """From the documents of each member.

        Args:
            values: For each member, the value of each document.
            clusters: For each member, the number of each document's cluster.
            count: Clusters of all members together.
        """
        import numpy as np
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

        means = np.array([float(own.mean()) for own in values])
        moved = np.concatenate(
            [(own - mean) / len(own) for own, mean in zip(values, means, strict=True)]
        )
        whose = np.repeat(np.arange(len(values)), [len(own) for own in values])
        at, shape = (np.concatenate(clusters), whose), (count, len(values))
        incidence = csr_matrix((np.ones(len(whose)), at), shape=shape)
        incidence.data[:] = 1.0
        sizes = np.asarray(incidence.sum(axis=0)).ravel()
        influence = csr_matrix((moved, at), shape=shape)
        influence = influence.multiply(np.sqrt(sizes / np.maximum(sizes - 1, 1))).tocsr()
        covariance = (influence.T @ influence).toarray()
        covariance[np.abs(covariance) < 1e-24 * max(1.0, float(np.abs(means).max()) ** 2)] = 0.0
        shared = (incidence.T @ incidence).toarray() / np.sqrt(np.outer(sizes, sizes))
        return cls(means, covariance, sizes, shared, influence, incidence)

    def stderr(self, weights: Array) -> float:
        """The standard error of the weighted mean."""
        found = math.sqrt(float(((self.influence @ weights) ** 2).sum()))
        return found if found >= 1e-12 * max(1.0, abs(float(weights @ self.values))) else 0.0

    def degrees(self, weights: Array, variances: Array) -> float:
        """Degrees of freedom of that error (Satterthwaite): those of the members that it comes
        from. Clusters that members share are counted once.

        Args:
            weights: Of the members.
            variances: Of the members' means.
        """
        import numpy as np

        parts = weights**2 * variances
        factors = np.sqrt(self.clusters / np.maximum(self.clusters - 1, 1))
        by_cluster = self.incidence @ (parts / self.clusters * factors)
        total, squares = float(parts.sum()), float((by_cluster**2).sum())
        return max(total**2 / squares, 1.0) if squares > 0 else float(self.clusters.sum())

    def interval(self, weights: Array, top: float) -> tuple[float, float]:
        """The 95 % interval of the weighted mean.

        Args:
            weights: Of the members.
            top: Values run from 0 to it.
        """
        import numpy as np

        shares, variances = self.values / top, np.diag(self.covariance) / top**2
        sizes = effective_sizes(shares, variances, self.clusters)
        degrees = self.degrees(weights, expected_variances(shares, sizes))
        known = (variances > 0) & (shares * (1 - shares) > 0)
        found = ScoreInterval(weights, sizes, self._correlation(known), t_quantile(degrees))
        low, high = found.ends(shares)
        return low * top, high * top

    def _correlation(self, known: NDArray[np.bool_]) -> Array:
        """Of the members' means; where one does not vary, as if documents of a cluster were one."""
        import numpy as np

        errors = np.sqrt(np.diag(self.covariance))
        both = np.outer(known, known)
        scale = np.where(both, np.outer(errors, errors), 1.0)
        found: Array = np.where(both, self.covariance / scale, self.shared)
        np.fill_diagonal(found, 1.0)
        return found
