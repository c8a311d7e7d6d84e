"""The options of a sweep, from a stored run: each template and number of shots of a task.

Example seeds (`--seeds`) are not options but repetitions: an option's documents are averaged over
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tenbin.analysis.option_order.answers import rotations_of_others
from tenbin.errors import NothingScored, ResultError
from tenbin.results.samples import Outcomes
from tenbin.results.schema import CellConfig, MetricDetail, RunResult
from tenbin.statistics.measured import Measured, known_aggregation, measured
from tenbin.statistics.selection import on_shared_documents, widened


@dataclass(frozen=True, slots=True)
class Option:
    """A way to ask a task: one template with one number of shots."""

    template: str
    shots: int
    cells: tuple[str, ...]
    """Ids of its repetitions, one for each seed of examples."""
    draws: tuple[Measured, ...]
    """What each repetition scored, on the documents that all options of the task scored."""
    failed: int
    """Documents without an answer, over all repetitions."""

    @property
    def together(self) -> Measured:
        """Each document averaged over the repetitions."""
        if len(self.draws) == 1:
            return self.draws[0]
        import numpy as np

        features = np.mean([draw.features for draw in self.draws], axis=0)
        return replace(self.draws[0], features=features)


@dataclass(frozen=True, slots=True)
class Swept:
    """A task with everything a sweep tried on it."""

    name: str
    version: str
    metric: str
    percent: bool
    higher_is_better: bool
    options: tuple[Option, ...]
    selecting: tuple[Option, ...]
    """The same options on held-out documents, in the same order; empty for cross-fitting."""
    select_split: str | None

    @property
    def label(self) -> str:
        """Task and version, as tables show it."""
        return f"{self.name} {self.version}"

    @property
    def top(self) -> float | None:
        """The highest value a document can have; None for perplexities."""
        if not self.higher_is_better and not self.options[0].together.linear:
            return None
        return 100.0 if self.percent else 1.0


def swept_tasks(
    result: RunResult, outcomes: Outcomes, metric: str | None = None, *, selecting: bool = False
) -> list[Swept]:
    """Every task of a run with its options.

    Args:
        result: The run.
        outcomes: Its outcomes.
        metric: The metric to choose by; by default each task's first.
        selecting: Whether all cells only select: their documents are then scored as they are.

    Raises:
        ResultError: No task of the run has the metric, or options share no scored document.
    """
    tasks: dict[tuple[str, str], list[str]] = {}
    rotated = rotations_of_others(result)
    for id, config in result.configs.items():
        if config.role == "part":
            continue  # of a sweep on a budget, which has no scores of single options
        if id in rotated:
            continue  # no wording that one would choose: see analysis/option_order
        tasks.setdefault((config.task, config.version), []).append(id)
    known = {name for details in result.details.values() for name in details}
    if metric is not None and metric not in known:
        raise ResultError(
            f"no task of the run has the metric {metric!r}", f"metrics: {', '.join(sorted(known))}"
        )
    return [_swept(result, outcomes, name, ids, metric, selecting) for name, ids in tasks.items()]


def _swept(
    result: RunResult,
    outcomes: Outcomes,
    name: tuple[str, str],
    ids: Sequence[str],
    metric: str | None,
    selecting: bool,
) -> Swept:
    details = result.details[ids[0]]
    used: str = metric if metric is not None and metric in details else _first_metric(details)
    detail = details[used]
    configs = {id: result.configs[id] for id in ids}
    choosing = [] if selecting else [id for id in ids if configs[id].role == "select"]
    scoring = [id for id in ids if id not in choosing]
    return Swept(
        name=name[0],
        version=name[1],
        metric=used,
        percent=detail.unit == "%",
        higher_is_better=detail.higher_is_better,
        options=_options(configs, scoring, outcomes, used, detail.aggregation),
        selecting=_options(configs, choosing, outcomes, used, detail.aggregation)
        if choosing
        else (),
        select_split=configs[choosing[0]].split if choosing else None,
    )


def _first_metric(details: Mapping[str, MetricDetail]) -> str:
    """The first metric whose documents can be scored again, without a function of the task."""
    kept = (name for name, detail in details.items() if known_aggregation(detail.aggregation))
    return next(kept, next(iter(details)))


def _options(
    configs: Mapping[str, CellConfig],
    ids: Sequence[str],
    outcomes: Outcomes,
    metric: str,
    aggregation: str,
) -> tuple[Option, ...]:
    found = [measured(aggregation, outcomes.get((id, metric), ())) for id in ids]
    shared = on_shared_documents(found)
    if not shared[0].documents:
        raise NothingScored(
            f"nothing could be scored in all of {', '.join(ids)}: they share no scored document",
            "look at the failures of the run",
        )
    if len({one.features.shape[1] for one in shared}) > 1:
        shared = widened(shared)
    by_option: dict[tuple[str, int], list[int]] = {}
    for at, id in enumerate(ids):
        by_option.setdefault((configs[id].template, configs[id].num_fewshot), []).append(at)
    return tuple(
        Option(
            template,
            shots,
            tuple(ids[at] for at in positions),
            tuple(shared[at] for at in positions),
            sum(found[at].failed for at in positions),
        )
        for (template, shots), positions in by_option.items()
    )
