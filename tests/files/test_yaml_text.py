"""YAML files that would end the process, fill memory or never end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenbin.errors import TaskError
from tenbin.files.yaml_text import YamlError, read_yaml, write_yaml
from tenbin.tasks.lm_eval.reading import read_task_file
from tests.metrics.watchdog import watchdog

BOMB = (
    "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcde", "bcdef"))  # noqa: B905
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 200_000, "over 50 levels"),  # the fast parser ends the process on this
        ("- " * 200_000 + "x", "over 50 levels"),
        ("a: " + "{b: " * 100 + "}" * 100, "over 50 levels"),
        ("a: &a " + "{b: " * 100 + "}" * 100 + "\nc: *a", "over 50 levels"),
        (BOMB, "stands for over 100,000 values"),
        ("a: [" + "x," * 100_000 + "]", "stands for over 100,000 values"),
        ("a: &a [*a]", "contains itself"),
        ("a: " + "9" * 5_000, "whole number of more than 250 digits"),
        ("a: 0x" + "f" * 5_000, "whole number of more than 250 digits"),  # Python cannot show it
        ("a: 1" + ":59" * 1_000_000, "whole number of more than 250 digits"),  # reads for hours
        ("a: 2024-13-01", "cannot be read"),
        ("a: !!timestamp x", "cannot be read"),
        ("a: !!python/object:os.system {}", "not valid YAML"),
        ("a: [", "not valid YAML"),
        ("[]: 1", "not valid YAML"),
        ("#" * 4_000_001, "more than 4,000,000 bytes"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with watchdog(), pytest.raises(YamlError, match=reason):
        read_yaml(path)


def test_what_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(YamlError, match="not UTF-8"):
        read_yaml(path)


def test_what_waits_for_a_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    os.mkfifo(path)
    with watchdog(), pytest.raises(YamlError, match="no regular file"):
        read_yaml(path)
    with pytest.raises(FileNotFoundError):
        read_yaml(tmp_path / "none.yaml")


def test_what_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("\ufeffa: &a [1, 2.5, yes, null, '天秤']\nb: *a\nc: {<<: {d: 1}}\n")
    list_ = [1, 2.5, True, None, "天秤"]
    assert read_yaml(path) == {"a": list_, "b": list_, "c": {"d": 1}}
    path.write_text("")
    assert read_yaml(path) is None


@pytest.mark.parametrize("included", ["5", "[5]", "{a: b}", "null"])
def test_an_include_that_names_no_file_is_refused(tmp_path: Path, included: str) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(f"task: x\ninclude: {included}\n")
    with pytest.raises(TaskError, match="names a file"):
        read_task_file(path)


@pytest.mark.parametrize("text", ["a\x85b", "a\u2028b", "\u2029", "\ufeffx", "one\rtwo", "天\n秤"])
def test_what_is_written_is_read_back(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(write_yaml({"system_prompt": text, text: [text]}), encoding="utf-8")
    assert read_yaml(path) == {"system_prompt": text, text: [text]}
