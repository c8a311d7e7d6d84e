"""A document in a template's words: references of generation tasks, names, odd values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenbin.data import DataChoice
from tenbin.errors import DataError, TaskError, TenbinError
from tenbin.pipeline.validate import Checked, validate_task
from tenbin.prompts.render import whole_text, word
from tenbin.prompts.worded import Worded
from tenbin.records import Document, Task
from tenbin.tasks.loader import load_file


def make_task(folder: Path, **keys: Any) -> Task:
    path = folder / "task.yaml"
    plain = {
        "task": "made",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(folder / "rows.jsonl")}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{ question }}",
        "doc_to_target": "{{ label }}",
    }
    path.write_text(yaml.safe_dump({**plain, **keys}, allow_unicode=True), encoding="utf-8")
    return load_file(path)[0].task


def worded(task: Task, **fields: Any) -> Worded:
    document = Document("1", {"question": "Q", **fields}, None, "rows.jsonl, line 1")
    return word(task, task.templates[task.default_template], document, "")


@pytest.mark.parametrize(
    ("target", "label"),
    [("{{ label }}", 1), ("label", 1), ("label", "1"), ("{{ label }}", "1"), (1, 0)],
)
@pytest.mark.parametrize("choices", [["False", "True"], "options", "{{ options }}"])
def test_an_index_stands_for_the_text_of_its_choice(
    tmp_path: Path, target: str | int, label: Any, choices: Any
) -> None:
    task = make_task(tmp_path, doc_to_target=target, doc_to_choice=choices)
    made = worded(task, label=label, options=["False", "True"])
    assert made.references == ("True",)
    assert made.target == "True"
    assert (made.choices, made.gold, made.num_choices) == (None, None, 2)


def test_several_indices_are_several_references(tmp_path: Path) -> None:
    task = make_task(tmp_path, doc_to_target="label", doc_to_choice=["a", "b", "c"])
    assert worded(task, label=[2, 0]).references == ("c", "a")
    assert worded(task, label="[1, 2]").references == ("b", "c")


def test_text_stays_text_beside_choices(tmp_path: Path) -> None:
    task = make_task(tmp_path, doc_to_target="{{ 'ABC'[label] }}", doc_to_choice=["x", "y", "z"])
    assert worded(task, label=1).references == ("B",)
    without = make_task(tmp_path)
    assert worded(without, label=1).references == ("1",)


@pytest.mark.parametrize("label", [2, -1, True, 10**30])
def test_an_index_beyond_the_choices_names_the_row(tmp_path: Path, label: Any) -> None:
    task = make_task(tmp_path, doc_to_target="label", doc_to_choice=["a", "b"])
    with pytest.raises(DataError, match=r"rows.jsonl, line 1: the gold answer"):
        worded(task, label=label)


def test_one_reference_need_not_be_a_list(tmp_path: Path) -> None:
    task = make_task(tmp_path, references="answer")
    assert worded(task, label=0, answer="Tokyo").references == ("Tokyo",)
    assert worded(task, label=0, answer=7).references == ("7",)
    assert worded(task, label=0, answer=["a", "b"]).references == ("a", "b")


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("labels", "{{ labels[0] }}"),
        ("labels", "labels"),
        ("system_prompt", "{{ system_prompt }} {{ question }}"),
        ("loop", "{% for c in [1] %}{{ loop }}{% endfor %}"),
        ("self", "{{ self.x }}"),
        ("none", "{{ none }}"),
        ("true", "{{ true }}"),
        ("False", "{{ False }}"),
    ],
)
@pytest.mark.parametrize("key", ["doc_to_text", "doc_to_target"])
def test_a_field_that_the_template_language_hides_is_an_error(
    tmp_path: Path, name: str, template: str, key: str
) -> None:
    task = make_task(tmp_path, **{key: template})
    with pytest.raises(TaskError) as caught:
        worded(task, label=0, **{name: "mine"})
    assert f"the row has a field {name!r}" in caught.value.message
    assert "rows.jsonl, line 1" in caught.value.message
    assert "rename" in caught.value.hint


def test_hidden_fields_that_nobody_names_do_no_harm(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    hidden = {"labels": 1, "system_prompt": 2, "loop": 3, "self": 4, "none": 5}
    assert worded(task, label=0, **hidden).text == "Q"
    assert worded(make_task(tmp_path, labels=["a"], doc_to_text="{{ labels }}"), label=0).text


def test_fields_win_over_functions_of_the_language(tmp_path: Path) -> None:
    task = make_task(tmp_path, doc_to_text="{{ range }} {{ dict }}")
    assert worded(task, label=0, range="a", dict="b").text == "a b"


def test_a_whole_text_has_no_hidden_names_but_the_language(tmp_path: Path) -> None:
    task = make_task(
        tmp_path,
        output_type="loglikelihood_rolling",
        doc_to_text="",
        doc_to_target="{{ labels }}",
    )
    template = task.templates[task.default_template]
    assert whole_text(task, template, Document("1", {"labels": "text"}, None, "x")) == "text"


@pytest.mark.parametrize("template", ["score", "{{ score }}"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_none_is_not_shown(tmp_path: Path, template: str, value: float) -> None:
    task = make_task(tmp_path, doc_to_text=template)
    with pytest.raises(TaskError, match=r"rows.jsonl, line 1"):
        worded(task, label=0, score=value)
    tested = make_task(tmp_path, doc_to_text="{{ score if score == score else '-' }}")
    assert worded(tested, label=0, score=math.nan).text == "-"


@pytest.mark.parametrize(
    "choices", ["{{ range(99999)|list }}", "options", "{{ options|length }}", "{{ '[' * 9999 }}"]
)
def test_too_many_choices_or_none_are_an_error(tmp_path: Path, choices: str) -> None:
    task = make_task(tmp_path, output_type="multiple_choice", doc_to_choice=choices)
    with pytest.raises(TenbinError, match=r"rows.jsonl, line 1: doc_to_choice gives"):
        worded(task, label=0, options=[str(number) for number in range(1001)])


def checked(folder: Path, rows: str, **keys: Any) -> Checked:
    task = make_task(folder, **keys)
    (folder / "rows.jsonl").write_text(rows, encoding="utf-8")
    return validate_task(task, DataChoice(data_dir=folder))


INDICES = '{"question": "q1", "options": ["a", "b"], "label": 0}\n' * 2 + (
    '{"question": "q3", "options": ["c", "d"], "label": 1}\n'
)


def test_a_template_that_appends_gets_a_way_without(tmp_path: Path) -> None:
    appending = (
        "{% set all = [] %}{% for i in [1, 2] %}{% set _ = all.append(i) %}{% endfor %}{{ all }}"
    )
    with pytest.raises(TaskError, match="unsafe") as caught:
        worded(make_task(tmp_path, doc_to_text=appending), label=1)
    assert "set ns.all = ns.all + [x]" in caught.value.hint
    adding = (
        "{% set ns = namespace(all=[]) %}{% for i in [1, 2] %}{% set ns.all = ns.all + [i] %}"
        "{% endfor %}{{ ns.all }}"
    )
    assert worded(make_task(tmp_path, doc_to_text=adding), label=1).text == "[1, 2]"


def test_validate_finds_references_that_are_indices(tmp_path: Path) -> None:
    (finding,) = checked(tmp_path, INDICES).findings
    assert finding.severity == "warning"
    assert "index into field 'options'" in finding.message
    assert not checked(tmp_path, INDICES, doc_to_choice="options").findings


def test_validate_takes_numbers_for_answers_where_they_are(tmp_path: Path) -> None:
    numbers = INDICES.replace('"a", "b"', '"0", "1"').replace('"c", "d"', '"0", "1"')
    assert not checked(tmp_path, numbers).findings
    assert not checked(tmp_path, INDICES.replace('"label": 1', '"label": 12')).findings
