"""One metric of one cell as arrays: what every estimator of this stage works on.

All of our scores are functions of sums over documents: a mean is the sum of values over their
number, a confusion-matrix score is a function of the counted pairs, a perplexity one of summed
log-likelihoods and lengths. So each document becomes a row of features, and a score of any part,
resample or fold of the documents is `score(sum of rows)`. A thousand resamples are one matrix
product. Knows outcomes; does not know what they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
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

AGGREGATIONS = ("mean", *_CONFUSION, *RATIOS)


@dataclass(frozen=True, slots=True)
class Measured:
    """The scored documents of one metric, one row of features each."""

    documents: tuple[str, ...]
    clusters: tuple[str, ...]
    """What each document belongs to; documents of one cluster are not independent."""
    features: Array
    """Documents × features."""
    score: Callable[[Array], Array]
    """From sums of features, shape (..., features), to scores, shape (...)."""
    linear: bool
    """Whether the score is a mean over documents, so that errors follow analytically."""
    own: Callable[[Array], Array]
    """From rows of features to what each document scores by itself."""

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

        numbers = number_clusters(self.clusters)
        sums = np.zeros((max(numbers, default=-1) + 1, self.features.shape[1]))
        np.add.at(sums, numbers, self.features)
        return sums


def measured(aggregation: str, outcomes: Iterable[Outcome]) -> Measured:
    """Bring the outcomes of one metric into arrays; failed documents are left out.

    Documents are put into the order of their names, so that nothing depends on the order in which
    answers arrived.

    Raises:
        ResultError: The aggregation is unknown, needs classes that the outcomes do not have, or a
            document occurs twice.
    """
    import numpy as np

    scored = sorted((o for o in outcomes if o.value is not None), key=lambda o: o.document)
    for one, following in pairwise(scored):
        if one.document == following.document:
            raise ResultError(
                f"document {one.document} occurs twice among the outcomes of {one.metric}",
                "give the outcomes of one metric of one cell at a time",
            )
    documents = tuple(o.document for o in scored)
    clusters = tuple(o.group if o.group is not None else f"\0{o.document}" for o in scored)
    if aggregation == "mean":
        features = np.array([[float(o.value or 0.0), 1.0] for o in scored]).reshape(-1, 2)
        return Measured(documents, clusters, features, _mean, True, _mean)
    if aggregation in RATIOS:
        ratio = RATIOS[aggregation]
        return Measured(documents, clusters, _weighed(scored), ratio, False, ratio)
    if aggregation not in _CONFUSION:
        raise ResultError(f"unknown aggregation {aggregation!r}")
    gold, named = _classes(scored)
    size = max([*gold, *(one for one in named if one is not None)], default=0) + 1
    # Where no choice was named, that is a prediction of its own, which is never right.
    predicted = [size if one is None else one for one in named]
    size += None in named
    features = np.zeros((len(scored), size * size))
    features[np.arange(len(scored)), np.array(gold, int) * size + np.array(predicted, int)] = 1.0
    matrix_score = _CONFUSION[aggregation]

    def score(sums: Array) -> Array:
        result: Array = matrix_score(sums.reshape(*sums.shape[:-1], size, size))
        return result

    return Measured(documents, clusters, features, score, False, _right)


def number_clusters(clusters: Sequence[str]) -> list[int]:
    """Clusters by number, in the order in which they first occur."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]


def _mean(sums: Array) -> Array:
    import numpy as np

    count = sums[..., 1]
    result: Array = np.divide(sums[..., 0], count, out=np.zeros_like(count), where=count != 0)
    return result


def _right(features: Array) -> Array:
    size = round(features.shape[1] ** 0.5)
    right: Array = features[:, :: size + 1].sum(axis=1)
    return right


def _weighed(scored: Sequence[Outcome]) -> Array:
    import numpy as np

    rows = [(-o.value, o.weight) for o in scored if o.value is not None and o.weight]
    if len(rows) < len(scored):
        raise ResultError(
            f"{scored[0].cell.id}: a document of {scored[0].metric} has no length",
            "metrics of whole texts need the length of each in words, bytes or characters",
        )
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def _classes(scored: Sequence[Outcome]) -> tuple[list[int], list[int | None]]:
    gold: list[int] = []
    for outcome in scored:
        if outcome.gold is None or (outcome.predicted is None and outcome.value):
            raise ResultError(
                f"{outcome.cell.id}: {outcome.metric} of document {outcome.document} has no class",
                "metrics over a confusion matrix need gold and predicted choices",
            )
        gold.append(outcome.gold)
    return gold, [outcome.predicted for outcome in scored]
