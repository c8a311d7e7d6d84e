"""Groups and tags of included folders: which tasks a name stands for, and with which changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.errors import TaskError
from tenbin.records import Group, GroupMetric
from tenbin.tasks.registry import Registry, load_registry
from tenbin.tasks.selection import Selected

TASK = """
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: [a, b]
doc_to_target: label
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path_factory.mktemp("cache")))


def registry(folder: Path, groups: str = "", **tasks: str) -> Registry:
    """A folder with tasks a, b, c (with keys added) and group files separated by `---`."""
    for name in ("a", "b", "c"):
        text = f"task: {name}\n{TASK}{tasks.get(name, '')}"
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    for number, group in enumerate(groups.split("---") if groups else ()):
        (folder / f"group{number}.yaml").write_text(group, encoding="utf-8")
    return load_registry([folder])


def names(selected: list[Selected]) -> list[str]:
    return [chosen.task.name for chosen in selected]


def test_a_group_stands_for_its_tasks_and_has_scores(tmp_path: Path) -> None:
    known = registry(
        tmp_path,
        """
group: both
group_alias: Both of them
task: [b, a]
aggregate_metric_list:
  - {metric: acc, aggregation: mean, weight_by_size: false, filter_list: none}
  - metric: acc_norm
""",
    )
    chosen = known.select(["both"])
    assert names(chosen) == ["b", "a"]
    scores = (GroupMetric("acc", False, ("none",)), GroupMetric("acc_norm"))
    assert {one.group for one in chosen} == {Group("both", "Both of them", ("b", "a"), scores)}


def test_groups_of_groups_tags_and_groups_in_place(tmp_path: Path) -> None:
    known = registry(
        tmp_path,
        """
group: top
task:
  - inner
  - group: here
    task: [c]
    aggregate_metric_list: {metric: acc}
---
group: inner
task: [tagged]
""",
        a="tag: tagged\n",
        b="tag: [other, tagged]\n",
    )
    chosen = known.select(["top"])
    assert names(chosen) == ["a", "b", "c"]
    group = chosen[0].group
    assert group is not None
    assert group.members == (
        Group("inner", "inner", ("a", "b")),
        Group("top::here", "top::here", ("c",), (GroupMetric("acc"),)),
    )
    assert group.tasks() == ("a", "b", "c")
    assert [one.name for one in group.groups()] == ["top", "inner", "top::here"]
    assert names(known.select(["tagged"])) == ["a", "b"]
    assert known.select(["tagged"])[0].group is None


def test_what_surrounds_a_task_changes_it(tmp_path: Path) -> None:
    known = registry(
        tmp_path,
        """
group: shots
num_fewshot: 1
test_split: other
task:
  - a
  - {task: b, num_fewshot: 2}
  - {task: below, num_fewshot: 3}
---
group: below
num_fewshot: 4
doc_to_target: "0"
task: [c]
""",
    )
    chosen = {one.task.name: one.task for one in known.select(["shots"])}
    assert {name: task.default_shots for name, task in chosen.items()} == {"a": 1, "b": 2, "c": 3}
    assert {task.split for task in chosen.values()} == {"other"}
    assert chosen["c"].templates["default"].target == "0"
    (plain,) = known.select(["c"])
    assert (plain.task.default_shots, plain.task.split) == (0, "test")


def test_a_task_written_in_place(tmp_path: Path) -> None:
    text = "\n".join("    " + line for line in TASK.strip().splitlines())
    known = registry(tmp_path, f"group: g\ntask:\n  - task: made\n{text}\n")
    (chosen,) = known.select(["g"])
    assert chosen.task.name == "g::made"
    assert chosen.group == Group("g", "g", ("g::made",))


def test_a_group_may_name_tasks_of_the_catalogue(tmp_path: Path) -> None:
    known = registry(tmp_path, "group: mixed\ntask: [a, jnli]\n")
    assert [one.full_id for one in known.select(["mixed"])] == ["a-1.0-default", "jnli-1.3-0.2"]


def test_a_groups_file_can_be_named(tmp_path: Path) -> None:
    registry(tmp_path, "group: both\ntask: [a, b]\n")
    path = tmp_path / "group0.yaml"
    assert names(load_registry([tmp_path]).select([str(path)])) == ["a", "b"]
    assert names(
        load_registry([path, tmp_path / "a.yaml", tmp_path / "b.yaml"]).select(["both"])
    ) == [
        "a",
        "b",
    ]


def test_a_groups_own_folder_comes_first(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    registry(tmp_path / "one", "group: g\ntask: [a]\n")
    registry(tmp_path / "two")
    known = load_registry([tmp_path / "one", tmp_path / "two"])
    (chosen,) = known.select(["g"])
    assert chosen.task.source == str(tmp_path / "one" / "a.yaml")
    with pytest.raises(TaskError, match=r"'a' is the name of 2 tasks: .*one.a.yaml, .*two.a"):
        known.select(["a"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("group: g\ntask: [nowhere]\n", ["no task, group or tag 'nowhere'"]),
        ("group: g\ntask: [g]\n", ["contain each other: g → g"]),
        ("group: g\ntask: {a: 1}\n", ["is a list"]),
        ("group: g\ntask: []\n", ["lists nothing"]),
        ("group: g\ntask: [1]\n", ["holds names", "1"]),
        ("group: g\ntask: [{dataset_path: x}]\n", ["holds names"]),
        ("group: g\ntask: [{task: [a]}]\n", ["a name is a text"]),
        ("group: g\ntask: [a]\naggregate_metric_list: [x]\n", ["with `metric:`"]),
        ("group: g\ntask: [a]\naggregate_metric_list: [{metric: acc, x: 1}]\n", ["key 'x'"]),
        (
            "group: g\ntask: [a]\naggregate_metric_list: [{metric: acc, aggregation: median}]\n",
            ["median", "only `mean`"],
        ),
        (
            "group: g\ntask: [a]\naggregate_metric_list: [{metric: acc, filter_list: 1}]\n",
            ["filter_list"],
        ),
        ("group: g\ntask: [{task: jnli, num_fewshot: 1}]\n", ["jnli: num_fewshot"]),
    ],
)
def test_a_malformed_group_is_one_error(tmp_path: Path, text: str, words: list[str]) -> None:
    known = registry(tmp_path, text)
    assert names(known.select(["a"])) == ["a"], "it hinders nobody"
    with pytest.raises(TaskError) as caught:
        known.select(["g"])
    for word in words:
        assert word in str(caught.value)
