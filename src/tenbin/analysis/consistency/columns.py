"""Stored runs into columns of answers: one column a language of a set.

A set is what differs in nothing but the language: `mlogiqa_mcq`, `mlogiqa_gen-1.0-native`. Knows
result documents and samples; does not know which rows belong together.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from tenbin.errors import ResultError

State = Literal["read", "unreadable", "failed"]
COLUMNS = ("id", "row", "item", "choices", "gold", "references", "outcomes")
"""Of the samples, what is needed here."""
_LENIENT = "flexible-extract"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one row was answered."""

    state: State
    label: str | None
    """The answer in a form that languages share: a letter for a choice, else what was read."""
    right: bool | None
    """None when it failed; an answer that could not be read is wrong."""
    gold: str
    offered: int | None
    """How many choices there were, where choices were scored."""
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
    """The columns that differ in language alone."""

    id: str
    family: str
    """Sets of one family hold the same items."""
    key: str
    kind: str
    """`choice` or `generate`."""
    wording: str
    """Template, shots and split, without the scoring variant: what two modes must share."""
    columns: dict[str, Column] = field(default_factory=dict)


def gather(
    runs: Sequence[tuple[str, Mapping[str, Any], Iterable[Mapping[str, Any]]]],
    patterns: Sequence[str] = (),
    metric: str | None = None,
) -> list[AnswerSet]:
    """The sets of parallel tasks in some runs of one model.

    Args:
        runs: Name, result document and samples of each.
        patterns: Ids, task names or sets to keep, with `*`; none keeps all.
        metric: Whose reading of an answer counts; by default the first metric of a choice, and
            `flexible-extract` of a text where there is one.

    Raises:
        ResultError: The runs are of several models, were stored before tenbin kept what is
            needed, or hold nothing parallel.
    """
    _check_one_model(runs)
    sets: dict[str, AnswerSet] = {}
    for name, document, samples in runs:
        chosen = {
            id: config
            for id, config in document["configs"].items()
            if _parallel(name, config) and _matches(id, config, patterns)
        }
        rows: dict[str, list[Mapping[str, Any]]] = {id: [] for id in chosen}
        for sample in samples:
            if sample["id"] in rows:
                rows[sample["id"]].append(sample)
        for id, config in chosen.items():
            answer_set = sets.setdefault(_set_id(id, config), _open_set(id, config))
            if config["language"] in answer_set.columns:
                raise ResultError(
                    f"{name}: {answer_set.id} has language {config['language']} twice: {id} and"
                    f" {answer_set.columns[config['language']].id}",
                    "name runs that do not overlap, or choose with --tasks",
                )
            answer_set.columns[config["language"]] = _column(document, id, rows[id], metric)
    _check_metric(sets.values(), metric)
    if not sets:
        wanted = f" matches {', '.join(patterns)}" if patterns else ""
        raise ResultError(
            f"no task with a parallel key{wanted} in {', '.join(name for name, *_ in runs)}",
            "a task declares one with `parallel: {key: id}` (docs/consistency.md)",
        )
    return list(sets.values())


