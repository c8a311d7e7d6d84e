"""What is written about sampling, in a task file and on the command line, and what it means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import TaskError
from tenbin.records import Sampling, Task
from tenbin.tasks.registry import load_registry
from tenbin.tasks.sampling import overridden, sampling_of

FILE = """\
task: riddles
dataset_path: json
dataset_kwargs: {data_files: {test: riddles.jsonl}}
output_type: generate_until
test_split: test
doc_to_text: "Q: {{question}}\\nA:"
doc_to_target: "{{answer}}"
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""
SELF_CONSISTENCY = """\
generation_kwargs: {until: ["Q:", "\\n\\n"], do_sample: true, temperature: 0.2}
repeats: 64
filter_list:
  - name: score-first
    filter:
      - {function: regex, regex_pattern: "The answer is (\\\\-?[0-9]+)"}
      - {function: take_first}
  - name: maj@64
    filter:
      - {function: regex, regex_pattern: "The answer is (\\\\-?[0-9]+)"}
      - {function: majority_vote}
      - {function: take_first}
  - name: maj@8
    filter:
      - {function: take_first_k, k: 8}
      - {function: regex, regex_pattern: "The answer is (\\\\-?[0-9]+)"}
      - {function: majority_vote}
      - {function: take_first}
"""


def load(tmp_path: Path, text: str) -> Task:
    path = tmp_path / "riddles.yaml"
    path.write_text(FILE + text, encoding="utf-8")
    (chosen,) = load_registry().select([str(path)])
    return chosen.task


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, None),
        ({"do_sample": False, "temperature": 0.0}, None),
        ({"do_sample": False, "temperature": 0.7, "top_p": 0.9}, None),
        ({"temperature": 0, "top_p": 0.9}, None),
        ({"do_sample": True, "temperature": 0.0}, None),
        ({"temperature": 0.7}, Sampling(0.7)),
        ({"do_sample": True}, Sampling(1.0)),
        ({"do_sample": True, "temperature": 0.2, "top_p": 0.95}, Sampling(0.2, 0.95)),
        ({"do_sample": True, "temperature": 0.8, "top_k": 40}, Sampling(0.8, 1.0, 40)),
        ({"do_sample": None, "temperature": None, "top_p": None, "top_k": 5}, None),
    ],
)
def test_words_of_a_file_mean_what_they_mean_in_lm_eval(
    words: dict[str, Any], expected: Sampling | None
) -> None:
    assert sampling_of(words) == expected


@pytest.mark.parametrize(
    ("own", "words", "expected"),
    [
        (None, {}, None),
        (None, {"temperature": 0.7, "top_p": 0.9}, Sampling(0.7, 0.9)),
        (None, {"do_sample": True}, Sampling(1.0)),
        (None, {"temperature": 0.0, "top_p": 1.0, "top_k": 0}, None),
        (Sampling(0.2, 0.95), {}, Sampling(0.2, 0.95)),
        (Sampling(0.2, 0.95), {"temperature": 0.6}, Sampling(0.6, 0.95)),
        (Sampling(0.2, 0.95), {"top_k": 3}, Sampling(0.2, 0.95, 3)),
        (Sampling(0.2, 0.95), {"top_p": 1.0}, Sampling(0.2)),
        (Sampling(0.2, 0.95), {"do_sample": True}, Sampling(0.2, 0.95)),
        (Sampling(0.2, 0.95), {"do_sample": False}, None),
        (Sampling(0.2, 0.95), {"temperature": 0.0}, None),
    ],
)
def test_a_users_words_lie_over_the_tasks(
    own: Sampling | None, words: dict[str, Any], expected: Sampling | None
) -> None:
    assert overridden(own, words) == expected


@pytest.mark.parametrize(
    ("own", "words", "message"),
    [
        (None, {"do_sample": False, "temperature": 0.7}, "do_sample=false is greedy"),
        (None, {"do_sample": True, "temperature": 0.0}, "do_sample=true samples"),
        (None, {"top_p": 0.9}, "top_p=0.9 has no effect while decoding is greedy"),
        (None, {"top_k": 1}, "top_k=1 has no effect"),
        (Sampling(0.2), {"temperature": 0.0, "top_k": 4}, "top_k=4 has no effect"),
    ],
)
def test_words_that_contradict_or_change_nothing(
    own: Sampling | None, words: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        overridden(own, words)


def test_a_self_consistency_file_of_lm_eval(tmp_path: Path) -> None:
    task = load(tmp_path, SELF_CONSISTENCY)
    assert (task.sampling, task.repeats) == (Sampling(0.2), 64)
    assert task.templates["default"].stop == ("Q:", "\n\n")
    assert [use.name for use in task.filters] == ["score-first", "maj@64", "maj@8"]


def test_a_version_may_draw_otherwise_and_a_template_may_not(tmp_path: Path) -> None:
    versions = "versions: {'1.0': {}, '1.1': {generation_kwargs: {temperature: 0.5}}}\n"
    path = tmp_path / "riddles.yaml"
    path.write_text(FILE + "generation_kwargs: {max_gen_toks: 9}\n" + versions, encoding="utf-8")
    tasks = {t.version: t for t in load_registry([path]).all() if t.name == "riddles"}
    assert {v: (t.sampling, t.max_gen_toks) for v, t in tasks.items()} == {
        "1.0": (None, 9),
        "1.1": (Sampling(0.5), 9),
    }
    with pytest.raises(TaskError, match="temperature is a setting of the task"):
        load(tmp_path, "templates: {a: {generation_kwargs: {temperature: 0.5}}}\n")
