"""Sum the outcomes of one metric up into a row of the results, with its error.

Knows outcomes and aggregations; does not know tasks, models or how an outcome came about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tenbin.records import Outcome, ScoreRow
from tenbin.statistics.groups import Member, group_estimates
from tenbin.statistics.intervals import Estimate, estimate
from tenbin.statistics.measured import RATIOS, measured
from tenbin.statistics.power import detectable


def summarise(
    name: str,
    aggregation: str,
    outcomes: Iterable[Outcome],
    seed: int,
    id: str,
    higher_is_better: bool = True,
    top: float | None = 1.0,
) -> ScoreRow:
    """Give one number for the outcomes of one metric in one cell.

    Failed documents are counted and left out of the value. The order of outcomes does not matter,
    to the last bit.

    Args:
        name: The name the score is reported under.
        aggregation: One of `measured.AGGREGATIONS`.
        outcomes: One for each document, taken one at a time.
        seed: Makes the bootstrap repeatable.
        id: What the score belongs to.
        higher_is_better: Which way is better.
        top: The highest value of a document where values run from 0 to it; None without bounds.

    Raises:
        ResultError: The aggregation is unknown, or needs classes that the outcomes do not have.
    """
    documents = measured(aggregation, outcomes)
    found = estimate(documents, seed, top)
    row = score_row(id, name, found, documents.failed, higher_is_better, aggregation)
    if aggregation in RATIOS and found.n:
        return replace(row, weight=float(documents.features[:, 1].sum()))
    return row


@dataclass(frozen=True, slots=True)
class MemberOutcomes:
    """The outcomes of one metric in one cell of a group."""

    family: str
    """Which tasks may ask the same items."""
    outcomes: Iterable[Outcome]


def summarise_group(
    name: str,
    aggregation: str,
    members: Sequence[MemberOutcomes],
    seed: int,
    id: str,
    higher_is_better: bool = True,
    top: float | None = 1.0,
) -> tuple[ScoreRow, ScoreRow]:
    """The mean of a group weighted by documents, and the plain mean of its members.

    Args:
        name: The name the score is reported under.
        aggregation: One of `measured.AGGREGATIONS`, the same for all members.
        members: The outcomes of each.
        seed: Makes the bootstrap repeatable.
        id: The group's id.
        higher_is_better: Which way is better.
        top: As for `summarise`.
    """
    found = [Member(one.family, measured(aggregation, one.outcomes)) for one in members]
    weighted, unweighted = group_estimates(found, seed, top)
    failed = sum(one.measured.failed for one in found)
    return (
        score_row(id, name, weighted, failed, higher_is_better, aggregation),
        score_row(id, name, unweighted, failed, higher_is_better, aggregation),
    )


def score_row(
    id: str,
    name: str,
    found: Estimate,
    failed: int,
    higher_is_better: bool = True,
    aggregation: str = "mean",
) -> ScoreRow:
    """An estimate as a row of the results."""
    shown = detectable(found)
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
        detectable_paired=shown.paired if shown else None,
    )