def _check_one_model(runs: Sequence[tuple[str, Mapping[str, Any], Any]]) -> None:
    marks = {name: document["fingerprint"] for name, document, _ in runs}
    if len(set(marks.values())) > 1:
        lines = "".join(
            f"\n    {name}: {stored['model'].get('model')}, {marks[name]}"
            for name, stored, _ in runs
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


def _parallel(name: str, config: Mapping[str, Any]) -> bool:
    if "parallel" not in config:
        raise ResultError(
            f"{name}: stored by an earlier version, which did not keep the rows' numbers and keys",
            "run it again: answers that are in the journal are not asked again",
        )
    asked = config["output_type"] in ("choice", "generate") and config.get("role") != "select"
    return config["parallel"] is not None and asked


def _matches(id: str, config: Mapping[str, Any], patterns: Sequence[str]) -> bool:
    names = (id, config["task"], config["parallel"]["columns"], _set_id(id, config))
    return not patterns or any(fnmatchcase(name, p) for p in patterns for name in names)


def _set_id(id: str, config: Mapping[str, Any]) -> str:
    """The id with the task's language left out."""
    return f"{config['parallel']['columns']}{id[len(config['task']) :]}"


def _open_set(id: str, config: Mapping[str, Any]) -> AnswerSet:
    parallel, template = config["parallel"], config["template"].partition("+")[0]
    return AnswerSet(
        id=_set_id(id, config),
        family=parallel["items"],
        key=parallel["key"],
        kind=config["output_type"],
        wording=f"{template} {config['num_fewshot']} {config['seed']} {config['split']}",
    )


def _column(
    document: Mapping[str, Any], id: str, rows: Sequence[Mapping[str, Any]], wanted: str | None
) -> Column:
    config = document["configs"][id]
    metric = _metric(document, id, wanted)
    files = document["data"][id].get(config["split"])
    if files is None:
        raise ResultError(f"{id}: the run does not say which files its rows came from")
    answers: dict[int, Answer] = {}
    for sample in rows:
        if sample["row"] is None:
            raise ResultError(f"{id}: the samples do not say which row each document is")
        if sample["row"] in answers:
            raise ResultError(
                f"{id}: row {sample['row']} was answered more than once",
                "consistency compares one answer an item",
            )
        answers[sample["row"]] = _answer(sample, metric)
    return Column(
        id=id,
        language=config["language"],
        metric=metric,
        digests=tuple(file["sha256"] for file in files),
        size=document["n-samples"][id]["original"],
        answers=answers,
    )


def _metric(document: Mapping[str, Any], id: str, wanted: str | None) -> str:
    names = list(document["details"][id])
    if wanted in names:
        return str(wanted)
    lenient = [name for name in names if name == f"exact_match,{_LENIENT}"]
    return str((lenient or names)[0])


def _answer(sample: Mapping[str, Any], metric: str) -> Answer:
    outcome = next((one for one in sample["outcomes"] if one["metric"] == metric), None)
    if outcome is None or (sample["gold"] is None and not sample["references"]):
        raise ResultError(
            f"{sample['id']}, row {sample['row']}: has no outcome of {metric}, or no right answer"
        )
    if outcome.get("answers"):
        raise ResultError(
            f"{sample['id']}: {len(outcome['answers'])} answers were drawn to each question",
            "consistency compares one answer an item: run it greedily, or with a filter such as"
            " majority_vote",
        )
    chosen = sample["gold"] is not None
    gold = letter(sample["gold"]) if chosen else sample["references"][0].strip()
    offered = len(sample["choices"]) if sample["choices"] else None
    if outcome["value"] is None:
        return Answer("failed", None, None, gold, offered, sample["item"])
    if outcome["value"] not in (0, 1, 100):
        raise ResultError(
            f"{sample['id']}: {metric} is not simply right or wrong ({outcome['value']:g})",
            "name a metric that is, with --metric",
        )
    label = _named(outcome) if chosen else (outcome["answer"] or "").strip()
    state: State = "read" if label else "unreadable"
    return Answer(state, label or None, outcome["value"] > 0, gold, offered, sample["item"])


def _named(outcome: Mapping[str, Any]) -> str:
    """The letter of the choice; empty where the model named none."""
    return "" if outcome["predicted"] is None else letter(outcome["predicted"])


def letter(position: int) -> str:
    """`A` for the first choice; numbers where the alphabet ends."""
    letters = string.ascii_uppercase
    return letters[position] if position < len(letters) else str(position + 1)


def position_of(label: str) -> int | None:
    """Which choice a letter stands for; None when it is no letter."""
    at = string.ascii_uppercase.find(label) if len(label) == 1 else -1
    return at if at >= 0 else None
