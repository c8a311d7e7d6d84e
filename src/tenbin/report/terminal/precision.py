"""What the documents of a run can show: the difference that its least precise task detects."""

from __future__ import annotations

from tenbin.results.schema import Detectable, MetricDetail, RunResult

_WIDE = 0.05
"""Half-width of an interval, as a share of the scale, from which its imprecision is noted."""


def precision_line(result: RunResult) -> str | None:
    """Return what the least precise of the first metrics can show, if its interval is wide."""
    known = [
        (half, id, score)
        for id in result.details
        for score in result.scores(id)[:1]
        if (half := _half_width(score.detail)) is not None
    ]
    if not known:
        return None
    half, id, score = max(known, key=lambda one: one[0])
    if half < _WIDE:
        return None
    scale = 1 if score.detail.unit == "%" else 100
    detectable = score.detail.detectable
    unpaired = None if detectable is None else detectable.unpaired
    paired = None if detectable is None else _paired_range(detectable, scale)
    text = f"precision: {id} {score.metric}, n = {score.detail.n:,}: "
    if unpaired is None or paired is None or scale * unpaired >= 100:
        text += "too few documents to detect any difference reliably."
    else:
        text += (
            f"±{100 * half:.0f} points. Differences detectable with 80% power: "
            f"{scale * unpaired:.0f} points on other documents, "
            f"{paired} on the same ones."
        )
    return text


def _paired_range(detectable: Detectable, scale: int) -> str | None:
    """Return the differences found on the same documents, over how alike two runs may answer."""
    known = {of: step for of, step in detectable.by_correlation.items() if step is not None}
    if not known:
        # Runs of earlier versions have one correlation only.
        return None if detectable.paired is None else f"about {scale * detectable.paired:.0f}"
    steps = sorted(known.items(), key=lambda one: one[1])
    if len(steps) == 1:
        return f"about {scale * steps[0][1]:.0f}"
    (most, least), (some, largest) = steps[0], steps[-1]
    if f"{scale * least:.0f}" == f"{scale * largest:.0f}":
        return f"about {scale * least:.0f}"
    return f"{scale * least:.0f} to {scale * largest:.0f} (correlation {most} to {some})"


def _half_width(detail: MetricDetail) -> float | None:
    """Return half the interval's width as a share of the scale; None without interval or scale."""
    if detail.states("weight") or detail.low is None or detail.high is None:
        return None
    return float(detail.high - detail.low) / (200 if detail.unit == "%" else 2)
