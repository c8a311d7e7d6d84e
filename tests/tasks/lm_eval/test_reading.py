"""Task files with includes: what is laid over what, and that nothing is imported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenbin.errors import TaskError
from tenbin.files.allowed_paths import Reach
from tenbin.records import TaskFunction
from tenbin.tasks.lm_eval.reading import MOST_FILES, read_task_file


def write(folder: Path, **files: str) -> Path:
    """Write files (`__` stands for a folder's slash) and return the one called `task`."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "task.yaml"


def test_own_keys_win_and_later_includes_win_over_earlier_ones(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        task="include: [first.yaml, second.yaml]\ntask: mine\n",
        first="task: x\na: 1\nb: 1\ntask_list: [{task: y}]\n",
        second="include: third.yaml\nb: 2\nc: 2\n",
        third="c: 3\nd: 3\n",
    )
    read = read_task_file(path)
    assert read.mapping == {"task": "mine", "a": 1, "b": 2, "c": 2, "d": 3}
    assert [one.name for one in read.includes] == ["first.yaml", "second.yaml", "third.yaml"]


def test_a_function_is_a_record_and_its_file_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    canary = "open(__file__ + '.ran', 'w')\nraise SystemExit\n"
    (tmp_path / "base" / "utils.py").write_text(canary, encoding="utf-8")
    path = write(
        tmp_path,
        task="include: base/base.yaml\nprocess_results: !function utils.f\n"
        "metric_list: [{metric: !function lm_eval.api.metrics.mean}]\n",
        base__base="doc_to_text: !function utils.text\ndoc_to_target: !function utils.target\n",
    )
    mapping = read_task_file(path).mapping
    beside = str(tmp_path.resolve() / "base" / "utils.py")
    assert mapping["doc_to_text"] == TaskFunction(beside, "text")
    assert mapping["process_results"] == TaskFunction("utils", "f"), "no such file beside it"
    assert mapping["metric_list"][0]["metric"] == TaskFunction("lm_eval.api.metrics", "mean")
    assert not list(tmp_path.rglob("*.ran"))


def test_an_override_removes_a_function(tmp_path: Path) -> None:
    path = write(tmp_path, task="include: base.yaml\na: x\n", base="a: !function utils.f\n")
    assert read_task_file(path).mapping == {"a": "x"}


def test_names_are_what_yaml_makes_of_them(tmp_path: Path) -> None:
    path = write(tmp_path, task="task: yes\ntag: 2024\ntask_alias: 1e3\n")
    assert read_task_file(path).mapping == {"task": True, "tag": 2024, "task_alias": "1e3"}


def test_the_hash_covers_includes_and_a_changed_one_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path, task="include: base.yaml\n", base="a: 1\n")
    before = read_task_file(path)
    assert read_task_file(path) == before
    (tmp_path / "base.yaml").write_text("a: 2\n", encoding="utf-8")
    os.utime(tmp_path / "base.yaml", ns=(1, 1))
    after = read_task_file(path)
    assert after.mapping == {"a": 2}
    assert after.sha256 != before.sha256


def test_one_include_in_two_files_is_shared_but_not_changed(tmp_path: Path) -> None:
    path = write(tmp_path, task="include: base.yaml\n", base="a: 1\ninclude: c.yaml\n", c="b: 1\n")
    first = read_task_file(path).mapping
    assert read_task_file(path).mapping == first == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"task": "include: task.yaml\n"}, ["include each other", "task.yaml → task.yaml"]),
        ({"task": "include: ../{folder}/task.yaml\n"}, ["include each other"]),
        ({"task": "include: none.yaml\n"}, ["task.yaml: include:", "none.yaml: cannot be read"]),
        ({"task": "include: b.yaml\n", "b": "a: [\n"}, ["b.yaml", "not valid YAML", "line 2"]),
        ({"task": "include: 3\n"}, ["include: names a file"]),
        ({"task": "include: /etc/hostname\n"}, ["include:", "outside of the folders"]),
        ({"task": "- a\n"}, ["mapping of keys, not a list"]),
        ({"task": ""}, ["is empty", "mapping of keys"]),
        ({"task": "a: 1\n---\nb: 2\n"}, ["not valid YAML", "line 2"]),
        ({"task": "a: 1\nb: !function process\n"}, ["line 2", "names no function"]),
        ({"task": "a: !function [x.y]\n"}, ["line 1", "names no function"]),
        ({"task": "a: !function ../../utils.process\n"}, ["line 1", "names no function"]),
        ({"task": "a: !function os.system(1)\n"}, ["line 1", "names no function"]),
        ({"task": "a: !!python/object:os.system x\n"}, ["not valid YAML", "could not determine"]),
    ],
)
def test_what_cannot_be_read_is_one_error(
    tmp_path: Path, files: dict[str, str], words: list[str]
) -> None:
    texts = {name: text.replace("{folder}", tmp_path.name) for name, text in files.items()}
    with pytest.raises(TaskError) as caught:
        read_task_file(write(tmp_path, **texts), Reach((tmp_path,)))
    for word in [*words, "task.yaml"]:
        assert word in str(caught.value)


def test_files_that_include_without_end_are_refused(tmp_path: Path) -> None:
    files = {f"f{n}": f"include: [f{n + 1}.yaml, f{n + 1}.yaml]\n" for n in range(12)}
    path = write(tmp_path, task="include: f0.yaml\n", f12="a: 1\n", **files)
    with pytest.raises(TaskError, match=f"more than {MOST_FILES} files"):
        read_task_file(path)
