"""Runs of lm-eval's task files whose own functions judge, and of their groups."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.config import build_config
from tenbin.errors import ResultError
from tenbin.pipeline.cells import choose
from tenbin.pipeline.finish import CompletedRun
from tenbin.pipeline.group_scores import summarise_groups
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.records import Group, GroupMetric, TaskFunction
from tenbin.tasks.lm_eval.reading import read_task_file
from tenbin.tasks.lm_eval.translate import translate
from tenbin.tasks.loader import LoadedTask
from tenbin.tasks.registry import Registry

pytestmark = pytest.mark.usefixtures("cache")

DATA = """
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
"""
TASKS = {
    "judged": """
output_type: generate_until
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
process_results: !function own.judge
metric_list:
  - {metric: size, aggregation: mean, higher_is_better: true}
  - {metric: pair, aggregation: !function own.share, higher_is_better: true}
  - {metric: first, aggregation: !function own.first, higher_is_better: true}
  - {metric: never, aggregation: mean, higher_is_better: true}
""",
    "translated": """
output_type: generate_until
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
metric_list:
  - {metric: bleu}
  - {metric: !function own.overlap, aggregation: mean, higher_is_better: true}
""",
    "small": """
output_type: multiple_choice
doc_to_text: "{{q}}"
doc_to_choice: ["x", "yy"]
doc_to_target: label
metric_list:
  - {metric: acc}
  - {metric: f1, aggregation: !function own.share, higher_is_better: true}
""",
    "filtered": """
output_type: generate_until
doc_to_text: "{{q}}"
doc_to_target: "{{q}}"
metric_list: [{metric: exact_match}]
filter_list:
  - name: own
    filter: [{function: custom, filter_fn: !function own.questions}, {function: take_first}]
""",
    "registered": """
output_type: generate_until
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
process_results: !function registered.judge
metric_list:
  - {metric: letters, aggregation: mean, higher_is_better: true}
filter_list:
  - name: doubled
    filter: [{function: twice, mark: "!"}, {function: take_first}]
""",
}
REGISTERED = """
def register_filter(name):
    return lambda made: made


@register_filter("twice")
class Twice:
    def __init__(self, mark):
        self.mark = mark

    def apply(self, resps, docs):
        return [[answer * 2 + self.mark for answer in answers] for answers in resps]


def judge(doc, results):
    return {"letters": float(results[0].endswith("!") and len(results[0]) % 2 == 1)}
"""
OWN = """
def judge(doc, results):
    if doc["q"].endswith("13"):
        raise KeyError("thirteen")
    given = {"size": len(results[0]), "pair": (doc["a"], results[0]), "first": float(doc["row"])}
    return {**given, "extra": 0.5}


def share(items):
    return sum(gold == given for gold, given in items) / len(items)


def first(items):
    return items[0]


def questions(resps, docs):
    return [[doc["q"] for _ in answers] for answers, doc in zip(resps, docs)]


