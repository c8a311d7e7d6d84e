"""Collects the answers of stored runs by set and language.

A set holds tasks that differ in nothing but the language: `mlogiqa_mcq`, `mlogiqa_gen-1.0-native`.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

from tenbin.errors import ResultError
from tenbin.records import Compared
from tenbin.results.schema import CellConfig, ParallelEntry, RunResult, Sample, SampleOutcome
from tenbin.tasks.rotation import rotated_name, split_rotation

State = Literal["read", "unreadable", "failed"]
COLUMNS = ("row", "item", "choices", "gold", "references")
"""Columns of the samples that are needed here, besides the required ones."""
_LENIENT = "flexible-extract"


@dataclass(frozen=True, slots=True)
class ExaminedSamples:
    """A run to examine."""

    name: str
    """How the user knows it."""
    result: RunResult
    samples: Iterable[Sample]
    """At least the columns `COLUMNS`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one row."""

    state: State
    label: str | None
    """The answer in a form that languages share: a letter for a choice, else what was read."""
    right: bool | None
    """None if it failed; an answer that could not be extracted is wrong."""
    gold: str
    offered: int | None
    """Number of choices, if choices were scored."""
    item: str | None


@dataclass(frozen=True, slots=True)
class Column:
    """The answers of one cell, by row."""

    id: str
    language: str
    metric: str
    digests: tuple[str, ...]
    """Checksums of the files its rows came from."""
    size: int
    """Rows those files have."""
    answers: Mapping[int, Answer]


@dataclass(slots=True)
class AnswerSet:
    """The answers of tasks that differ in language alone, by language."""

    id: str
    family: str
    """Sets of one family hold the same items."""
    key: str
    kind: str
    """`choice` or `generate`."""
    wording: str
    """Template, shots and split, without the scoring variant: what two modes must share."""
    compares: Compared = "answers"
    columns: dict[str, Column] = field(default_factory=dict)


def gather(
    runs: Sequence[ExaminedSamples], patterns: Sequence[str] = (), metric: str | None = None
) -> list[AnswerSet]:
    """The sets of parallel tasks in some runs of one model.

    Args:
        runs: The runs.
        patterns: Ids, task names or sets to keep, with `*`; empty keeps all.
        metric: The metric whose extracted answer counts; by default the first metric of a choice,
            and `flexible-extract` for generation where there is one.

    Raises:
        ResultError: The runs are of several models, were stored before tenbin kept what is
            needed, or hold nothing parallel.
    """
    _check_one_model(runs)
    sets: dict[str, AnswerSet] = {}
    for run in runs:
        chosen = {
            id: parallel
            for id, config in run.result.configs.items()
            if (parallel := _parallel(run.name, config)) is not None
            and _matches(id, config, parallel, patterns)
        }
        rows: dict[str, list[Sample]] = {id: [] for id in chosen}
        for sample in run.samples:
            if sample.id in rows:
                rows[sample.id].append(sample)
        for id, parallel in chosen.items():
            config = run.result.configs[id]
            set_id = _set_id(id, config, parallel)
            answer_set = sets.setdefault(set_id, _open_set(set_id, config, parallel))
            if config.language in answer_set.columns:
                raise ResultError(
                    f"{run.name}: {answer_set.id} has language {config.language} twice: {id} and"
                    f" {answer_set.columns[config.language].id}",
                    "name runs that do not overlap, or choose with --tasks",
                )
            column = _column(run.result, id, rows[id], metric, parallel.compares)
            answer_set.columns[config.language] = column
    _check_metric(sets.values(), metric)
    if not sets:
        wanted = f" matches {', '.join(patterns)}" if patterns else ""
        raise ResultError(
            f"no task with a parallel key{wanted} in {', '.join(run.name for run in runs)}",
            "a task declares one with `parallel: {key: id}` (docs/consistency.md)",
        )
    return list(sets.values())


def _check_one_model(runs: Sequence[ExaminedSamples]) -> None:
    if len({run.result.fingerprint for run in runs}) > 1:
        lines = "".join(
            f"\n    {run.name}: {run.result.model_name}, {run.result.fingerprint}" for run in runs
        )
        raise ResultError(
            f"the runs are of different models or engines:{lines}",
            "consistency is one model's; `tenbin compare` is for two",
        )


def _check_metric(sets: Iterable[AnswerSet], wanted: str | None) -> None:
    used = sorted({column.metric for one in sets for column in one.columns.values()})
    if wanted is not None and used and wanted not in used:
        raise ResultError(
            f"--metric {wanted}: no task here has it", f"used without it: {', '.join(used)}"
        )


def _parallel(name: str, config: CellConfig) -> ParallelEntry | None:
    """What a task shares with others; None if it takes no part."""
    if not config.states("parallel"):
        raise ResultError(
            f"{name}: stored by an earlier version, which did not keep the rows' numbers and keys",
            "run it again: answers that are in the journal are not asked again",
        )
    asked = config.output_type in ("choice", "generate")
    return config.parallel if asked and config.role not in ("select", "part") else None


def _matches(id: str, config: CellConfig, parallel: ParallelEntry, patterns: Sequence[str]) -> bool:
    names = (id, config.task, parallel.columns, _set_id(id, config, parallel))
    return not patterns or any(fnmatchcase(name, p) for p in patterns for name in names)


def _set_id(id: str, config: CellConfig, parallel: ParallelEntry) -> str:
    """The id without the task's language."""
    return f"{parallel.columns}{id[len(config.task) :]}"


