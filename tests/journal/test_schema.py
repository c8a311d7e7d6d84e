"""Journals of an older tenbin are brought up to date: whole, once, whatever happens meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tenbin.errors import JournalError
from tenbin.journal import schema
from tenbin.journal.store import Journal
from tests.journal.made import (
    COUNT,
    FINGERPRINT,
    Told,
    answer_all,
    answer_to,
    journal_file,
    make_queue,
    run_on,
)

# What tenbin wrote before tables had a version.
TABLE_BEFORE = (
    "CREATE TABLE IF NOT EXISTS answers ("
    "fingerprint TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, "
    "payload TEXT NOT NULL, PRIMARY KEY (fingerprint, key)) WITHOUT ROWID"
)
KEYS = [one.key for one in make_queue().open()]


def make_old(folder: Path) -> Path:
    """A journal of version 0, with the answers that are expected."""
    journal = Journal(folder, FINGERPRINT)
    journal.write([(key, answer_to(key)) for key in KEYS])
    journal.close()
    with closing(sqlite3.connect(journal.path)) as connection, connection:
        rows = connection.execute("SELECT fingerprint, key, kind, payload FROM answers").fetchall()
    journal.path.unlink()
    with closing(sqlite3.connect(journal.path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(TABLE_BEFORE)
        connection.executemany("INSERT INTO answers VALUES (?, ?, ?, ?)", rows)
    return journal.path


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_an_old_journal_is_read_and_gets_digests(tmp_path: Path) -> None:
    path = make_old(tmp_path)
    told = Told()
    answers, model, given = run_on(tmp_path, told)
    assert model.asked == 0 and answers == {key: answer_to(key) for key in KEYS}
    assert told.said[0] == f"bringing the journal {path} up to date, once"
    assert version(path) == schema.VERSION
    assert [(one.answers, one.description) for one in given] == [(COUNT, None)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE answers SET payload = replace(payload, '1', '2')")
    answers, model = answer_all(tmp_path, again := Told())
    assert model.asked > 0 and answers == {key: answer_to(key) for key in KEYS}
    assert "damaged" in again.said[0]


def test_answers_that_cannot_be_read_stay_behind(tmp_path: Path) -> None:
    path = make_old(tmp_path)
    broken = ['{"logprob": NaN, "token_count": 1}', "{", '{"text": 5}', "[]"]
    with closing(sqlite3.connect(path)) as connection, connection:
        for key, payload in zip(KEYS, broken, strict=False):
            change = "UPDATE answers SET payload = ?, kind = 'rolled' WHERE key = ?"
            connection.execute(change, (payload, key))
        connection.execute("UPDATE answers SET payload = x'ff00' WHERE key = ?", (KEYS[4],))
    answers, model = answer_all(tmp_path, told := Told())
    assert answers == {key: answer_to(key) for key in KEYS} and model.asked == 5
    assert f"5 of {COUNT} answers in it are damaged and will be asked again" in told.said


def test_a_damaged_old_journal_is_not_upgraded(tmp_path: Path) -> None:
    path = make_old(tmp_path)
    content = bytearray(path.read_bytes())
    content[4096 * 2 + 3 : 4096 * 2 + 5] = b"\0\xff"  # cells of a page
    path.write_bytes(content)
    with pytest.raises(JournalError, match="is damaged") as got:
        answer_all(tmp_path)
    assert "tenbin journal repair" in got.value.hint
    assert path.read_bytes() == content


def upgrade_and_die(folder: Path) -> None:
    """End the process as a kill would, once some rows were moved."""
    count = 0

    def dies(*row: bytes) -> bytes | None:
        nonlocal count
        count += 1
        if count == 10:
            os._exit(9)
        return b"x" * 16

    schema._digest_where_whole = dies
    Journal(folder, FINGERPRINT)


def upgrade(folder: Path) -> None:
    answers, model = answer_all(folder)
    assert len(answers) == COUNT and model.asked == 0


def test_a_crash_in_the_middle_leaves_the_old_journal(tmp_path: Path) -> None:
    path = make_old(tmp_path)
    process = multiprocessing.get_context("fork").Process(target=upgrade_and_die, args=(tmp_path,))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    assert version(path) == 0
    upgrade(tmp_path)


def test_processes_upgrade_side_by_side(tmp_path: Path) -> None:
    make_old(tmp_path)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=upgrade, args=(tmp_path,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert version(journal_file(tmp_path)) == schema.VERSION


def create(folder: Path, number: int) -> None:
    journal = Journal(folder, FINGERPRINT)
    journal.write([(f"{number}", answer_to("00000001"))])
    journal.close()


def test_processes_create_a_journal_side_by_side(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=create, args=(tmp_path, n)) for n in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 6
    assert len(Journal(tmp_path, FINGERPRINT).read([str(n) for n in range(6)])) == 6
