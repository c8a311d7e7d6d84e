"""Everything that a sweep tried on one task: every option with its error, and the best one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tenbin.analysis.document import ABSENT, FLAT
from tenbin.analysis.sweep.choice import Choice, Leaders, choice_of
from tenbin.analysis.sweep.differences import (
    AllTogether,
    OptionDifference,
    all_together,
    compared_pairs,
    differences_to_best,
)
from tenbin.analysis.sweep.options import Option, Swept
from tenbin.analysis.sweep.score import Score, score_of
from tenbin.statistics.intervals import Estimate, estimate
from tenbin.statistics.selection import best_of
from tenbin.statistics.variance import Shares, variance_shares


@dataclass(frozen=True, slots=True)
class Repetition:
    """The score of an option with one seed of examples."""

    id: str
    score: Score = field(metadata=FLAT)


@dataclass(frozen=True, slots=True)
class Spread:
    """How far scores lie apart."""

    mean: float
    deviation: float
    lowest: float
    highest: float
    range: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionReport:
    """One template with one number of shots."""

    template: str
    shots: int
    ids: tuple[str, ...]
    """Task ids, one for each seed of examples."""
    score: Score = field(metadata=FLAT)
    failed: int
    draws: tuple[Repetition, ...] | None = field(default=None, metadata=ABSENT)
    """With several seeds of examples: each of them."""
    draws_spread: Spread | None = field(default=None, metadata=ABSENT)


@dataclass(frozen=True, slots=True)
class Variance:
    """Where the variance of a score comes from."""

    shots: int
    varied: tuple[str, ...]
    shares: Shares = field(metadata=FLAT)
    stderr: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSweep:
    """Everything that a sweep tried on one task."""

    task: str
    version: str
    metric: str
    unit: str
    higher_is_better: bool
    documents: int
    clusters: int
    options: tuple[OptionReport, ...]
    spread: Spread
    best: int
    """Index of the best option."""
    differences: tuple[OptionDifference, ...] | None = field(default=None, metadata=ABSENT)
    together: AllTogether | None = field(default=None, metadata=ABSENT)
    """None with one option."""
    choice: Choice | None = field(default=None, metadata=ABSENT)
    leading: bool | None = field(default=None, metadata=ABSENT)
    """True if the options are the leading prompts of a sweep on a budget, run in full; they were
    chosen, and say nothing of prompts in general."""
    variance: Variance | None = field(default=None, metadata=ABSENT)


def task_sweep(swept: Swept, seed: int, leaders: Leaders) -> TaskSweep:
    """Analyse the options of one task.

    Args:
        swept: The task with its options.
        seed: Of the run.
        leaders: The prompts that led a sweep on a budget, where the options are those.
    """
    top = swept.top
    together = [option.together for option in swept.options]
    estimates = [estimate(one, seed, top) for one in together]
    scores = [one.value for one in together]
    best = best_of(scores, swept.higher_is_better)
    several = len(together) > 1
    pairs = compared_pairs(swept, together, best, seed) if several else {}
    return TaskSweep(
        task=swept.name,
        version=swept.version,
        metric=swept.metric,
        unit="%" if swept.percent else "",
        higher_is_better=swept.higher_is_better,
        documents=len(together[0].documents),
        clusters=estimates[0].clusters,
        options=tuple(
            _option(option, found, top, seed)
            for option, found in zip(swept.options, estimates, strict=True)
        ),
        spread=_spread(scores),
        best=best,
        differences=differences_to_best(pairs, best) if several else None,
        together=all_together(swept, together, pairs, seed) if several else None,
        choice=choice_of(swept, together, seed, leaders) if several else None,
        leading=True if leaders else None,
        variance=None if leaders else _variance(swept.options),
    )


def _option(option: Option, found: Estimate, top: float | None, seed: int) -> OptionReport:
    several = len(option.draws) > 1
    return OptionReport(
        template=option.template,
        shots=option.shots,
        ids=option.cells,
        score=score_of(found),
        failed=option.failed,
        draws=tuple(
            Repetition(id, score_of(estimate(draw, seed, top)))
            for id, draw in zip(option.cells, option.draws, strict=True)
        )
        if several
        else None,
        draws_spread=_spread([draw.value for draw in option.draws]) if several else None,
    )


def _spread(scores: Sequence[float]) -> Spread:
    mean = sum(scores) / len(scores)
    squares = sum((score - mean) ** 2 for score in scores)
    return Spread(
        mean=mean,
        deviation=(squares / (len(scores) - 1)) ** 0.5 if len(scores) > 1 else 0.0,
        lowest=min(scores),
        highest=max(scores),
        range=max(scores) - min(scores),
    )


def _variance(options: Sequence[Option]) -> Variance | None:
    """Where a score's variance comes from; None if nothing but documents varies.

    Needs values that are means, and as many seeds for each option at one number of shots.
    """
    import numpy as np

    usual = max((option.shots for option in options), default=0)
    alike = [option for option in options if option.shots == usual]
    draws = {len(option.draws) for option in alike}
    if len(draws) != 1 or not alike[0].together.linear:
        return None
    if len(alike) == 1 and draws == {1}:
        return None
    values = np.stack([np.stack([draw.values for draw in option.draws]) for option in alike])
    shares = variance_shares(values, alike[0].together.clusters)
    counts = {"prompt": len(alike), "examples": len(alike[0].draws)}
    varied = (name for name, count in counts.items() if count > 1)
    return Variance(usual, (*varied, "items", "chance"), shares, shares.variance**0.5)
