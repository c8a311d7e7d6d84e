"""What a sweep says: every option with its error, which is best, and what choosing it is worth.

Reads a stored run and gives plain values, for JSON, the terminal and reports. The best score of a
table flatters: it is shown beside the honest score of the chosen option, and the difference is
called by its name. Knows options and statistics; does not know how they were run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from tenbin.analysis.sweep.options import Option, Outcomes, Swept, swept_tasks
from tenbin.statistics.intervals import Estimate, estimate
from tenbin.statistics.measured import Measured
from tenbin.statistics.paired import Comparison, compare, holm
from tenbin.statistics.power import interval_of
from tenbin.statistics.selection import FOLDS, REPEATS, best_of, cross_fitted, honest_estimate
from tenbin.statistics.variance import variance_shares


def sweep_report(
    document: Mapping[str, Any], outcomes: Outcomes, metric: str | None = None
) -> dict[str, Any]:
    """Analyse a run that holds several options of its tasks.

    Args:
        document: result.json.
        outcomes: The run's outcomes, by task id and metric.
        metric: The metric to choose by; by default each task's first.
    """
    seed = int(document["config"]["seed"])
    tasks = swept_tasks(document, outcomes, metric)
    reports = [_task_report(swept, seed) for swept in tasks]
    return {
        "model": document["model"],
        "engine": document.get("engine"),
        "date": document["date"],
        "tasks": reports,
        "chosen": [
            {"id": report["choice"]["id"], "shots": report["choice"]["shots"]}
            for report in reports
            if "choice" in report
        ],
    }


def _task_report(swept: Swept, seed: int) -> dict[str, Any]:
    top = _top(swept)
    together = [option.together for option in swept.options]
    estimates = [estimate(one, seed, top) for one in together]
    scores = [one.value for one in together]
    best = best_of(scores, swept.higher_is_better)
    report: dict[str, Any] = {
        "task": swept.name,
        "version": swept.version,
        "metric": swept.metric,
        "unit": "%" if swept.percent else "",
        "higher_is_better": swept.higher_is_better,
        "documents": len(together[0].documents),
        "clusters": estimates[0].clusters,
        "options": [
            _option_entry(option, found, top, seed)
            for option, found in zip(swept.options, estimates, strict=True)
        ],
        "spread": _spread(scores),
        "best": best,
    }
    if len(together) > 1:
        report["differences"] = _differences(swept, together, best, seed)
        report["choice"] = _choice(swept, together, seed)
    shares = _variance(swept.options)
    if shares is not None:
        report["variance"] = shares
    return report


def _top(swept: Swept) -> float | None:
    """The highest value a document can have; perplexities and the like have none."""
    if not swept.higher_is_better and not swept.options[0].together.linear:
        return None
    return 100.0 if swept.percent else 1.0


def _option_entry(option: Option, found: Estimate, top: float | None, seed: int) -> dict[str, Any]:
    entry = {
        "template": option.template,
        "shots": option.shots,
        "ids": list(option.cells),
        **_numbers(found),
        "failed": option.failed,
    }
    if len(option.draws) > 1:
        entry["draws"] = [
            {"id": id, **_numbers(estimate(draw, seed, top))}
            for id, draw in zip(option.cells, option.draws, strict=True)
        ]
        entry["draws_spread"] = _spread([draw.value for draw in option.draws])
    return entry


def _numbers(found: Estimate) -> dict[str, Any]:
    return {
        "value": found.value,
        "stderr": found.stderr,
        **interval_of(found),
        "n": found.n,
    }


def _spread(scores: Sequence[float]) -> dict[str, float]:
    mean = sum(scores) / len(scores)
    squares = sum((score - mean) ** 2 for score in scores)
    return {
        "mean": mean,
        "deviation": (squares / (len(scores) - 1)) ** 0.5 if len(scores) > 1 else 0.0,
        "lowest": min(scores),
        "highest": max(scores),
        "range": max(scores) - min(scores),
    }


def _differences(
    swept: Swept, options: Sequence[Measured], best: int, seed: int
) -> list[dict[str, Any]]:
    """The best less each other, paired.

    The best was not known before, so every pair counts as tested: Holm runs over all of them, and
    what it says of the pairs with the best holds however the best was found.
    """
    found: dict[tuple[int, int], Comparison] = {}
    for one, two in combinations(range(len(options)), 2):
        pair = (two, one) if one == best else (one, two)
        found[pair] = compare(
            options[pair[0]], options[pair[1]], seed, swept.higher_is_better, _top(swept)
        )
    corrected = holm([comparison.p_value for comparison in found.values()])
    return [
        {
            "option": other,
            "difference": comparison.difference,
            **interval_of(comparison),
            "wins": comparison.wins,
            "losses": comparison.losses,
            "ties": comparison.ties,
            "test": comparison.test,
            "p_value": comparison.p_value,
            "p_holm": p_holm,
        }
        for ((other, second), comparison), p_holm in zip(found.items(), corrected, strict=True)
        if second == best
    ]


def _choice(swept: Swept, together: Sequence[Measured], seed: int) -> dict[str, Any]:
    """Which option to use, its honest score and the naive one."""
    top = _top(swept)
    scores = [one.value for one in together]
    naive = best_of(scores, swept.higher_is_better)
    if swept.selecting:
        held_out = [option.together.value for option in swept.selecting]
        chosen = best_of(held_out, swept.higher_is_better)
        honest = estimate(together[chosen], seed, top)
        how: dict[str, Any] = {
            "on": f"{len(swept.selecting[0].together.documents)} documents of "
            f"{swept.select_split!r}, held out from the score",
            "held_out_scores": held_out,
        }
    else:
        fitted = cross_fitted(together, seed, swept.higher_is_better)
        chosen, honest = fitted.best, honest_estimate(fitted, seed, top)
        how = {
            "on": f"the scored documents, cross-fitted in {FOLDS} folds {REPEATS} times",
            "shares": list(fitted.shares),
        }
    option = swept.options[chosen]
    optimism = None if honest.value is None else scores[naive] - honest.value
    return {
        "option": chosen,
        "template": option.template,
        "shots": option.shots,
        "id": option.cells[0].partition("@")[0],
        **how,
        "naive": scores[naive],
        "honest": _numbers(honest),
        "optimism": optimism,
    }


def _variance(options: Sequence[Option]) -> dict[str, Any] | None:
    """Where a score's variance comes from; None where nothing but documents varies.

    Needs values that are means, and as many draws for each option at one number of shots.
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
    shares = variance_shares(values)
    counts = {"prompt": len(alike), "examples": len(alike[0].draws)}
    varied = [name for name, count in counts.items() if count > 1]
    return {
        "shots": usual,
        "varied": [*varied, "items"],
        **asdict(shares),
        "stderr": shares.variance**0.5,
    }
