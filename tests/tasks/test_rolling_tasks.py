"""Task files whose texts are scored as a whole: lm-eval's keys, and refusals with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.errors import TaskError
from tenbin.records import Task
from tenbin.tasks.loader import load_file

PLAIN = """
task: pages
dataset_path: json
dataset_kwargs: {data_files: {test: pages.jsonl}}
output_type: loglikelihood_rolling
test_split: test
training_split: train
doc_to_text: ""
doc_to_target: "{{page}}"
"""


def load(folder: Path, more: str = "", text: str = PLAIN) -> Task:
    path = folder / "pages.yaml"
    path.write_text(text + more, encoding="utf-8")
    return load_file(path)[0].task


def test_a_file_of_lm_eval(tmp_path: Path) -> None:
    more = """
num_fewshot: 0
target_delimiter: ""
should_decontaminate: true
doc_to_decontamination_query: "{{page}}"
metric_list:
  - {metric: word_perplexity, aggregation: weighted_perplexity, higher_is_better: false}
  - {metric: bits_per_byte, aggregation: bits_per_byte, higher_is_better: false}
metadata: {version: 2.0}
"""
    task = load(tmp_path, more)
    assert (task.kind, task.split, task.version) == ("perplexity", "test", "2.0")
    assert task.fewshot.split is None, "there are no examples to draw"
    assert task.templates["default"].target == "{{page}}"
    assert [use.metric for use in task.metrics] == ["word_perplexity", "bits_per_byte"]


def test_metrics_are_lm_evals_where_none_are_named(tmp_path: Path) -> None:
    named = [use.metric for use in load(tmp_path).metrics]
    assert named == ["word_perplexity", "byte_perplexity", "bits_per_byte"]


def test_doc_to_text_may_be_left_out(tmp_path: Path) -> None:
    assert (
        load(tmp_path, text=PLAIN.replace('doc_to_text: ""\n', "")).templates["default"].text == ""
    )


@pytest.mark.parametrize(
    "line",
    [
        "description: Read this.",
        "doc_to_choice: [a, b]",
        "num_fewshot: 2",
        "fewshot_split: train",
        "fewshot_config: {sampler: default}",
        "example_target: x",
        "references: answers",
        "filter_list: [{name: a, filter: [{function: take_first}]}]",
    ],
)
def test_what_would_stand_in_a_prompt_is_refused(tmp_path: Path, line: str) -> None:
    key = line.partition(":")[0]
    with pytest.raises(TaskError, match=f"{key}: loglikelihood_rolling scores"):
        load(tmp_path, line)


def test_a_question_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="doc_to_text: loglikelihood_rolling scores"):
        load(tmp_path, text=PLAIN.replace('doc_to_text: ""', "doc_to_text: Read on."))


def test_python_stays_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="process_results: lm-eval runs Python"):
        load(tmp_path, "process_results: detokenise")
    with pytest.raises(TaskError, match="would run Python from a task file"):
        load(tmp_path, text=PLAIN.replace('"{{page}}"', "!function wiki.detokenise"))


def test_a_language_and_a_version_may_have_metrics_of_their_own(tmp_path: Path) -> None:
    more = """
metric_list: [{metric: word_perplexity}]
languages:
  en: {}
  ja: {metric_list: [{metric: char_perplexity}]}
versions:
  "1.0": {metric_list: [{metric: bits_per_byte}]}
  "1.1": {}
"""
    path = tmp_path / "pages.yaml"
    path.write_text(PLAIN + more, encoding="utf-8")
    found = {
        (one.task.language, one.task.version): [use.metric for use in one.task.metrics]
        for one in load_file(path)
    }
    assert found == {
        ("en", "1.0"): ["bits_per_byte"],
        ("en", "1.1"): ["word_perplexity"],
        ("ja", "1.0"): ["char_perplexity"],
        ("ja", "1.1"): ["char_perplexity"],
    }
