"""Summarise the documents of one metric as a row of the results, with its error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tenbin.records import ScoreRow
from tenbin.statistics.groups import Member, group_estimates, weighted_estimate
from tenbin.statistics.intervals import Estimate, FunctionEstimate, estimate
from tenbin.statistics.measured import RATIOS, Measured
from tenbin.statistics.power import detectable


def summarise(
    name: str,
    aggregation: str,
    documents: Measured,
    seed: int,
    id: str,
    higher_is_better: bool = True,
    top: float | None = 1.0,
) -> ScoreRow:
    """Summarise the documents of one metric in one cell.

    Failed documents are counted and left out of the value.

    Args:
        name: The name the score is reported under.
        aggregation: One of `measured.AGGREGATIONS`, the one that the documents were measured for.
        documents: All of the cell.
        seed: Makes the bootstrap repeatable.
        id: What the score belongs to.
        higher_is_better: Which way is better.
        top: The highest value of a document where values run from 0 to it; None without bounds.
    """
    found = estimate(documents, seed, top)
    row = score_row(id, name, found, documents.failed, higher_is_better, aggregation, top)
    if aggregation == "f1" and found.n and found.value is None:
        return replace(row, notice="f1 is defined for two classes, and there are more")
    if documents.parts:
        return replace(row, parts=documents.parts)
    if aggregation in RATIOS and found.n:
        return replace(row, weight=float(documents.features[:, 1].sum()))
    return row


def summarise_group(
    name: str,
    aggregation: str,
    members: Sequence[Member],
    seed: int,
    id: str,
    higher_is_better: bool = True,
    top: float | None = 1.0,
) -> tuple[ScoreRow, ScoreRow]:
    """The mean of a group weighted by documents, and the plain mean of its members.

    Args:
        name: The name the score is reported under.
        aggregation: One of `measured.AGGREGATIONS`, the same for all members.
        members: The documents of each.
        seed: Makes the bootstrap repeatable.
        id: The group's id.
        higher_is_better: Which way is better.
        top: As for `summarise`.
    """
    weighted, unweighted = group_estimates(members, seed, top)
    failed = sum(one.measured.failed for one in members)
    return (
        score_row(id, name, weighted, failed, higher_is_better, aggregation, top),
        score_row(id, name, unweighted, failed, higher_is_better, aggregation, top),
    )


def summarise_mean(
    name: str,
    members: Sequence[Member],
    weights: Sequence[float],
    seed: int,
    id: str,
    top: float,
) -> ScoreRow:
    """The mean of a group whose definition gives weights and metrics.

    Args:
        name: The name the mean is reported under.
        members: The documents of each task, under its metric, all on the scale from 0 to `top`.
        weights: One for each member, together 1.
        seed: Makes the bootstrap repeatable.
        id: The group's id.
        top: 1, or 100 for a mean in percent.
    """
    found = weighted_estimate(members, weights, seed, top)
    failed = sum(one.measured.failed for one in members)
    return score_row(id, name, found, failed, top=top)


def combine_rows(rows: Sequence[ScoreRow], id: str) -> tuple[ScoreRow, ScoreRow]:
    """Means of scores whose documents cannot be scored together, by documents and by score.

    The scores are taken as independent of each other; there is no interval.
    """
    scored = [row for row in rows if row.value is not None]
    sizes = [row.n for row in scored]
    return _combined(rows, scored, sizes, id), _combined(rows, scored, [1] * len(scored), id)


def _combined(
    rows: Sequence[ScoreRow], scored: Sequence[ScoreRow], weights: Sequence[int], id: str
) -> ScoreRow:
    total = sum(weights)
    value = stderr = None
    if scored:
        pairs = list(zip(scored, weights, strict=True))
        value = math.fsum(weight * (row.value or 0.0) for row, weight in pairs) / total
        errors = [(weight * row.stderr) ** 2 for row, weight in pairs if row.stderr is not None]
        stderr = math.sqrt(math.fsum(errors)) / total if len(errors) == len(scored) else None
    return ScoreRow(
        id=id,
        metric=rows[0].metric,
        value=value,
        stderr=stderr,
        n=sum(row.n for row in scored),
        failed=sum(row.failed for row in rows),
        higher_is_better=rows[0].higher_is_better,
        stderr_method="none" if stderr is None else "bootstrap",
        clusters=sum(row.clusters for row in scored),
        interval_method="none",
        aggregation=rows[0].aggregation,
    )


def score_row(
    id: str,
    name: str,
    found: Estimate,
    failed: int,
    higher_is_better: bool = True,
    aggregation: str = "mean",
    top: float | None = 1.0,
) -> ScoreRow:
    """An estimate as a row of the results."""
    shown = detectable(found, top)
    return ScoreRow(
        id=id,
        metric=name,
        value=found.value,
        stderr=found.stderr,
        n=found.n,
        failed=failed,
        higher_is_better=higher_is_better,
        stderr_method=found.stderr_method,
        low=found.low,
        high=found.high,
        clusters=found.clusters,
        interval_method=found.method,
        aggregation=aggregation,
        detectable_unpaired=shown.unpaired if shown else None,
        detectable_paired=shown.paired if shown else {},
        notice=found.notice if isinstance(found, FunctionEstimate) else "",
    )
