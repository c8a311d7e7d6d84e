"""Runs that choose a template: `tenbin sweep`, and `--template auto` of `tenbin run`.

A sweep evaluates every option on the scored documents and reports on the choice. `auto` with
documents held out is cheaper: all templates meet those documents only, and the chosen one alone is
scored. Both load the model once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone

from tenbin.analysis.sweep.distribution import asked_prompts
from tenbin.analysis.sweep.leaders import leading_prompts
from tenbin.analysis.sweep.options import swept_tasks
from tenbin.analysis.sweep.report import SweepReport, sweep_report
from tenbin.backends.base import Backend
from tenbin.backends.registry import open_backend
from tenbin.config import CROSSFIT, RunConfig
from tenbin.errors import ConfigError
from tenbin.pipeline.capabilities import suited_cells
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.documents import part_cells, selecting_cells
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.cells.templates import ALL
from tenbin.pipeline.output_folder import check_place, taken_place
from tenbin.pipeline.prepare import Data, load_data
from tenbin.pipeline.progress import FirstPart, Listener
from tenbin.pipeline.run import CompletedRun, backend_settings, execute, execute_cells
from tenbin.pipeline.sweep_metric import check_metric
from tenbin.records import Outcome
from tenbin.results.folder import RunFolder
from tenbin.results.schema import TemplateChoice, TemplateChoices
from tenbin.statistics.selection import best_of
from tenbin.tasks.rotation import split_rotation

DEFAULT_SELECTION = "train:200"


@dataclass(frozen=True, slots=True)
class CompletedSweep:
    """A sweep that is over: the run that holds every option, and what it says."""

    run: CompletedRun
    report: SweepReport


def execute_sweep(
    config: RunConfig,
    listener: Listener,
    metric: str | None = None,
    backend: Backend | None = None,
    write: bool = True,
) -> CompletedSweep:
    """Run every option of every task in one go, and analyse.

    Raises:
        ConfigError: There is one option only.
    """
    config = swept_config(config, metric)
    if config.then:
        finished = _execute_then(config, listener, metric, backend, write)
    else:
        finished = execute(config, listener, backend, write)
    report = sweep_report(finished.result, RunOutcomes(finished), metric)
    return CompletedSweep(finished, report)


def swept_config(config: RunConfig, metric: str | None = None) -> RunConfig:
    """The config with all templates where it names nothing to sweep over.

    Args:
        config: What the user wrote.
        metric: The metric to choose by.

    Raises:
        ConfigError: There is one option only, or one that a sweep cannot use, or no task has the
            metric.
    """
    if config.until:
        raise ConfigError(
            "--until stops each template after other documents: a sweep compares them on the same",
            "leave it out; --limit asks fewer documents",
        )
    swept = config.templates or config.formats or config.num_fewshot_sweep or config.seeds > 1
    if not swept or (config.budget and config.formats and not config.templates):
        # With a budget, the published templates are shown among the formats.
        config = config.replaced(templates=(ALL,))
    setups = choose_cells(config)
    _check_options(setups)
    check_metric(metric, part_cells(config, setups))
    return config


def _execute_then(
    config: RunConfig,
    listener: Listener,
    metric: str | None,
    backend: Backend | None,
    write: bool,
) -> CompletedRun:
    """Sweep on a budget, then run the leading prompts in full; one run holds both.

    What the first part answered comes from the journal in the second.
    """
    setups = choose_cells(config)
    held_out = selecting_cells(config, setups)
    parts = part_cells(config, held_out or setups)
    with _place_and_backend(config, listener, backend, write) as (folder, opened):
        tried = execute_cells(config, parts, FirstPart(listener), opened, write=False)
        leaders = _leaders(config, tried, metric)
        chosen = {id for folds in leaders.values() for ids in folds for id in ids}
        full = [setup for setup in setups if setup.cell.id in chosen]
        listener.message(f"running in full: {', '.join(setup.cell.id for setup in full)}")
        return execute_cells(
            config,
            [*parts, *full],
            listener,
            opened,
            write,
            folder,
            leaders=leaders,
            usage_before=tried.result.usage,
        )


@contextmanager
def _place_and_backend(
    config: RunConfig, listener: Listener, backend: Backend | None, write: bool
) -> Iterator[tuple[RunFolder | None, Backend]]:
    """The folder of a run of two parts, if it is written, and the backend that answers both."""
    with ExitStack() as held:
        folder = None
        if write:
            stamp = datetime.now(timezone.utc)
            folder = held.enter_context(taken_place(config, stamp, listener))
        if backend is None:
            backend = open_backend(backend_settings(config, listener.message))
            held.callback(backend.close)
        yield folder, backend


def _leaders(
    config: RunConfig, tried: CompletedRun, metric: str | None
) -> dict[str, list[list[str]]]:
    """Task and version → ids of the leading prompts, fold by fold."""
    assert config.leaders is not None
    mark = f"@{config.held_out[0]}" if config.held_out else ""
    found = asked_prompts(tried.result, RunOutcomes(tried), metric)
    return {
        f"{one.configs[0].task}-{one.configs[0].version}": [
            [id.removesuffix(mark) for id in ids]
            for ids in leading_prompts(one, config.leaders, config.seed, bool(mark))
        ]
        for one in found
    }


def check_auto(
    config: RunConfig, listener: Listener
) -> tuple[RunConfig, list[CellSetup], list[CellSetup], Data]:
    """What `--template auto` chooses among; every fault of it, before a model loads.

    Returns:
        The config that runs all templates, its cells, the same cells on documents held out, and
        the rows of all of them.
    """
    if config.select_on == CROSSFIT:
        raise ConfigError(
            "--template auto chooses on documents of another split, such as train:200",
            "to choose on the scored documents themselves: tenbin sweep --select_on crossfit",
        )
    selection = config.select_on or DEFAULT_SELECTION
    swept = config.replaced(select_on=selection, template=None, templates=(ALL,))
    setups = choose_cells(swept)
    selecting = selecting_cells(swept, setups)
    data = load_data(swept, [*setups, *selecting], listener.transfer)
    return swept, data.kept(setups), data.kept(selecting), data


def execute_auto(
    config: RunConfig, listener: Listener, backend: Backend | None = None, write: bool = True
) -> CompletedRun:
    """Choose a template for every task on documents held out, then score with it."""
    swept, setups, selecting, data = check_auto(config, listener)
    asked = swept.replaced(template=config.template, templates=config.templates)
    with _place_and_backend(config, listener, backend, write) as (folder, opened):
        if folder is not None:
            suited, _ = suited_cells(setups, opened)
            check_place(folder, asked, suited, data, opened.fingerprint)
        listener.message(
            f"choosing among {len(selecting)} templates on {asked.select_on}: {_names(selecting)}"
        )
        tried = execute_cells(swept, selecting, FirstPart(listener), opened, write=False)
        choice = _choices(tried)
        for task, entry in choice.items():
            listener.message(f"{task}: template {entry.template}, {_said(entry)}")
        chosen = [
            s for s in setups if choice[_task(s)].template == split_rotation(s.cell.template)[0]
        ]
        return execute_cells(
            asked,
            chosen,
            listener,
            opened,
            write,
            folder,
            template_choice=TemplateChoices(select_on=str(asked.select_on), tasks=choice),
            usage_before=tried.result.usage,
        )


class RunOutcomes(Mapping[tuple[str, str], Sequence[Outcome]]):
    """The outcomes of a run by task id and metric, read when they are asked for."""

    def __init__(self, finished: CompletedRun) -> None:
        """Those of a run that is over."""
        self._judged, self._details = finished.judged, finished.result.details
        self._cells = {setup.cell.id: setup.cell for setup in finished.setups}

    def __getitem__(self, key: tuple[str, str]) -> Sequence[Outcome]:
        id, metric = key
        if metric not in self._details.get(id, ()):
            raise KeyError(key)
        found = self._judged.outcomes(self._cells[id])
        return [outcome for outcomes in found for outcome in outcomes if outcome.metric == metric]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((id, metric) for id, details in self._details.items() for metric in details)

    def __len__(self) -> int:
        return sum(map(len, self._details.values()))


def _check_options(setups: list[CellSetup]) -> None:
    counts: dict[str, int] = {}
    for setup in setups:
        counts[_task(setup)] = counts.get(_task(setup), 0) + 1
    if max(counts.values()) == 1:
        raise ConfigError(
            "there is nothing to sweep over: every task has one template, one number of shots "
            "and one sample of examples",
            "give --templates, --formats, --num_fewshot_sweep or --seeds",
        )


def _choices(tried: CompletedRun) -> dict[str, TemplateChoice]:
    """The template that each task's held-out documents choose, with all their scores."""
    choice: dict[str, TemplateChoice] = {}
    for swept in swept_tasks(tried.result, RunOutcomes(tried), selecting=True):
        scores = [option.together.value for option in swept.options]
        best = best_of(scores, swept.higher_is_better)
        choice[f"{swept.name}-{swept.version}"] = TemplateChoice(
            template=swept.options[best].template,
            metric=swept.metric,
            documents=len(swept.options[best].together.documents),
            scores={
                option.template: score for option, score in zip(swept.options, scores, strict=True)
            },
        )
    return choice


def _task(setup: CellSetup) -> str:
    return f"{setup.task.name}-{setup.task.version}"


def _names(setups: list[CellSetup]) -> str:
    return ", ".join(dict.fromkeys(setup.cell.template for setup in setups))


def _said(choice: TemplateChoice) -> str:
    scores = ", ".join(f"{name} {score:.3f}" for name, score in choice.scores.items())
    return f"by {choice.metric} on {choice.documents} documents ({scores})"
