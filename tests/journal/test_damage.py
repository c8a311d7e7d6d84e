"""A journal with any bit, byte or page changed gives the same answers or a clear error."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tenbin.errors import BackendError, JournalError
from tenbin.journal.store import Journal
from tenbin.records import Response
from tests.journal.made import (
    COUNT,
    FINGERPRINT,
    Told,
    answer_all,
    answer_to,
    journal_file,
    make_queue,
)

PAGE = 4096
Change = Callable[[bytearray], None]


@dataclass(frozen=True)
class Whole:
    """The bytes of an undamaged journal, and what it answers."""

    name: str
    files: dict[str, bytes]
    answers: dict[str, Response]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """One that a run has closed: all is in the database."""
    folder = tmp_path_factory.mktemp("closed")
    answers, _ = answer_all(folder)
    path = journal_file(folder)
    assert not path.with_name(f"{path.name}-wal").exists()
    return Whole(path.name, {"": path.read_bytes()}, answers)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """One as a killed run leaves it: half of its answers are in the write-ahead log."""
    folder = tmp_path_factory.mktemp("killed")
    keys = [one.key for one in make_queue().open()]
    journal = Journal(folder, FINGERPRINT)
    journal.write([(key, answer_to(key)) for key in keys[:20]])
    journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for at in range(20, COUNT, 5):
        journal.write([(key, answer_to(key)) for key in keys[at : at + 5]])
    files = {end: journal.path.with_name(journal.path.name + end).read_bytes() for end in
             ("", "-wal")}  # fmt: skip
    journal.close()
    return Whole(journal.path.name, files, {key: answer_to(key) for key in keys})


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk that is memory where there is one: hundreds of journals are written."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def flip(at: int, bit: int) -> Change:
    def change(data: bytearray) -> None:
        data[at] ^= 1 << bit

    return change


def overwrite(start: int, content: bytes) -> Change:
    def change(data: bytearray) -> None:
        data[start : start + len(content)] = content

    return change


def cut(length: int) -> Change:
    def change(data: bytearray) -> None:
        del data[length:]

    return change


def changes(size: int, seed: int) -> Iterator[Change]:
    """Damage of every kind, most of it where the structure of the file is."""
    chance = random.Random(seed)
    for at in range(100):
        yield flip(at, chance.randrange(8))
    for start in range(0, size, PAGE):
        for at in range(12):
            yield flip(min(start + at, size - 1), chance.randrange(8))
    for _ in range(150):
        yield flip(chance.randrange(size), chance.randrange(8))
    for _ in range(40):
        start = chance.randrange(size)
        yield overwrite(start, chance.randbytes(min(chance.choice((1, 2, 8, 300)), size - start)))
    for start in range(0, size - PAGE, PAGE):
        yield overwrite(start, bytes(PAGE))
        yield overwrite(start, chance.randbytes(PAGE))
    for length in (0, 1, 50, 99, 100, 511, PAGE, PAGE + 1, size // 2, size - PAGE, size - 1):
        yield cut(min(length, size))


def outcome_of(whole: Whole, part: str, change: Change, folder: Path) -> str:
    """What a run on the damaged journal comes to; any other exception, or answer, is a failure."""
    folder.mkdir()
    for end, content in whole.files.items():
        data = bytearray(content)
        if end == part:
            change(data)
        (folder / f"{whole.name}{end}").write_bytes(data)
    told = Told()
    try:
        answers, model = answer_all(folder, told)
    except (JournalError, BackendError) as error:
        assert error.hint and str(folder) in error.message and "\n" not in error.message
        return "error"
    finally:
        shutil.rmtree(folder)
    assert answers == whole.answers
    if any("damaged" in line for line in told.said):
        return "damaged rows asked again"
    return "asked again" if model.asked else "same"


def test_damage_to_the_database_never_changes_an_answer(closed: Whole, in_memory: Path) -> None:
    size = len(closed.files[""])
    seen = Counter(
        outcome_of(closed, "", change, in_memory / str(at))
        for at, change in enumerate(changes(size, seed=1))
    )
    # Each of these can happen, and does.
    assert {"same", "damaged rows asked again", "error"} <= set(seen), seen
    assert seen.total() > 400


@pytest.mark.parametrize("part", ["", "-wal"])
def test_damage_after_a_kill_never_changes_an_answer(
    killed: Whole, in_memory: Path, part: str
) -> None:
    size = len(killed.files[part])
    chance = random.Random(3)
    damage = [flip(at, chance.randrange(8)) for at in range(0, 60)]
    damage += [flip(chance.randrange(size), chance.randrange(8)) for _ in range(60)]
    damage += [overwrite(chance.randrange(size - 64), chance.randbytes(64)) for _ in range(20)]
    damage += [cut(chance.randrange(size)) for _ in range(20)]
    seen = Counter(
        outcome_of(killed, part, change, in_memory / str(at)) for at, change in enumerate(damage)
    )
    assert seen["asked again"] + seen["damaged rows asked again"] + seen["same"] > 0, seen


def test_an_edited_answer_is_dropped_counted_said_and_asked_again(
    closed: Whole, tmp_path: Path
) -> None:
    path = tmp_path / closed.name
    path.write_bytes(closed.files[""])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE answers SET payload = replace(payload, '-1.5', '-0.5')")
        edited = connection.execute("SELECT count(*) FROM answers WHERE payload LIKE '%-0.5%'")
        count = edited.fetchone()[0]
    assert count > 5
    told = Told()
    answers, model = answer_all(tmp_path, told)
    assert answers == closed.answers and model.asked == count
    assert told.said[0] == f"{count} answers in {path} are damaged: they are asked again"
    _, again = answer_all(tmp_path)
    assert again.asked == 0


@pytest.mark.parametrize("column", ["kind", "key", "fingerprint", "source", "digest"])
def test_every_column_is_covered(closed: Whole, tmp_path: Path, column: str) -> None:
    path = tmp_path / closed.name
    path.write_bytes(closed.files[""])
    change = {
        "kind": "UPDATE answers SET kind = CASE kind WHEN 'text' THEN 'rolled' ELSE 'text' END",
        "source": "UPDATE answers SET source = source + 1",
        "digest": "UPDATE answers SET digest = zeroblob(16)",
    }.get(column)
    first, second = sorted(closed.answers)[:2]
    with closing(sqlite3.connect(path)) as connection, connection:
        if column == "fingerprint":
            connection.execute("UPDATE answers SET fingerprint = 'another'")
        elif column == "key":  # the answers of two requests, changed for one another
            swap = "UPDATE answers SET key = ? WHERE key = ?"
            for new, old in (("x", first), (first, second), (second, "x")):
                connection.execute(swap, (new, old))
        else:
            assert change is not None
            connection.execute(change)
    answers, model = answer_all(tmp_path)
    assert answers == closed.answers
    assert model.asked == (2 if column == "key" else COUNT)


def test_a_newer_version_is_refused_by_name(closed: Whole, tmp_path: Path) -> None:
    path = tmp_path / closed.name
    path.write_bytes(closed.files[""])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=99")
    with pytest.raises(JournalError, match=r"has version 99, and this tenbin knows up to 1") as got:
        answer_all(tmp_path)
    assert str(path) in got.value.message and "newer tenbin" in got.value.hint


@pytest.mark.parametrize(
    "extra",
    [
        "CREATE TRIGGER changes AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
        "CREATE VIEW other AS SELECT * FROM answers",
        "CREATE TABLE more (x)",
    ],
)
def test_a_file_with_other_tables_is_no_journal(closed: Whole, tmp_path: Path, extra: str) -> None:
    path = tmp_path / closed.name
    path.write_bytes(closed.files[""])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(extra)
    with pytest.raises(JournalError, match="its tables are not those of a journal"):
        answer_all(tmp_path)


def test_a_file_that_is_no_database(tmp_path: Path, closed: Whole) -> None:
    (tmp_path / closed.name).write_bytes(b"not at all " * 500)
    with pytest.raises(JournalError, match="is damaged: file is not a database") as got:
        answer_all(tmp_path)
    assert f"tenbin journal repair {tmp_path / closed.name}" in got.value.hint
