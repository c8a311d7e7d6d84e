"""Which journals go, and that those in use stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenbin.errors import ConfigError, JournalError
from tenbin.journal.locks import lock_path
from tenbin.journal.prune import choose_to_prune, read_age, read_size, remove_journal
from tenbin.journal.show import choose_journal, describe_journal, find_journals
from tenbin.journal.store import Journal
from tests.journal.made import answer_to

DAY = 86400.0
NOW = 1_800_000_000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three journals, not used for 1, 10 and 100 days; the last is of a clock that ran ahead."""
    for name, days in (("small", 1), ("medium", 10), ("large", 100), ("ahead", -50)):
        journal = Journal(tmp_path, name)
        source = journal.add_source({"model": f"org/{name}-model", "engine": {"name": "made"}})
        journal.write([("k", answer_to("00000001"))], source)
        journal.close()
        os.utime(lock_path(journal.path), (NOW - days * DAY,) * 2)
    return tmp_path


def names(folder: Path, **conditions: object) -> list[str]:
    journals = [describe_journal(path) for path in find_journals(folder)]
    chosen = choose_to_prune(journals, NOW, **conditions)  # type: ignore[arg-type]
    return [one.models[0].removeprefix("org/").removesuffix("-model") for one in chosen]


def test_conditions(folder: Path) -> None:
    size = sum(describe_journal(path).size for path in find_journals(folder))
    assert names(folder, older_than=9 * DAY) == ["large", "medium"]
    assert names(folder, model="SMALL") == ["small"]
    assert names(folder, model="*m") == []
    assert names(folder, model="org/*m*-model") == ["medium", "small"]
    assert names(folder, max_size=size) == []
    assert names(folder, max_size=size - 1) == ["large"]
    assert names(folder, max_size=0) == ["large", "medium", "small", "ahead"]
    assert names(folder, max_size=0, older_than=20 * DAY) == ["large"]


def test_a_journal_in_use_stays(folder: Path) -> None:
    run = Journal(folder, "large")
    assert "large" not in names(folder, max_size=0)
    with pytest.raises(JournalError, match="is used by a run"):
        remove_journal(run.path)
    run.write([("another", answer_to("00000002"))])
    assert len(run.read(["k", "another"])) == 2
    run.close()


def test_nothing_of_a_removed_journal_stays(folder: Path) -> None:
    path = find_journals(folder)[0]
    Path(f"{path}-wal").write_bytes(b"left by a killed run")
    before = len(list(folder.iterdir()))
    remove_journal(path)
    assert len(list(folder.iterdir())) == before - 3
    assert not [file for file in folder.iterdir() if file.name.startswith(path.stem)]


def test_using_a_journal_makes_it_younger(folder: Path) -> None:
    before = {path: describe_journal(path).last_used for path in find_journals(folder)}
    journal = Journal(folder, "large")
    journal.close()
    changed = [path for path in before if describe_journal(path).last_used != before[path]]
    assert changed == [journal.path]


@pytest.mark.parametrize(
    ("given", "size"),
    [("10G", 10 << 30), ("1.5GB", 3 << 29), ("500MiB", 500 << 20), ("7", 7), ("2k", 2048)],
)
def test_sizes(given: str, size: int) -> None:
    assert read_size(given) == size


@pytest.mark.parametrize("given", ["", "G", "x", "-1G", "nan", "inf", "1e999", "10X"])
def test_what_is_no_size(given: str) -> None:
    with pytest.raises(ConfigError, match="not understood"):
        read_size(given)


@pytest.mark.parametrize(("given", "days"), [("12h", 0.5), ("30d", 30), ("2W", 14)])
def test_ages(given: str, days: float) -> None:
    assert read_age(given) == days * DAY


@pytest.mark.parametrize("given", ["", "d", "30", "-1d", "nand", "30m"])
def test_what_is_no_age(given: str) -> None:
    with pytest.raises(ConfigError, match="not understood"):
        read_age(given)


def test_a_journal_by_the_beginning_of_its_name(folder: Path) -> None:
    path = find_journals(folder)[0]
    assert choose_journal(path.stem[:6], folder) == choose_journal(str(path), folder) == path
    for wrong in ("", "zz", "nowhere.sqlite"):
        with pytest.raises(JournalError, match="journal"):
            choose_journal(wrong, folder)
