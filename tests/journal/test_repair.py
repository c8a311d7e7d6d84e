"""A damaged journal: what is whole is saved, the rest is asked again, and no run is disturbed."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tenbin.errors import JournalError
from tenbin.journal.check import check_journal
from tenbin.journal.repair import find_kept, repair_journal
from tenbin.journal.show import describe_journal, find_journals
from tenbin.journal.store import Journal
from tests.journal.made import (
    COUNT,
    DESCRIPTION,
    FINGERPRINT,
    answer_all,
    answer_to,
    journal_file,
    make_queue,
    run_on,
)
from tests.journal.test_damage import PAGE, changes
from tests.journal.test_schema import make_old

KEYS = [one.key for one in make_queue().open()]
EXPECTED = {key: answer_to(key) for key in KEYS}


def make(folder: Path) -> Path:
    answer_all(folder)
    return journal_file(folder)


def test_a_journal_that_is_whole_is_left_alone(tmp_path: Path) -> None:
    path = make(tmp_path)
    before = path.read_bytes()
    checked = check_journal(path)
    assert checked.is_whole and (checked.good, checked.bad) == (COUNT, 0)
    assert repair_journal(path).kept is None
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        path.with_suffix(".lock").name,
        path.name,
    ]


def test_bad_rows_are_counted_and_left_behind(tmp_path: Path) -> None:
    path = make(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE answers SET payload = '{}' WHERE key IN (?, ?)", KEYS[:2])
        connection.execute("UPDATE answers SET source = 7 WHERE key = ?", KEYS[2:3])
    checked = check_journal(path)
    assert (checked.good, checked.bad, checked.is_whole) == (COUNT - 3, 3, False)
    assert checked.reasons == ("3: its digest is another",)
    repaired = repair_journal(path)
    assert repaired.saved == COUNT - 3 and repaired.kept == Path(f"{path}.damaged")
    assert check_journal(path).is_whole
    answers, model = answer_all(tmp_path)
    assert answers == EXPECTED and model.asked == 3


@pytest.mark.parametrize("page", [0, 1, 2, 3])
def test_a_lost_page_costs_its_own_answers(tmp_path: Path, page: int) -> None:
    path = make(tmp_path)
    content = bytearray(path.read_bytes())
    content[page * PAGE : (page + 1) * PAGE] = random.Random(page).randbytes(PAGE)
    path.write_bytes(content)
    damaged = bytes(content)
    assert not check_journal(path).is_whole
    repaired = repair_journal(path)
    # The first page holds the header and the schema: no answer at all.
    assert repaired.saved == COUNT if page == 0 else COUNT // 3 < repaired.saved <= COUNT
    assert repaired.kept is not None and repaired.kept.read_bytes() == damaged
    answers, model, given = run_on(tmp_path)
    assert answers == EXPECTED and model.asked == COUNT - repaired.saved
    if page == 0:
        assert [one.description for one in given] == [DESCRIPTION]


def test_any_damage_can_be_repaired(tmp_path: Path) -> None:
    """And what is saved is true: whatever is left after a repair are answers that were given."""
    path = make(tmp_path)
    whole = path.read_bytes()
    some = random.Random(5).sample(list(changes(len(whole), seed=9)), 60)
    for at, change in enumerate(some):
        folder = tmp_path / str(at)
        folder.mkdir()
        content = bytearray(whole)
        change(content)
        (folder / path.name).write_bytes(content)
        repaired = repair_journal(folder / path.name)
        journal = Journal(folder, FINGERPRINT)
        found = journal.read(KEYS)
        journal.close()
        assert found == {key: EXPECTED[key] for key in found}
        assert len(found) == repaired.saved
        assert check_journal(folder / path.name).is_whole


def test_answers_in_the_log_of_a_killed_run_are_saved(tmp_path: Path) -> None:
    first = tmp_path / "first"
    journal = Journal(first, FINGERPRINT)
    journal.write([(key, EXPECTED[key]) for key in KEYS])
    copy = tmp_path / "copy" / journal.path.name
    copy.parent.mkdir()
    log = bytearray(Path(f"{journal.path}-wal").read_bytes())
    log[:32] = bytes(32)  # without its header SQLite throws the log away
    Path(f"{copy}-wal").write_bytes(log)
    copy.write_bytes(b"torn" * 1000)
    journal.close()
    repaired = repair_journal(copy)
    assert repaired.saved == COUNT
    assert Path(f"{repaired.kept}-wal").read_bytes() == log
    assert answer_all(copy.parent)[0] == EXPECTED


def test_damaged_files_are_kept_side_by_side(tmp_path: Path) -> None:
    path = make(tmp_path)
    for _ in range(2):
        path.write_bytes(b"x" * 5000)
        repair_journal(path)
    names = [kept.name for kept in find_kept(tmp_path)]
    assert names == [f"{path.name}.damaged", f"{path.name}.damaged-2"]
    assert find_journals(tmp_path) == [path]


def test_nothing_of_a_damaged_journal_without_digests_is_trusted(tmp_path: Path) -> None:
    path = make_old(tmp_path)
    checked = check_journal(path)
    assert checked.is_whole and not checked.has_digests
    content = bytearray(path.read_bytes())
    content[PAGE * 2 : PAGE * 2 + 8] = b"\xff" * 8
    path.write_bytes(content)
    assert repair_journal(path).saved == 0
    answers, model = answer_all(tmp_path)
    assert answers == EXPECTED and model.asked == COUNT


def test_a_journal_in_use_is_not_repaired(tmp_path: Path) -> None:
    path = make(tmp_path)
    run = Journal(tmp_path, FINGERPRINT)
    assert describe_journal(path).is_used
    with pytest.raises(JournalError, match="is used by a run that is going on"):
        repair_journal(path)
    run.close()
    assert not describe_journal(path).is_used
    assert repair_journal(path).kept is None


def test_a_repair_that_fails_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(JournalError, match="no space is left on the disk"):
        repair_journal(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
