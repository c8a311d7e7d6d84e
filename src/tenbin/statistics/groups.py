"""Put the scores of a group's members together.

Knows score rows alone; does not know the outcomes behind them, so it must take the members as
independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tenbin.errors import ResultError
from tenbin.records import ScoreRow


def combine(id: str, members: Sequence[Sequence[ScoreRow]]) -> list[ScoreRow]:
    """One row for every metric that all members have, in the first member's order.

    Args:
        id: The group's id.
        members: The rows of each member.
    """
    by_metric = [{row.metric: row for row in rows} for rows in members]
    shared = [
        metric
        for metric in (by_metric[0] if by_metric else {})
        if all(metric in rows for rows in by_metric)
    ]
    return [weighted_mean(id, [rows[metric] for rows in by_metric]) for metric in shared]


def weighted_mean(id: str, rows: Sequence[ScoreRow]) -> ScoreRow:
    """The mean of one metric over members, weighted by number of documents.

    The standard error pools the members' own, taken as independent: sqrt(Σ (nᵢ/N)² seᵢ²). Where
    members share documents (the same items in several languages) the true error is larger.
    Members without a scored document weigh nothing; their failures are counted.

    Raises:
        ResultError: There are no rows, or they are of different metrics.
    """
    if len({(row.metric, row.higher_is_better) for row in rows}) != 1:
        raise ResultError(f"{id}: a group's mean needs rows of one metric")
    scored = [(row.n, row.value, row.stderr) for row in rows if row.value is not None and row.n > 0]
    total = sum(n for n, _, _ in scored)
    value: float | None = None
    stderr: float | None = None
    if total:
        value = math.fsum(n * mean for n, mean, _ in scored) / total
        errors = [n * error for n, _, error in scored if error is not None]
        if len(errors) == len(scored):
            stderr = math.hypot(*errors) / total
    bootstrapped = any(row.stderr_method == "bootstrap" for row in rows)
    return ScoreRow(
        id=id,
        metric=rows[0].metric,
        value=value,
        stderr=stderr,
        n=total,
        failed=sum(row.failed for row in rows),
        higher_is_better=rows[0].higher_is_better,
        stderr_method="bootstrap" if bootstrapped else "analytic",
    )
