"""Every write refused in turn: success or one clear error that names the disk, nothing half
written, and the same command afterwards ends with the same results.

The suite takes each place that is written to once for each way of writing, and of the many of a run
every second one; TENBIN_FAULTS=all takes every single write, with a full and with a read-only disk.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tenbin.cli import main
from tenbin.results.read import read_run
from tests.faults import faulty_writes
from tests.journal.made import answer_all, journal_file

ALL = os.environ.get("TENBIN_FAULTS") == "all"
FULL, READ_ONLY = errno.ENOSPC, errno.EROFS
OF_THE_MOMENT = (
    "date",
    "total_evaluation_time_seconds",
    "timing",
    "answers_from_journal",
    "git_hash",
    "usage",
)


@dataclass(frozen=True)
class Place:
    """The folders of one command."""

    root: Path

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def out(self) -> Path:
        return self.root / "out"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    def reset(self, prepare: Callable[[Place], None]) -> None:
        """As before the command; what that needs is made once."""
        made = self.root.with_name("made")
        shutil.rmtree(self.root)
        if not made.exists():
            self.scratch.mkdir(parents=True)
            prepare(self)
            shutil.copytree(self.root, made)
            return
        shutil.copytree(made, self.root)

    def name_of(self, path: Path) -> str:
        """The folder that the user knows of the one that something was written below."""
        return str(self.root / path.relative_to(self.root).parts[0])


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        made = Place(Path(folder).resolve() / "disks")
        made.scratch.mkdir(parents=True)
        monkeypatch.setenv("TMPDIR", str(made.scratch))
        monkeypatch.setenv("TENBIN_CACHE", str(made.cache))
        monkeypatch.setattr("tempfile.tempdir", None)
        yield made


def points(seen: list[tuple[str, Path]], kind: int, only: str) -> list[int]:
    """Numbers of the writes that are refused, from 1."""
    if ALL:
        return list(range(1, len(seen) + 1))
    first: dict[Any, int] = {}
    for number, (what, path) in enumerate(seen, start=1):
        if only in str(path):
            first.setdefault((what, path), number)
    step = 4 if kind == READ_ONLY else 2 if len(first) > 30 else 1
    return sorted(first.values())[::step]


def nothing(place: Place) -> None:
    """A command that needs nothing."""


def check_all(
    place: Place,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    outcome: Callable[[Place], Any],
    prepare: Callable[[Place], None] = nothing,
    kinds: tuple[int, ...] = (FULL,),
    only: str = "",
) -> int:
    """Refuse write after write; those to files with `only` in their name where not all are.

    Returns:
        How many were refused.
    """
    for _ in range(2):  # what is read and remembered at a first time is no part of the count
        place.reset(prepare)
        with faulty_writes((place.cache, place.out), place.scratch) as faulty:
            assert main(arguments) == 0
    expected, seen = outcome(place), list(faulty.seen)
    refused = 0
    for kind in (FULL, READ_ONLY) if ALL else kinds:
        for number in points(seen, kind, only):
            place.reset(prepare)
            capsys.readouterr()
            with faulty_writes((place.cache, place.out), place.scratch, number, kind) as faulty:
                code = main(arguments)
            assert len(faulty.seen) >= number
            what, path = faulty.seen[number - 1]
            said = capsys.readouterr().err
            shown = f"{what} {path}: {said}"
            if code:
                check_message(said, place.name_of(path), kind, shown)
            left = [file for file in place.root.rglob("*") if ".partial" in file.name]
            assert not left, shown
            assert main(arguments) == 0, shown + capsys.readouterr().err
            assert outcome(place) == expected, shown
            refused += 1
    return refused


def check_message(said: str, folder: str, kind: int, shown: str) -> None:
    """One error, which names the disk and the place, and says what helps."""
    assert "Traceback" not in said, shown
    error = said[said.rindex("tenbin: ") :]
    assert folder in error, shown
    assert "→" in error, shown
    if kind == FULL:
        assert "no space is left on the disk" in error, shown
    else:
        words = os.strerror(READ_ONLY), "readonly", "read-only"
        assert any(word in error for word in words), shown


def result(place: Place) -> Any:
    """Everything of a run that does not belong to the moment."""
    document = json.loads((place.out / "result.json").read_text(encoding="utf-8"))
    stored = read_run(place.out / "result.json")
    files = sorted(path.name for path in (place.out / "result.run").iterdir())
    for name in OF_THE_MOMENT:
        document.pop(name)
    document.pop("samples")  # their digest; they are compared themselves
    return document, list(stored.samples()), files


COMMON = ["--model", "scripted", "--sample_data", "--limit", "1"]


def test_run(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["--output_path", str(place.out / "result.json")]
    arguments = ["run", "--tasks", "marc_ja", *COMMON, *output]
    assert check_all(place, capsys, arguments, result) > 15


def test_run_on_a_disk_that_is_read_only(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["--output_path", str(place.out / "result.json")]
    arguments = ["run", "--tasks", "marc_ja", *COMMON, *output]
    assert check_all(place, capsys, arguments, result, kinds=(READ_ONLY,)) > 8


def test_sweep(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["--output_path", str(place.out / "result.json"), "-o", str(place.out / "sweep.json")]
    arguments = ["sweep", "--tasks", "marc_ja-1.1", "--templates", "0.2,0.3"]
    arguments += [*COMMON[:-1], "2", *output]

    def outcome(place: Place) -> Any:
        reports = [place.out / "sweep.json", place.out / "result.run" / "sweep.json"]
        written = [json.loads(path.read_text(encoding="utf-8")) for path in reports]
        return result(place), [one for one in written if one.pop("date")]

    assert check_all(place, capsys, arguments, outcome, only="sweep.json") > 6


def test_report(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("altair")
    run = place.root / "run" / "result.json"
    page = place.out / "pages" / "report.html"

    def prepare(place: Place) -> None:
        assert main(["run", "--tasks", "jnli", *COMMON, "--output_path", str(run)]) == 0

    def outcome(place: Place) -> Any:
        assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
        return sorted(path.name for path in page.parent.iterdir())

    arguments = ["report", str(run), "-o", str(page)]
    assert check_all(place, capsys, arguments, outcome, prepare, only="pages") > 4


def damaged_journal(place: Place) -> None:
    folder = place.cache / "journal"
    answer_all(folder)
    content = bytearray(journal_file(folder).read_bytes())
    content[2 * 4096 : 2 * 4096 + 100] = bytes(100)
    journal_file(folder).write_bytes(content)


def test_journal_repair(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    damaged_journal(place)
    name = journal_file(place.cache / "journal").stem

    def outcome(place: Place) -> Any:
        assert main(["journal", "check"]) == 0
        return sorted(path.name for path in (place.cache / "journal").iterdir())

    arguments = ["journal", "repair", name]
    assert check_all(place, capsys, arguments, outcome, damaged_journal) > 8


def test_journal_prune(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    def outcome(place: Place) -> Any:
        return list((place.cache / "journal").iterdir())

    arguments = ["journal", "prune", "--max_size", "0", "--yes"]
    check_all(place, capsys, arguments, outcome, damaged_journal)
