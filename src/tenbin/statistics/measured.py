"""One metric of one cell as arrays: the input of every estimator.

All scores are functions of sums over documents: a mean is the sum of values over their number, a
confusion-matrix score is a function of the counted pairs, a perplexity one of summed
log-likelihoods and lengths. So each document becomes a row of features, and the score of any
subset, resample or fold of the documents is `score(sum of rows)`. A thousand resamples are one
matrix product.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import TYPE_CHECKING, Any

from tenbin.errors import ResultError
from tenbin.files.disk_list import DiskList
from tenbin.records import Outcome
from tenbin.statistics import confusion, perplexity, translation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_CONFUSION: dict[str, Callable[[Any], Any]] = {
    "balanced_acc": confusion.balanced_acc,
    "mcc": confusion.mcc,
    "macro_f1": confusion.macro_f1,
    "f1": confusion.f1,
}

RATIOS: dict[str, Callable[[Array], Array]] = {
    "weighted_perplexity": perplexity.weighted_perplexity,
    "bits_per_byte": perplexity.bits_per_byte,
}
"""Aggregations of whole texts, in which documents are weighted by their length."""

_COUNTED: dict[str, Callable[[Array], Array]] = {
    "bleu": translation.bleu,
    "chrf": translation.chrf,
    "chrf++": translation.chrf,
    "ter": translation.ter,
}
"""Aggregations of summed counts, which are the items of outcomes."""

POOLED = "pooled"
"""The share of all parts of all documents; the item of an outcome is a list of (name, value)."""

LINEAR = ("mean", "nanmean", "brier_score")
"""Means of values; `nanmean` has no outcome of a document without one."""

_OWN_FUNCTION = "function "
"""What the name of an aggregation by a task's function begins with."""

_NO_CLASS = -1

AGGREGATIONS = (*LINEAR, "perplexity", *_CONFUSION, *RATIOS, *_COUNTED, POOLED)


def known_aggregation(name: str) -> bool:
    """Whether stored outcomes can be aggregated so; not where a function of the task does it."""
    return name in AGGREGATIONS


@dataclass(frozen=True, slots=True)
class Measured:
    """The scored documents of one metric, one row of features each."""

    documents: Sequence[str]
    """Their names, in order."""
    clusters: tuple[str | None, ...]
    """What each document belongs to; documents of one cluster are not independent. None: it is a
    cluster of its own."""
    features: Array
    """Documents × features."""
    score: Callable[[Array], Array]
    """From sums of features, shape (..., features), to scores, shape (...)."""
    linear: bool
    """Whether the score is a mean over documents, so that errors follow analytically."""
    own: Callable[[Array], Array]
    """From rows of features to what each document scores by itself."""
    failed: int = 0
    """Documents that are left out, because they have no value."""
    items: tuple[Any, ...] | None = None
    """What `aggregate` takes of the documents, in the order of their rows; None where the score is
    a function of summed features."""
    aggregate: Callable[[list[Any]], Any] | None = None
    """The aggregation of items."""
    parts: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    """Of pooled documents: name of a part → its summed values, and how many there are."""
    aggregation: str = "mean"
    """One of `AGGREGATIONS`, or that of a function."""

    @property
    def value(self) -> float:
        """The score of all documents."""
        if self.aggregate is not None:
            raise ResultError("a function of the task aggregates these documents")
        return float(self.score(self.features.sum(axis=0)))

    @property
    def values(self) -> Array:
        """What each document scores by itself: its value, its perplexity, or right as 1."""
        return self.own(self.features)

    def cluster_sums(self) -> Array:
        """Clusters × features, in the order in which clusters first occur."""
        import numpy as np

        if all(cluster is None for cluster in self.clusters):
            return self.features
        numbers = number_clusters(self.clusters)
        sums = np.zeros((max(numbers, default=-1) + 1, self.features.shape[1]))
        np.add.at(sums, numbers, self.features)
        return sums


