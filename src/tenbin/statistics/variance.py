"""How much of a score's variance comes from the wording, the examples and the documents.

Values of one metric for every template × sample of examples × document form a crossed design
without repetition. A template's score is a mean over documents, so scores of equally good templates
differ by chance: what that alone explains, estimated from how clusters of documents change the
scores, is subtracted before anything is called an effect of the wording.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.measured import number_clusters
from tenbin.statistics.special import special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """A test of whether templates differ at all."""

    f: float
    """How far scores lie apart, over how far they would by chance."""
    p_value: float
    """Of equally good templates."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The variance of one score, divided by its sources.

    A score is that of one template with one sample of examples on this many documents. Shares are
    of the sum of what is above zero; `components` has the estimates as they are.
    """

    variance: float
    prompt: float
    """Share due to the wording: how far scores of templates differ beyond chance."""
    examples: float
    """Share due to the sample of examples, likewise, and to its interaction with the wording."""
    items: float
    """Share due to the sample of documents: what templates and examples have in common."""
    chance: float
    """Share due to the interaction of wording or examples with single documents, which cannot be
    told from chance without repetition."""
    components: dict[str, float]
    """Variance from each source. An estimate may be below zero, where the truth is near it."""
    templates_differ: Difference | None
    """None with one template, or fewer than two clusters."""


def variance_shares(values: Array, clusters: Sequence[str | None]) -> Shares:
    """Divide the variance of a score.

    Args:
        values: Templates × samples of examples × documents.
        clusters: The cluster of each document.
    """
    components = variance_components(values, clusters)
    kept = {name: max(0.0, found) for name, found in components.items()}
    total = sum(kept.values())
    shares = {name: found / total if total else 0.0 for name, found in kept.items()}
    return Shares(
        total,
        **shares,
        components=components,
        templates_differ=templates_differ(values.mean(axis=1), clusters),
    )


def variance_components(values: Array, clusters: Sequence[str | None]) -> dict[str, float]:
    """The variance of a score from each source, as estimated: below zero where it happens to be.

    Args:
        values: Templates × samples of examples × documents.
        clusters: The cluster of each document.
    """
    moved = _influences(values, clusters)
    scores = values.mean(axis=2)
    inflation = len(moved) / (len(moved) - 1) if len(moved) > 1 else 1.0

    def beyond_chance(form: str) -> float:
        by_chance = inflation * sum(_quadratic(one, form) for one in moved)
        return _quadratic(scores, form) - by_chance

    noise = inflation * float((moved**2).mean(axis=(1, 2)).sum())
    common = inflation * sum(_common(one) for one in moved)
    prompts, examples = scores.shape
    found = {"prompt": 0.0, "examples": 0.0, "items": common, "chance": noise - common}
    if prompts > 1:
        found["prompt"] = beyond_chance("prompt")
    if examples > 1:
        found["examples"] = beyond_chance("examples")
    if prompts > 1 and examples > 1:
        found["examples"] += beyond_chance("both")
    return found


def templates_differ(values: Array, clusters: Sequence[str | None]) -> Difference | None:
    """Test whether templates differ, by the F distribution.

    The mean square between templates is compared with that of wording × documents, which is what
    it would be if templates were equally good; both by cluster.

    Args:
        values: Templates × documents.
        clusters: The cluster of each document.
    """
    moved = _influences(values[:, None, :], clusters)[:, :, 0]
    templates, count = values.shape[0], len(moved)
    if templates < 2 or count < 2:
        return None
    own = moved - moved.mean(axis=1, keepdims=True)
    by_chance = count / (count - 1) * float((own**2).sum()) / (templates - 1)
    between = float(values.mean(axis=1).var(ddof=1))
    if by_chance <= 1e-24:
        if between <= 1e-24:
            return Difference(0.0, 1.0)
        # Every cluster says the same: as likely as that all happen to arrange templates alike.
        alike = -(count - 1) * _log_arrangements(values.mean(axis=1))
        return Difference(float("inf"), math.exp(alike))
    f = between / by_chance
    freedom = (templates - 1, (templates - 1) * (count - 1))
    return Difference(f, float(special().fdtrc(*freedom, f)))


def _log_arrangements(scores: Array) -> float:
    """In how many orders these scores can be given to the templates; its logarithm."""
    import numpy as np

    equal = np.unique(scores.round(12), return_counts=True)[1]
    log_gamma = special().gammaln
    return float(log_gamma(len(scores) + 1.0) - log_gamma(equal + 1.0).sum())


def _influences(values: Array, clusters: Sequence[str | None]) -> Array:
    """How much each cluster moves each score, clusters × templates × samples; sums are 0."""
    import numpy as np

    numbers = np.array(number_clusters(clusters), dtype=np.intp)
    deviations = (values - values.mean(axis=2, keepdims=True)) / values.shape[2]
    moved = np.zeros((int(numbers.max()) + 1, *values.shape[:2]))
    np.add.at(moved, numbers, np.moveaxis(deviations, 2, 0))
    return moved


def _quadratic(table: Array, form: str) -> float:
    """The method-of-moments estimate of one effect in a table of templates × samples.

    A quadratic form of the table: applied to what clusters contribute, it gives what chance adds.
    """
    prompts: int = table.shape[0]
    examples: int = table.shape[1]
    rows: Array = table.mean(axis=1)
    columns: Array = table.mean(axis=0)
    rest = table - rows[:, None] - columns[None, :] + table.mean()
    both = 0.0
    if prompts > 1 and examples > 1:
        both = float((rest**2).sum()) / ((prompts - 1) * (examples - 1))
    if form == "prompt":
        return float(rows.var(ddof=1)) - both / examples
    if form == "examples":
        return float(columns.var(ddof=1)) - both / prompts
    return both


def _common(moved: Array) -> float:
    """What a cluster does to all scores alike: the mean product of two scores' influences.

    The two differ in template and in sample, as far as there are several, so that neither the
    wording's nor the examples' interaction with documents is in it.
    """
    prompts: int = moved.shape[0]
    examples: int = moved.shape[1]
    every, rows, columns = float(moved.sum()) ** 2, moved.sum(axis=1), moved.sum(axis=0)
    squares = float((moved**2).sum())
    if prompts > 1 and examples > 1:
        pairs = every - float((rows**2).sum()) - float((columns**2).sum()) + squares
        return pairs / (prompts * (prompts - 1) * examples * (examples - 1))
    count = prompts * examples
    return (every - squares) / (count * (count - 1)) if count > 1 else squares
