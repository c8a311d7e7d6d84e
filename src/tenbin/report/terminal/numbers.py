"""How scores are written in a terminal: metrics, values with errors, intervals, counts."""

from __future__ import annotations

from tenbin.results.schema import MetricDetail, MetricScore

_HUGE = 1e6
"""Values from which on numbers are printed in scientific notation."""
_LARGE = 1e3
"""Values from which on an interval's bounds have no decimals to show."""


def metric_name(score: MetricScore) -> str:
    """Return `acc ↑`, `word_perplexity ↓`."""
    return f"{score.metric} {'↑' if score.detail.higher_is_better else '↓'}"


def headline_name(score: MetricScore) -> str:
    """Return the metric, marked where lower is better, which no reader expects of a score."""
    return score.metric if score.detail.higher_is_better else f"{score.metric} ↓"


def full_numbers(score: MetricScore) -> tuple[str, str, str]:
    """Return value, standard error and interval with four decimals."""
    detail = score.detail
    return _written(score.value, score.stderr, detail.low, detail.high, detail.unit)


def value_with_error(score: MetricScore) -> str:
    """Return `0.4311 ± 0.0100`."""
    value, error, _ = full_numbers(score)
    return f"{value} ± {error}"


def short_interval(detail: MetricDetail) -> str:
    """Return the interval with as many digits as a line has room for: `0.412–0.450`."""
    low, high, unit = detail.low, detail.high, detail.unit
    if low is None or high is None:
        return "–"
    form = ".1f" if unit else ".3g" if high >= _LARGE else ".3f"
    dash = "–" if low >= 0 else " to "
    return f"{low:{form}}{dash}{high:{form}}{unit}"


def short_number(value: float | None, unit: str) -> str:
    """Return a value for a column of seven characters: `0.431`, `43.1`, `1.2e+04`."""
    if value is None:
        return "–"
    return f"{value:{'.1f' if unit else '.2g' if value >= _LARGE else '.3f'}}"


def unweighted(detail: MetricDetail) -> tuple[str, str]:
    """Return the unweighted mean of a group's tasks and its standard error as printed."""
    mean = detail.unweighted
    if mean is None:
        return "–", "–"
    return _written(mean.value, mean.stderr, None, None, detail.unit)[:2]


def count_clusters(count: int) -> str:
    """Return `1 cluster`, `51 clusters`."""
    return "1 cluster" if count == 1 else f"{count:,} clusters"


def _written(
    value: float | None, stderr: float | None, low: float | None, high: float | None, unit: str
) -> tuple[str, str, str]:
    # Two decimals of a percentage are four of a fraction; perplexities have no upper bound.
    form = ".2f" if unit else ".4e" if value is not None and value >= _HUGE else ".4f"
    return (
        "–" if value is None else f"{value:{form}}{unit}",
        "–" if stderr is None else f"{stderr:{form}}{unit}",
        "–" if low is None or high is None else f"[{low:{form}}, {high:{form}}]",
    )
