"""The report of a sweep: every option with its error, the best one, and what choosing it is worth.

The best score of a table is too good: it is shown beside the honest score of the chosen option, and
the difference is called optimism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from tenbin.analysis.document import ABSENT, FLAT, to_json
from tenbin.analysis.sweep.distribution import (
    PromptDistribution,
    asked_prompts,
    prompt_distribution,
)
from tenbin.analysis.sweep.leaders import folds_of_option
from tenbin.analysis.sweep.options import Option, Swept, swept_tasks
from tenbin.analysis.sweep.score import Score, score_of
from tenbin.config import repeating_command
from tenbin.errors import ResultError
from tenbin.results.samples import Outcomes
from tenbin.results.schema import RunResult
from tenbin.statistics.intervals import Estimate, estimate
from tenbin.statistics.measured import Measured
from tenbin.statistics.paired import Comparison, compare, holm
from tenbin.statistics.power import documents_needed, interval_of
from tenbin.statistics.selection import (
    FOLDS,
    REPEATS,
    best_of,
    chosen_among,
    cross_fitted,
    honest_estimate,
)
from tenbin.statistics.variance import Shares, templates_differ, variance_shares

_LEVEL = 0.05


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
class Choice:
    """The option to use, with its honest score beside the naive one."""

    option: int
    """Index of the option."""
    template: str
    shots: int
    id: str
    on: str
    """The documents that it was chosen on."""
    held_out_scores: tuple[float, ...] | None = field(default=None, metadata=ABSENT)
    """The options' scores on held-out documents, if there are some."""
    shares: tuple[float, ...] | None = field(default=None, metadata=ABSENT)
    """How often each option was chosen in cross-fitting."""
    naive: float
    """The best score of the table."""
    honest: Score
    """The chosen option's score on documents that did not choose it."""
    optimism: float | None
    """The naive score less the honest one."""


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


