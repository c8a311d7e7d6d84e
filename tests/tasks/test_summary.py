"""Summaries of the catalogue: what they say, when they are made anew, and what is loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenbin.tasks import loader, summary
from tenbin.tasks.registry import load_registry
from tenbin.tasks.summary import catalogue, summary_of

TASK = """
task: {name}
dataset_path: json
test_split: test
doc_to_text: "{{{{ q }}}}"
doc_to_target: "{{{{ a }}}}"
"""
LONG_AGO = 1_000_000_000


@pytest.fixture
def own(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of two files, and a third that they could include."""
    folder = tmp_path / "tasks"
    folder.mkdir()
    for name in ("one", "two", "_base"):
        write(folder / f"{name}.yaml", TASK.format(name=name))
    monkeypatch.setattr(summary, "CATALOG", str(folder))
    monkeypatch.setattr("tenbin.tasks.registry.CATALOG", str(folder))
    return folder


def write(path: Path, text: str, seconds: int = LONG_AGO) -> None:
    path.write_text(text)
    os.utime(path, (seconds, seconds))


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are loaded from now on, in a process that remembers nothing."""
    found: list[str] = []
    original = loader.load_file
    monkeypatch.setattr(
        loader, "load_file", lambda path, *more: (found.append(path.name), original(path, *more))[1]
    )
    summary._catalogue.cache_clear()
    return found


def names() -> list[str]:
    summary._catalogue.cache_clear()  # as in the next process
    return [entry.summary.name for entry in catalogue()]


def age_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the code and the data sets be old, which those of a fresh clone are not."""
    stamps = summary._stamps

    def aged(folder: str, suffix: str) -> summary.Stamps:
        found = stamps(folder, suffix)
        if folder == summary.CATALOG:
            return found
        return tuple((path, LONG_AGO, size) for path, _, size in found)

    monkeypatch.setattr(summary, "_stamps", aged)


def test_the_summaries_are_those_of_the_loaded_tasks() -> None:
    registry = load_registry()
    assert [summary_of(task) for task in registry.all()] == list(registry.summaries())
    (jnli,) = (one for one in registry.summaries() if (one.name, one.version) == ("jnli", "1.3"))
    assert (jnli.data, jnli.documents, jnli.default_template) == ("JNLI", 2434, "0.2")
    parts = {one.name: one.documents for one in registry.summaries() if "m_ifeval" in one.name}
    assert (parts["m_ifeval_ja"], parts["m_ifeval_en"]) == (172, 541), "parts differ in size"
    (text,) = (one for one in registry.summaries() if one.name == "plain_text_ja")
    assert text.documents is None, "nothing is published"


def test_a_second_start_loads_nothing(
    own: Path, cache: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    age_code(monkeypatch)
    assert names() == names() == ["one", "two"]
    assert loads == ["one.yaml", "two.yaml"]
    assert [path.name[:9] for path in (cache / "task-index").iterdir()] == ["catalogue"]


def test_changed_files_are_loaded_again(
    own: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    age_code(monkeypatch)
    names()
    write(own / "two.yaml", TASK.format(name="three"), LONG_AGO + 1)
    assert names() == ["one", "three"]
    (own / "one.yaml").unlink()
    assert names() == ["three"]
    assert len(loads) == 5


def test_a_file_of_this_moment_is_not_trusted(
    own: Path, cache: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    age_code(monkeypatch)
    (own / "one.yaml").write_text(TASK.format(name="one"))
    assert names() == ["one", "two"]
    assert not (cache / "task-index").exists()


def test_a_damaged_cache_is_made_anew(
    own: Path, cache: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    age_code(monkeypatch)
    names()
    (file,) = (cache / "task-index").iterdir()
    file.write_bytes(file.read_bytes().replace(b"one", b"own"))
    assert names() == ["one", "two"] and len(loads) == 4
    assert names() == ["one", "two"] and len(loads) == 4


def test_only_what_is_selected_is_loaded(
    own: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    age_code(monkeypatch)
    names()
    loads.clear()
    (chosen,) = load_registry().select(["two"])
    assert chosen.task.name == "two" and loads == ["two.yaml"]
