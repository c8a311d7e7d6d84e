"""What result.json says of a merged run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.group_scores import GroupScore
from tenbin.pipeline.merge.agreement import Part
from tenbin.pipeline.merge.cells import MergedCell
from tenbin.pipeline.record import group_definitions, group_entries, percent_metrics
from tenbin.pipeline.usage import usage_of_both
from tenbin.records.model_info import Given, engines_of, model_entries
from tenbin.results.identity import RunIdentity, run_id
from tenbin.results.schema import (
    SCHEMA_VERSION,
    EngineAnswers,
    MergedRun,
    RunResult,
    Stopping,
    TemplateChoices,
)
from tenbin.version import __version__

T = TypeVar("T")
_BY_CELL = (
    "results", "details", "versions", "n_shot", "n_samples", "higher_is_better", "configs", "data",
    "prompts", "lengths", "chosen_by", "failures",
)  # fmt: skip
_OF_CELLS = (
    "tasks", "suite", "template", "templates", "formats", "num_fewshot", "num_fewshot_sweep",
    "seeds", "limit", "until",
)  # fmt: skip
"""Options that say which cells a run has, and that are replaced by the list of all."""


def merged_result(
    parts: Sequence[Part],
    cells: Sequence[MergedCell],
    groups: Sequence[GroupScore],
    setups: Sequence[CellSetup],
) -> RunResult:
    """The result of the merged run, all but the digest of its samples."""
    results = [part.result for part in parts]
    newest = max(results, key=lambda one: one.date)
    given = [
        Given(answers.answers, _described(answers))
        for one in results
        for answers in one.answered_by
    ]
    entries = model_entries(engines_of(given), newest.model)
    values: dict[str, Any] = {
        "tenbin_version": __version__,
        "schema_version": SCHEMA_VERSION,
        **{name: _cells_of(name, results, cells) for name in _BY_CELL},
        **group_entries(groups, percent_metrics(setups)),
        "group_definitions": group_definitions(groups),
        "skipped": _skipped(results, cells),
        "warnings": _warnings(results, groups),
        "config": _config(results, cells),
        "profile": newest.profile,
        "libraries": newest.libraries,
        "plugins": {name: one for result in results for name, one in result.plugins.items()},
        "git_hash": _shared(one.git_hash for one in results),
        "partial": False,
        "model": {**newest.model, "engine": entries["engine"]},
        "engine": entries["engine"],
        "answered_by": [EngineAnswers(**entry) for entry in entries["answered_by"]],
        "fingerprint": newest.fingerprint,
        "answers_from_journal": sum(one.answers_from_journal or 0 for one in results),
        "date": newest.date,
        "usage": reduce(usage_of_both, [one.usage for one in results]),
        "total_evaluation_time_seconds": sum(
            one.total_evaluation_time_seconds or 0 for one in results
        ),
        "timing": _summed(one.timing for one in results),
        "template_choice": _choices(results),
        "stopping": _stopping(results, cells),
        "merged": [run for number, part in enumerate(parts) for run in _runs(number, part, cells)],
    }
    rare = ("group_definitions", "skipped", "plugins", "chosen_by", "template_choice", "stopping")
    result = RunResult(**{n: one for n, one in values.items() if one or n not in rare})
    return result.model_copy(update={"run_id": run_id(RunIdentity.of(result))})


def _cells_of(
    name: str, results: Sequence[RunResult], cells: Sequence[MergedCell]
) -> dict[str, Any]:
    """The entries of one part of a result, cell by cell, under the ids of the merged run."""
    found = {}
    for one in cells:
        entries = getattr(results[one.part], name)
        if one.own_id in entries:
            entry = entries[one.own_id]
            # The alias is what tables call a task: its id, unless a file says otherwise.
            if name == "results" and entry.get("alias") == one.own_id:
                entry = {**entry, "alias": one.id}
            found[one.id] = entry
    return found


def _described(answers: EngineAnswers) -> Mapping[str, Any] | None:
    entries = {name: one for name, one in answers.to_json().items() if name != "answers"}
    return entries if entries.get("engine") is not None else None


def _config(results: Sequence[RunResult], cells: Sequence[MergedCell]) -> dict[str, object]:
    """The options that all runs share, and every cell as a task."""
    first, *others = [one.config for one in results]
    shared = {
        name: value
        for name, value in first.items()
        if name not in _OF_CELLS and all(one.get(name) == value for one in others)
    }
    scored = [one.config for one in cells if one.config.role == "score"]
    tasks = [f"{one.task}-{one.version}-{one.template}" for one in scored]
    config = {**shared, "seed": first["seed"], "tasks": list(dict.fromkeys(tasks))}
    # One number for each task, where each has one.
    once = len(set(tasks)) == len(tasks)
    return {**config, "num_fewshot": [one.num_fewshot for one in scored]} if once else config


def _skipped(results: Sequence[RunResult], cells: Sequence[MergedCell]) -> dict[str, str]:
    there = {one.id for one in cells} | {one.own_id for one in cells}
    return {id: why for one in results for id, why in one.skipped.items() if id not in there}


def _warnings(results: Sequence[RunResult], groups: Sequence[GroupScore]) -> list[str]:
    """What the runs warn of; what they say of groups is replaced by what is true now."""
    stale = tuple(f"{id}:" for one in results for id in one.groups)
    kept = [line for one in results for line in one.warnings if not line.startswith(stale or "\0")]
    libraries = [
        f"the merged runs had {name} {' and '.join(sorted(found))}"
        for name, found in _versions(results).items()
        if len(found) > 1
    ]
    notices = [notice for group in groups for notice in group.notices]
    return list(dict.fromkeys([*kept, *libraries, *notices]))


def _versions(results: Sequence[RunResult]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in results:
        for name, version in {"tenbin": one.tenbin_version or "", **one.libraries}.items():
            found.setdefault(name, set()).add(version)
    return found


def _choices(results: Sequence[RunResult]) -> TemplateChoices | None:
    choices = [one.template_choice for one in results if one.template_choice is not None]
    if not choices:
        return None
    tasks = {name: choice for one in choices for name, choice in one.tasks.items()}
    return TemplateChoices(select_on=choices[0].select_on, tasks=tasks)


def _stopping(results: Sequence[RunResult], cells: Sequence[MergedCell]) -> Stopping | None:
    """When tasks stopped whose interval was narrow enough; other stops are not merged."""
    stopped = {number: one.stopping for number, one in enumerate(results) if one.stopping}
    widths = {
        one.id: stopped[one.part].widths[one.own_id]
        for one in cells
        if one.part in stopped and one.own_id in stopped[one.part].widths
    }
    return Stopping(seed=next(iter(stopped.values())).seed, widths=widths) if widths else None


def _runs(number: int, part: Part, cells: Sequence[MergedCell]) -> list[MergedRun]:
    """Where cells come from: the run, or if it was merged itself, the runs it was made of."""
    own = {one.own_id: one.id for one in cells if one.part == number}
    result = part.result
    if result.merged:
        return [run.model_copy(update=_of_merged(run, own)) for run in result.merged]
    return [
        MergedRun(
            run_id=result.run_id,
            date=result.date,
            tenbin_version=result.tenbin_version,
            git_hash=result.git_hash,
            cells=list(own.values()),
            ids=_renamed({id: own_id for own_id, id in own.items()}),
            config=result.config,
            libraries=result.libraries,
            samples=result.samples,
        )
    ]


def _of_merged(run: MergedRun, own: Mapping[str, str]) -> dict[str, object]:
    ids = {own[id]: run.ids.get(id, id) for id in run.cells if id in own}
    return {"cells": list(ids), "ids": _renamed(ids)}


def _renamed(ids: Mapping[str, str]) -> dict[str, str]:
    return {id: own for id, own in ids.items() if id != own}


def _shared(values: Iterable[T]) -> T | None:
    found = list(dict.fromkeys(values))
    return found[0] if len(found) == 1 else None


def _summed(timings: Iterable[Mapping[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for timing in timings:
        for name, seconds in timing.items():
            found[name] = found.get(name, 0.0) + seconds
    return found