@dataclass(frozen=True, slots=True)
class Chosen:
    """A task id with the chosen template, and its shots."""

    id: str
    shots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What `tenbin sweep` found."""

    model: Mapping[str, object]
    engine: Mapping[str, object] | None
    date: str
    tasks: tuple[TaskSweep, ...]
    chosen: tuple[Chosen, ...]
    distributions: tuple[PromptDistribution, ...] | None = field(default=None, metadata=ABSENT)
    """With `--budget`: the scores of each task over all of its prompts."""
    command: str | None = field(default=None, metadata=ABSENT)
    """The command that runs the chosen options; None if there was nothing to choose."""

    def to_json(self) -> dict[str, Any]:
        """What sweep.json holds."""
        document: dict[str, Any] = to_json(self)
        return document


def sweep_report(result: RunResult, outcomes: Outcomes, metric: str | None = None) -> SweepReport:
    """Analyse a run that holds several options of its tasks.

    Args:
        result: The run.
        outcomes: Its outcomes.
        metric: The metric to choose by; by default each task's first.
    """
    tasks = tuple(
        _task_sweep(swept, result.seed, result.leaders.get(f"{swept.name}-{swept.version}", ()))
        for swept in swept_tasks(result, outcomes, metric)
    )
    asked = asked_prompts(result, outcomes, metric)
    choices = [task.choice for task in tasks if task.choice is not None]
    chosen = tuple(Chosen(choice.id, choice.shots) for choice in choices)
    return SweepReport(
        model=result.model,
        engine=result.engine,
        date=result.date,
        tasks=tasks,
        chosen=chosen,
        distributions=tuple(prompt_distribution(one, result.seed) for one in asked) or None,
        command=run_command(result.config, chosen) if chosen else None,
    )


def _task_sweep(swept: Swept, seed: int, leaders: Leaders) -> TaskSweep:
    top = _top(swept)
    together = [option.together for option in swept.options]
    estimates = [estimate(one, seed, top) for one in together]
    scores = [one.value for one in together]
    best = best_of(scores, swept.higher_is_better)
    several = len(together) > 1
    pairs = _pairs(swept, together, best, seed) if several else {}
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
        differences=_differences(pairs, best) if several else None,
        together=_all_together(swept, together, pairs, seed) if several else None,
        choice=_choice(swept, together, seed, leaders) if several else None,
        leading=True if leaders else None,
        variance=None if leaders else _variance(swept.options),
    )


def _top(swept: Swept) -> float | None:
    """The highest value a document can have; None for perplexities."""
    if not swept.higher_is_better and not swept.options[0].together.linear:
        return None
    return 100.0 if swept.percent else 1.0


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


Pairs = Mapping[tuple[int, int], Comparison]
"""(baseline, other) → what the other is worth more; the best option is always the other."""


def _pairs(swept: Swept, options: Sequence[Measured], best: int, seed: int) -> Pairs:
    """Every pair of options, compared on the same documents."""
    found: dict[tuple[int, int], Comparison] = {}
    for one, two in combinations(range(len(options)), 2):
        pair = (two, one) if one == best else (one, two)
        found[pair] = compare(
            options[pair[0]], options[pair[1]], seed, swept.higher_is_better, _top(swept), None
        )
    return found


def _differences(pairs: Pairs, best: int) -> tuple[OptionDifference, ...]:
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


def _all_together(
    swept: Swept, options: Sequence[Measured], pairs: Pairs, seed: int
) -> AllTogether:
    """Whether options differ at all, and their mean."""
    import numpy as np

    mean: Score | None = None
    if options[0].linear:
        values = np.stack([option.values for option in options])
        differ = templates_differ(values, options[0].clusters)
        p_value, test = differ.p_value if differ else None, "F"
        features = np.mean([option.features for option in options], axis=0)
        mean = score_of(estimate(replace(options[0], features=features), seed, _top(swept)))
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


Leaders = Sequence[Sequence[str]]
"""Of a sweep on a budget: for each fold, the prompts that lead on the other documents."""


def _choice(swept: Swept, together: Sequence[Measured], seed: int, leaders: Leaders) -> Choice:
    """Which option to use, its honest score and the naive one."""
    top = _top(swept)
    scores = [one.value for one in together]
    naive = scores[best_of(scores, swept.higher_is_better)]
    held_out: tuple[float, ...] | None = None
    shares: tuple[float, ...] | None = None
    if swept.selecting:
        held_out = tuple(option.together.value for option in swept.selecting)
        chosen = best_of(held_out, swept.higher_is_better)
        honest = estimate(together[chosen], seed, top)
        on = f"{len(swept.selecting[0].together.documents)} documents of {swept.select_split!r}"
        on += ", held out from the score"
    elif len(leaders) > 1:
        candidates = _candidates(swept, leaders)
        folds = folds_of_option(together[0], seed)
        fitted = chosen_among(together, candidates, folds, swept.higher_is_better)
        chosen, honest = fitted.best, honest_estimate(fitted, seed, top)
        shares = fitted.shares
        on = "one half of the documents and scored on the other, among the prompts leading there"
    else:
        fitted = cross_fitted(together, seed, swept.higher_is_better)
        chosen, honest = fitted.best, honest_estimate(fitted, seed, top)
        shares = tuple(fitted.shares)
        on = f"the scored documents, cross-fitted in {FOLDS} folds {REPEATS} times"
    option = swept.options[chosen]
    return Choice(
        option=chosen,
        template=option.template,
        shots=option.shots,
        id=option.cells[0].partition("@")[0],
        on=on,
        held_out_scores=held_out,
        shares=shares,
        naive=naive,
        honest=score_of(honest),
        optimism=None if honest.value is None else naive - honest.value,
    )


def _candidates(swept: Swept, leaders: Leaders) -> list[list[int]]:
    """For each fold, the indices of the options that lead on the other documents."""
    places = {id: at for at, option in enumerate(swept.options) for id in option.cells}
    unknown = [id for own in leaders for id in own if id not in places]
    if unknown:
        raise ResultError(
            f"leaders names {unknown[0]}, which the run does not hold", "run the sweep again"
        )
    return [[places[id] for id in own] for own in leaders]


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


_REPLACED = frozenset(
    {
        "tasks", "template", "templates", "formats", "chat_formats", "exclude_formats",
        "num_fewshot", "num_fewshot_sweep", "seeds", "rotations", "select_on", "limit",
        "output_path", "cache_dir", "budget", "then",
    }
)  # fmt: skip


def run_command(config: Mapping[str, object], chosen: Sequence[Chosen]) -> str:
    """`tenbin run …` with the chosen tasks and shots, and every other option of the run."""
    shots = [one.shots for one in chosen]
    numbers = ",".join(map(str, shots if len(set(shots)) > 1 else shots[:1]))
    words = ("--tasks", ",".join(one.id for one in chosen), "--num_fewshot", numbers)
    return repeating_command("run", _with_files(config), _REPLACED, always=("model",), more=words)


def _with_files(config: Mapping[str, object]) -> Mapping[str, object]:
    """The config with the task files of `tasks` among the included places, where ids find them."""
    tasks, included = config.get("tasks"), config.get("include_path")
    files = [
        entry
        for entry in (tasks if isinstance(tasks, list | tuple) else ())
        if str(entry).endswith((".yaml", ".yml"))
    ]
    if not files:
        return config
    places = [*(included if isinstance(included, list | tuple) else ()), *files]
    return {**config, "include_path": list(dict.fromkeys(map(str, places)))}