class Gathering:
    """Outcomes of one metric as they come, in the order of their documents' names.

    That order makes sums the same to the last bit, whoever was answered first. Failed documents are
    left out, and counted. Numbers stay in memory; names do not need to.
    """

    def __init__(
        self,
        aggregation: str,
        names: list[str] | DiskList[str] | None = None,
        function: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        """Start with no outcomes of one metric of one task.

        Args:
            aggregation: One of `AGGREGATIONS`, or `function NAME`.
            names: Where names of documents are put; in a disk list unless said otherwise.
            function: The task's own aggregation, which takes the items of all documents.

        Raises:
            ResultError: The aggregation is unknown.
        """
        if aggregation not in AGGREGATIONS and function is None:
            raise ResultError(
                f"unknown aggregation {aggregation!r}",
                "a function of the task aggregates it, which stored runs do not hold"
                if aggregation.startswith(_OWN_FUNCTION)
                else "",
            )
        self._aggregation, self._function = aggregation, function
        self._items: list[tuple[int, Any]] = []
        self._names = DiskList[str]() if names is None else names
        self._last: str | None = None
        self._clusters: list[str | None] = []
        self._numbers = array("d")
        self._parts: dict[str, tuple[float, int]] = {}
        self._failed = 0

    def add(self, outcome: Outcome, place: int | None = None) -> None:
        """One more document.

        Args:
            outcome: What the metric says of it.
            place: Its place among the rows, for functions that depend on the order.

        Raises:
            ResultError: It occurs twice, or has no class or length where those are needed.
        """
        if outcome.value is None:
            self._failed += 1
            return
        if self._last is not None and outcome.document <= self._last:
            assert outcome.document == self._last, "documents come in the order of their names"
            raise ResultError(
                f"document {outcome.document} occurs twice among the outcomes of {outcome.metric}",
                "give the outcomes of one metric of one cell at a time",
            )
        self._last = outcome.document
        self._names.append(outcome.document)
        self._clusters.append(intern(outcome.group) if outcome.group is not None else None)
        if self._function is not None:
            item = outcome.value if outcome.item is None else outcome.item
            self._items.append((len(self._items) if place is None else place, item))
        if self._function is not None or self._aggregation in LINEAR:
            self._numbers.extend((outcome.value, 1.0))
        elif self._aggregation == "perplexity":
            self._numbers.extend((-outcome.value, 1.0))
        elif self._aggregation in _COUNTED:
            self._numbers.extend(_counts(outcome))
        elif self._aggregation == POOLED:
            self._numbers.extend(self._pool(outcome))
        elif self._aggregation in RATIOS:
            self._numbers.extend(_weighed(outcome, outcome.value))
        else:
            self._numbers.extend(_classes(outcome, outcome.value))

    def _pool(self, outcome: Outcome) -> tuple[float, float]:
        """The summed values of a document's parts and their number; counted by name too."""
        try:
            parts = [(str(name), float(value)) for name, value in _counts(outcome)]
        except (TypeError, ValueError):
            parts = []
        if not parts:
            raise ResultError(
                f"{outcome.cell.id}: {outcome.metric} of document {outcome.document} has no parts",
                "run it again",
            )
        for name, value in parts:
            total, count = self._parts.get(name, (0.0, 0))
            self._parts[intern(name)] = total + value, count + 1
        return math.fsum(value for _, value in parts), float(len(parts))

    def measured(self) -> Measured:
        """All of them as arrays; nothing may be added any more."""
        import numpy as np

        documents = tuple(self._names) if isinstance(self._names, list) else self._names
        count = len(self._clusters)
        rows = np.frombuffer(self._numbers, dtype=np.float64).reshape(count, -1 if count else 2)
        clusters, failed = tuple(self._clusters), self._failed
        if self._function is not None:
            order = sorted(range(count), key=lambda at: self._items[at][0])
            items = tuple(self._items[at][1] for at in order)
            clusters = tuple(clusters[at] for at in order)
            return Measured(
                documents, clusters, rows, _mean, False, _mean, failed, items, self._function,
                aggregation=self._aggregation,
            )  # fmt: skip
        score: Callable[[Array], Array] = _mean
        own, linear = score, self._aggregation in LINEAR
        if self._aggregation in RATIOS:
            score = own = RATIOS[self._aggregation]
        elif self._aggregation == "perplexity":
            score = own = perplexity.weighted_perplexity
        elif self._aggregation in _COUNTED:
            score = own = _COUNTED[self._aggregation]
        elif self._aggregation == POOLED:
            parts = dict(sorted(self._parts.items()))
            return Measured(documents, clusters, rows, score, False, own, failed, parts=parts,
                            aggregation=self._aggregation)  # fmt: skip
        elif not linear:
            rows, score = _confused(rows, _CONFUSION[self._aggregation])
            own = _right
        return Measured(
            documents, clusters, rows, score, linear, own, failed, aggregation=self._aggregation
        )


def measured(aggregation: str, outcomes: Iterable[Outcome]) -> Measured:
    """Bring the outcomes of one metric into arrays, whatever order they come in.

    Raises:
        ResultError: The aggregation is unknown, needs classes that the outcomes do not have, or a
            document occurs twice.
    """
    gathering = Gathering(aggregation, [])
    for outcome in sorted(outcomes, key=lambda outcome: outcome.document):
        gathering.add(outcome)
    return gathering.measured()


def _confused(
    classes: Array, matrix_score: Callable[[Any], Any]
) -> tuple[Array, Callable[[Array], Array]]:
    """Gold and predicted classes as cells of a matrix, one a document, and the score of sums."""
    import numpy as np

    gold, named = classes.astype(int).T
    size = int(classes.max(initial=0)) + 1
    # Where no choice was named, that is a prediction of its own, which is never right.
    predicted = np.where(named == _NO_CLASS, size, named)
    size += bool((named == _NO_CLASS).any())
    features = np.zeros((len(classes), size * size))
    features[np.arange(len(classes)), gold * size + predicted] = 1.0

    def score(sums: Array) -> Array:
        result: Array = matrix_score(sums.reshape(*sums.shape[:-1], size, size))
        return result

    return features, score


def number_clusters(clusters: Sequence[str | None]) -> list[int]:
    """Clusters by number, in the order in which they first occur."""
    known: dict[str, int] = {}
    numbers, count = [], 0
    for cluster in clusters:
        number = count if cluster is None else known.setdefault(cluster, count)
        count += number == count
        numbers.append(number)
    return numbers


def _mean(sums: Array) -> Array:
    import numpy as np

    count = sums[..., 1]
    result: Array = np.divide(sums[..., 0], count, out=np.zeros_like(count), where=count != 0)
    return result


def _right(features: Array) -> Array:
    size = round(features.shape[1] ** 0.5)
    right: Array = features[:, :: size + 1].sum(axis=1)
    return right


def _weighed(outcome: Outcome, value: float) -> tuple[float, float]:
    if not outcome.weight:
        raise ResultError(
            f"{outcome.cell.id}: a document of {outcome.metric} has no length",
            "metrics of whole texts need the length of each in words, bytes or characters",
        )
    return -value, outcome.weight


def _counts(outcome: Outcome) -> tuple[Any, ...]:
    if outcome.item is None:
        raise ResultError(
            f"{outcome.cell.id}: {outcome.metric} of document {outcome.document} has no counts",
            "run it again",
        )
    return tuple(outcome.item)


def _classes(outcome: Outcome, value: float) -> tuple[float, float]:
    if outcome.item is not None:
        gold, predicted = outcome.item
        return gold, predicted
    if outcome.gold is None or (outcome.predicted is None and value):
        raise ResultError(
            f"{outcome.cell.id}: {outcome.metric} of document {outcome.document} has no class",
            "metrics over a confusion matrix need gold and predicted choices",
        )
    return outcome.gold, _NO_CLASS if outcome.predicted is None else outcome.predicted
