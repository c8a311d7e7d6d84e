"""Which prompts each document is asked, and what was observed.

Each cluster of documents gets a few of all prompts at random. Every prompt and every pair of
prompts is equally likely for a cluster, which is what the estimators assume, and all prompts are
asked nearly equally often.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tenbin.errors import ConfigError, ResultError
from tenbin.statistics.intervals import within

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    Numbers = NDArray[np.intp]

SMALLEST_LOAD = 4
"""Documents that each prompt must be asked on for anything to be said of single prompts."""


@dataclass(frozen=True)
class PromptMatrix:
    """Values of one metric, documents × prompts, observed in part."""

    values: Array
    """Documents × prompts; NaN where a cell was not asked, or was asked and failed."""
    asked: Mask
    """Documents × prompts: the cells of the design, as `assign` gave them."""
    clusters: Numbers
    """The number of each document's cluster; documents of one cluster are asked the same."""
    top: float | None = 1.0
    """The highest value there should be where values run from 0 to it; else None."""

    def __post_init__(self) -> None:
        import numpy as np

        if self.values.ndim != 2 or self.values.shape != self.asked.shape:
            raise ResultError("values and asked cells must be of one shape, documents × prompts")
        if self.clusters.shape != self.values.shape[:1]:
            raise ResultError("each document of a prompt matrix needs one cluster")
        if bool((~np.isnan(self.values) & ~self.asked).any()):
            raise ResultError("a prompt matrix has values of cells that were not asked")
        if not self.observed.any():
            raise ResultError("a prompt matrix without any value has no scores")

    @property
    def documents(self) -> int:
        """Rows, whether observed or not."""
        return int(self.values.shape[0])

    @property
    def prompts(self) -> int:
        """Columns."""
        return int(self.values.shape[1])

    @cached_property
    def observed(self) -> Mask:
        """The cells with a value."""
        import numpy as np

        found: Mask = self.asked & ~np.isnan(self.values)
        return found

    @cached_property
    def bound(self) -> float | None:
        """The highest value there can be; None where a value lies below 0 or above `top`."""
        return self.top if within(self.values[self.observed], self.top) else None

    @cached_property
    def filled(self) -> Array:
        """The values, with 0 where there is none: for sums."""
        import numpy as np

        return np.where(self.observed, self.values, 0.0)

    @cached_property
    def cluster_numbers(self) -> Numbers:
        """Clusters numbered from 0 without holes."""
        import numpy as np

        return np.unique(self.clusters, return_inverse=True)[1].reshape(-1)

    @property
    def per_document(self) -> float:
        """Prompts that a document was asked, on average: the price in full runs."""
        return float(self.asked.sum()) / self.documents

    def sums_by_cluster(self, cells: Array) -> Array:
        """Rows of documents added up by cluster; columns stay."""
        import numpy as np

        count = int(self.cluster_numbers.max()) + 1
        if count == self.documents:
            return cells[np.argsort(self.cluster_numbers)]
        sums = np.zeros((count, *cells.shape[1:]))
        np.add.at(sums, self.cluster_numbers, cells)
        return sums


def assign(clusters: Sequence[str | int], prompts: int, per_document: int, seed: int) -> Mask:
    """Decide which prompts each document is asked.

    Clusters are taken in an order that depends on the seed and on their names alone, larger ones
    first; each gets the prompts that were asked least so far, ties broken at random. The same
    documents in another order are asked the same.

    Args:
        clusters: The name of each document's cluster. A document of its own has a name of its own.
        prompts: How many there are.
        per_document: How many each document is asked: the price in full runs.
        seed: Makes the design repeatable.

    Returns:
        Documents × prompts: whether the cell is asked.

    Raises:
        ConfigError: Fewer than one prompt a document, or no document.
    """
    import numpy as np

    if per_document < 1 or prompts < 1:
        raise ConfigError(
            f"a budget of {per_document} of {prompts} prompts asks nothing",
            "--budget 4x asks every document four prompts",
        )
    if not clusters:
        raise ConfigError("a design needs documents")
    if per_document >= prompts:
        return np.ones((len(clusters), prompts), dtype=np.bool_)
    sizes = Counter(clusters)
    order = sorted(sizes, key=lambda name: (-sizes[name], _mark(seed, name)))
    generator = np.random.default_rng([abs(seed), len(order), prompts, per_document])
    load = np.zeros(prompts)
    chosen: dict[str | int, Numbers] = {}
    for name in order:
        # Loads are whole numbers: what is added below one decides between equal ones only.
        least = np.argpartition(load + generator.random(prompts), per_document - 1)
        chosen[name] = least[:per_document]
        load[chosen[name]] += sizes[name]
    asked = np.zeros((len(clusters), prompts), dtype=np.bool_)
    for at, name in enumerate(clusters):
        asked[at, chosen[name]] = True
    return asked


def check_load(documents: int, prompts: int, per_document: int) -> None:
    """Refuse a design in which a prompt is asked too rarely.

    Raises:
        ConfigError: Prompts would be asked on fewer than `SMALLEST_LOAD` documents.
    """
    load = documents * min(per_document, prompts) / prompts
    if load < min(SMALLEST_LOAD, documents):
        needed = -(-SMALLEST_LOAD * prompts // documents)
        raise ConfigError(
            f"{documents} documents × {per_document} prompts ask each of {prompts} prompts on "
            f"{load:.1f} documents, and {SMALLEST_LOAD} are needed",
            f"--budget {needed}x, more documents, or fewer prompts",
        )


def _mark(seed: int, name: str | int) -> bytes:
    """A number that orders clusters by seed and name."""
    return hashlib.blake2b(json.dumps([seed, name]).encode(), digest_size=8).digest()
