"""Differences between the options of a sweep, and whether they differ at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from tenbin.analysis.document import ABSENT
from tenbin.analysis.sweep.options import Swept
from tenbin.analysis.sweep.score import Score, score_of
from tenbin.statistics.intervals import estimate
from tenbin.statistics.measured import Measured
from tenbin.statistics.paired import Comparison, compare, holm
from tenbin.statistics.power import documents_needed, interval_of
from tenbin.statistics.variance import templates_differ

_LEVEL = 0.05

Pairs = Mapping[tuple[int, int], Comparison]
"""(baseline, other) → what the other is worth more; the best option is always the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionDifference:
    """The best option less another one, paired by document."""

    option: int
    """Index of the other one."""
    difference: float
    low: float | None
    high: float | None
    reason: str | None = field(default=None, metadata=ABSENT)
    wins: int
    losses: int
    ties: int
    test: str
    p_value: float
    p_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AllTogether:
    """What can be said of all options together, without choosing one."""

    p_value: float | None
    """Of options that are equally good; None where that cannot be tested."""
    test: str
    """`F` for means, `smallest p, Holm` for other scores."""
    shown: bool
    """Whether options are shown to differ, at the 5 % level."""
    mean: Score | None
    """The mean over options; None for scores that are no means."""
    documents_needed: int | None
    """Documents on which the difference seen between best and worst would be shown, four times out
    of five, if it is the true one; None where none was seen."""


def compared_pairs(swept: Swept, options: Sequence[Measured], best: int, seed: int) -> Pairs:
    """Every pair of options, compared on the same documents."""
    found: dict[tuple[int, int], Comparison] = {}
    for one, two in combinations(range(len(options)), 2):
        pair = (two, one) if one == best else (one, two)
        found[pair] = compare(
            options[pair[0]], options[pair[1]], seed, swept.higher_is_better, swept.top, None
        )
    return found


def differences_to_best(pairs: Pairs, best: int) -> tuple[OptionDifference, ...]:
    """The best less each other option, paired.

    The best was not known before, so every pair counts as tested: Holm runs over all of them, and
    what it says of the pairs with the best holds however the best was found.
    """
    corrected = holm([comparison.p_value for comparison in pairs.values()])
    return tuple(
        _difference(other, comparison, p_holm)
        for ((other, second), comparison), p_holm in zip(pairs.items(), corrected, strict=True)
        if second == best
    )


def _difference(option: int, found: Comparison, p_holm: float) -> OptionDifference:
    interval = interval_of(found)
    return OptionDifference(
        option=option,
        difference=found.difference,
        low=interval.low,
        high=interval.high,
        reason=interval.reason,
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        test=found.test,
        p_value=found.p_value,
        p_holm=p_holm,
    )


def all_together(swept: Swept, options: Sequence[Measured], pairs: Pairs, seed: int) -> AllTogether:
    """Whether options differ at all, and their mean."""
    import numpy as np

    mean: Score | None = None
    if options[0].linear:
        values = np.stack([option.values for option in options])
        differ = templates_differ(values, options[0].clusters)
        p_value, test = differ.p_value if differ else None, "F"
        features = np.mean([option.features for option in options], axis=0)
        mean = score_of(estimate(replace(options[0], features=features), seed, swept.top))
    else:
        p_value, test = min(holm([one.p_value for one in pairs.values()])), "smallest p, Holm"
    widest = max(pairs.values(), key=lambda one: abs(one.difference))
    return AllTogether(
        p_value=p_value,
        test=test,
        shown=p_value is not None and p_value < _LEVEL,
        mean=mean,
        documents_needed=documents_needed(widest.difference, widest.stderr, widest.n, len(pairs)),
    )