def _open_set(id: str, config: CellConfig, parallel: ParallelEntry) -> AnswerSet:
    # Modes are compared in one order of the options, whose letters then mean the same.
    name, rotation = split_rotation(config.template)
    template = rotated_name(name.partition("+")[0], rotation)
    return AnswerSet(
        id=id,
        family=parallel.items,
        key=parallel.key,
        kind=config.output_type,
        wording=f"{template} {config.num_fewshot} {config.seed} {config.split}",
        compares=parallel.compares,
    )


def _column(
    result: RunResult, id: str, samples: Sequence[Sample], wanted: str | None, compares: Compared
) -> Column:
    config = result.configs[id]
    metric = _metric(result, id, wanted)
    files = result.data[id].get(config.split)
    if files is None:
        raise ResultError(f"{id}: the run does not say which files its rows came from")
    answers: dict[int, Answer] = {}
    for sample in samples:
        if sample.row is None:
            raise ResultError(f"{id}: the samples do not say which row each document is")
        if sample.row in answers:
            raise ResultError(
                f"{id}: row {sample.row} was answered more than once",
                "consistency compares one answer for each item",
            )
        answer = _answer(sample, metric)
        answers[sample.row] = _as_outcome(answer) if compares == "outcomes" else answer
    return Column(
        id=id,
        language=config.language,
        metric=metric,
        digests=tuple(file.sha256 for file in files),
        size=result.n_samples[id].original,
        answers=answers,
    )


def _metric(result: RunResult, id: str, wanted: str | None) -> str:
    names = list(result.details[id])
    if wanted is not None and wanted in names:
        return wanted
    lenient = [name for name in names if name == f"exact_match,{_LENIENT}"]
    return (lenient or names)[0]


def _answer(sample: Sample, metric: str) -> Answer:
    outcome = sample.outcome(metric)
    gold = _gold(sample)
    if outcome is None or gold is None:
        raise ResultError(
            f"{sample.id}, row {sample.row}: has no outcome of {metric}, or no right answer"
        )
    if outcome.answers:
        raise ResultError(
            f"{sample.id}: {len(outcome.answers)} answers were sampled for each question",
            "consistency compares one answer for each item: run it greedily, or with a filter such"
            " as majority_vote",
        )
    offered = len(sample.choices) if sample.choices else None
    if outcome.value is None:
        return Answer("failed", None, None, gold, offered, sample.item)
    if outcome.value not in (0, 1, 100):
        raise ResultError(
            f"{sample.id}: {metric} is not simply right or wrong ({outcome.value:g})",
            "name a metric that is, with --metric",
        )
    label = _label(outcome) if sample.gold is not None else (outcome.answer or "").strip()
    state: State = "read" if label else "unreadable"
    return Answer(state, label or None, outcome.value > 0, gold, offered, sample.item)


def _as_outcome(answer: Answer) -> Answer:
    """Right or wrong in place of a text, which no other language has."""
    label = None if answer.label is None else "right" if answer.right else "wrong"
    return replace(answer, label=label, gold="right")


def _gold(sample: Sample) -> str | None:
    """The right answer in a form that languages share; None if the sample has none."""
    if sample.gold is not None:
        return letter(sample.gold)
    return sample.references[0].strip() if sample.references else None


def _label(outcome: SampleOutcome) -> str:
    """The letter of the choice; empty if the model named none."""
    return "" if outcome.predicted is None else letter(outcome.predicted)


def letter(position: int) -> str:
    """`A` for the first choice; numbers where the alphabet ends."""
    letters = string.ascii_uppercase
    return letters[position] if position < len(letters) else str(position + 1)


def position_of(label: str) -> int | None:
    """Which choice a letter stands for; None when it is no letter."""
    at = string.ascii_uppercase.find(label) if len(label) == 1 else -1
    return at if at >= 0 else None