def overlap(references, predictions):
    return float(bool(set(references[0]) & set(predictions[0])))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Task files with their rows, as the only tasks there are."""
    rows = [
        {"row": at, "q": f"question {at}", "a": "a b c d e"[: at % 9 + 1], "label": at % 2}
        for at in range(30)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(lines)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "registered.py").write_text(REGISTERED)
    registry = Registry()
    for name, text in TASKS.items():
        file = tmp_path / f"{name}.yaml"
        file.write_text(f"task: {name}\n{DATA}{text}")
        translation = translate(read_task_file(file).mapping, file)
        assert translation.task is not None, translation.refusals
        registry.add(LoadedTask(translation.task, {}, file))
    monkeypatch.setattr(choose, "load_registry", lambda *arguments: registry)
    return tmp_path


def run(folder: Path, *tasks: str, **options: Any) -> CompletedRun:
    config = build_config(
        {"model": "scripted", "tasks": list(tasks), "trust_tasks": True, **options}
    )
    return execute(config, Listener(), ScriptedBackend())


def test_functions_judge_and_aggregate(folder: Path) -> None:
    done = run(folder, "judged", output_path=str(folder / "out"))
    details = done.result.details["judged"]
    assert list(details) == ["size", "pair", "first", "extra"]
    assert {name: detail.n for name, detail in details.items()} == dict.fromkeys(details, 29)
    assert details["size"].aggregation == "mean" and details["size"].stderr_method == "analytic"
    assert details["pair"].aggregation == "function share"
    assert details["first"].interval_method == "none" and details["first"].low is None
    assert done.result.results["judged"]["first"] == 0.0  # the first row
    (reason,) = done.result.failures["judged"]
    assert "own.py: judge: KeyError: 'thirteen'" in reason
    (warning,) = [one for one in done.result.warnings if "judged: first" in one]
    assert "no interval: the aggregation depends on the order of documents" in warning
    assert done.folder is not None
    stored = tenbin.load_run(done.folder.path)
    assert stored.scores["judged"]["extra"] == 0.5
    assert stored.document["details"]["judged"]["pair"]["aggregation"] == "function share"


def test_samples_hold_items_as_json(folder: Path) -> None:
    done = run(folder, "judged")
    outcomes = {
        outcome.metric: outcome
        for sample in done.samples()
        for outcome in sample.outcomes
        if sample.failure_kind is None
    }
    assert json.loads(outcomes["pair"].item or "")[0] in "a b c d e"
    assert outcomes["pair"].aggregation == "function share"
    assert outcomes["size"].item is None


def test_translations_and_own_metrics(folder: Path) -> None:
    done = run(folder, "translated")
    scores = done.result.scores("translated")
    assert [score.metric for score in scores] == ["bleu", "overlap"]
    assert scores[0].detail.aggregation == "bleu" and scores[0].detail.unit == "%"


def test_stored_runs_are_compared_without_their_functions(folder: Path) -> None:
    paths = []
    for name in ("one", "two"):
        done = run(folder, "judged", "translated", "small", output_path=str(folder / name))
        assert done.folder is not None
        paths.append(done.folder.path)
    found = tenbin.compare(*paths, metrics=["all"])
    compared = {(row["id"], row["metric"]) for row in found.table()}
    assert {metric for _, metric in compared} == {"size", "extra", "bleu", "overlap", "acc"}
    assert found.record.not_compared == {"judged": ["pair", "first"], "small": ["f1"]}
    with pytest.raises(ResultError, match="unknown aggregation 'function share'"):
        tenbin.compare(*paths, metrics=["pair"], cells=["judged"])


def test_groups_of_files(folder: Path) -> None:
    done = run(folder, "small", "translated", "judged")
    inner = Group("inner", "Inner", ("small",), (GroupMetric("acc"),))
    asked = (
        GroupMetric("bleu", filters=("none",)),
        GroupMetric("acc", weight_by_size=False),
        GroupMetric("f1"),
        GroupMetric("nothing"),
        GroupMetric("extra", filters=("strict",)),
    )
    top = Group("top", "Top", (inner, "translated", "judged"), asked)
    setups = [replace(setup, groups=(top,)) for setup in done.setups]
    scores = summarise_groups(setups, done.judged, done.scores)
    assert [(one.id, one.alias, one.members) for one in scores] == [
        ("top", "Top", ("small", "translated", "judged")),
        ("inner", "Inner", ("small",)),
    ]
    rows = {row.metric: row for row in scores[0].rows}
    of_tasks = {(row.id, row.metric): row for rows in done.scores.values() for row in rows}
    assert set(rows) == {"bleu", "acc", "f1"}
    for metric, task in (("bleu", "translated"), ("acc", "small"), ("f1", "small")):
        assert rows[metric].value == pytest.approx(of_tasks[task, metric].value)
        assert rows[metric].stderr == pytest.approx(of_tasks[task, metric].stderr, rel=0.2)
    assert scores[0].notices == (
        "top: 2 of 3 tasks lack the metric bleu",
        "top: 2 of 3 tasks lack the metric acc",
        "top: 2 of 3 tasks lack the metric f1",
        "top: no task of the group has the metric extra,strict",
    )


def test_a_filter_that_is_a_function(folder: Path) -> None:
    done = run(folder, "filtered", output_path=str(folder / "out"))
    assert done.folder is not None
    stored = tenbin.load_run(done.folder.path)
    assert stored.scores["filtered"] == {"exact_match,own": 1.0}
    (step, _) = stored.document["configs"]["filtered"]["filters"]["own"]
    assert step["filter_fn"].startswith("!function questions (")


def test_a_filter_that_the_file_of_a_function_registers(folder: Path) -> None:
    translation = translate(
        read_task_file(folder / "registered.yaml").mapping, folder / "registered.yaml"
    )
    assert translation.task is not None
    ((step, options), _) = translation.task.filters[0].steps
    assert isinstance(step, TaskFunction) and step.name == "Twice" and options == {"mark": "!"}
    scores = run(folder, "registered").result.results["registered"]
    assert scores["letters,doubled"] == 1.0
