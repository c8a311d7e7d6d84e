"""One metric of one cell as arrays: what every estimator of this stage works on.

All of our scores are functions of sums over documents: a mean is the sum of values over their
number, a confusion-matrix score is a function of the counted pairs, a perplexity one of summed
log-likelihoods and lengths. So each document becomes a row of features, and a score of any part,
resample or fold of the documents is `score(sum of rows)`. A thousand resamples are one matrix
product. Knows outcomes; does not know what they came from.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from sys import intern
from typing import TYPE_CHECKING, Any

from tenbin.errors import ResultError
from tenbin.records import Outcome
from tenbin.statistics import confusion, perplexity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_CONFUSION: dict[str, Callable[[Any], Any]] = {
    "balanced_acc": confusion.balanced_acc,
    "mcc": confusion.mcc,
    "macro_f1": confusion.macro_f1,
}

RATIOS: dict[str, Callable[[Array], Array]] = {
    "weighted_perplexity": perplexity.weighted_perplexity,
    "bits_per_byte": perplexity.bits_per_byte,
}
"""Aggregations of whole texts, whose documents weigh as much as they are long."""

_NO_CLASS = -1

AGGREGATIONS = ("mean", *_CONFUSION, *RATIOS)


@dataclass(frozen=True, slots=True)
class Measured:
    """The scored documents of one metric, one row of features each."""

    documents: tuple[str, ...]
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

    @property
    def value(self) -> float:
        """The score of all documents."""
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


def measured(aggregation: str, outcomes: Iterable[Outcome]) -> Measured:
    """Bring the outcomes of one metric into arrays; failed documents are left out, and counted.

    Documents are put into the order of their names, so that nothing depends on the order in which
    answers arrived. Outcomes are taken one at a time: their names and numbers stay.

    Raises:
        ResultError: The aggregation is unknown, needs classes that the outcomes do not have, or a
            document occurs twice.
    """
    import numpy as np

    if aggregation not in AGGREGATIONS:
        raise ResultError(f"unknown aggregation {aggregation!r}")
    numbers_of = _weighed if aggregation in RATIOS else _classes
    if aggregation == "mean":
        numbers_of = _valued
    names: list[str] = []
    groups: list[str | None] = []
    numbers, failed = array("d"), 0
    for outcome in outcomes:
        if outcome.value is None:
            failed += 1
            continue
        names.append(outcome.document)
        groups.append(intern(outcome.group) if outcome.group is not None else None)
        numbers.extend(numbers_of(outcome, outcome.value))
    order = sorted(range(len(names)), key=names.__getitem__)
    documents = tuple(names[at] for at in order)
    _check_once(documents)
    clusters = tuple(groups[at] for at in order)
    rows = np.array(numbers, dtype=np.float64).reshape(-1, 2)[order]
    if aggregation == "mean":
        return Measured(documents, clusters, rows, _mean, True, _mean, failed)
    if aggregation in RATIOS:
        ratio = RATIOS[aggregation]
        return Measured(documents, clusters, rows, ratio, False, ratio, failed)
    features, score = _confused(rows, _CONFUSION[aggregation])
    return Measured(documents, clusters, features, score, False, _right, failed)


def _check_once(documents: Sequence[str]) -> None:
    for one, following in pairwise(documents):
        if one == following:
            raise ResultError(
                f"document {one} occurs twice among the outcomes of a metric",
                "give the outcomes of one metric of one cell at a time",
            )


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


def _valued(outcome: Outcome, value: float) -> tuple[float, float]:
    return value, 1.0


def _weighed(outcome: Outcome, value: float) -> tuple[float, float]:
    if not outcome.weight:
        raise ResultError(
            f"{outcome.cell.id}: a document of {outcome.metric} has no length",
            "metrics of whole texts need the length of each in words, bytes or characters",
        )
    return -value, outcome.weight


def _classes(outcome: Outcome, value: float) -> tuple[float, float]:
    if outcome.gold is None or (outcome.predicted is None and value):
        raise ResultError(
            f"{outcome.cell.id}: {outcome.metric} of document {outcome.document} has no class",
            "metrics over a confusion matrix need gold and predicted choices",
        )
    return outcome.gold, _NO_CLASS if outcome.predicted is None else outcome.predicted
