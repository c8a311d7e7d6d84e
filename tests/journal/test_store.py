"""The journal: what is written is read back, by this model only, by many processes."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenbin.errors import JournalError
from tenbin.journal.store import Journal
from tenbin.records import Failure, Picked, Response, Rolled, Scores, Text, Usage

ANSWERS = {
    "a": Scores((-1.25, -0.1 - 0.2), (1, 2), (True, False), 3),
    "b": Text("答え\n\0\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), "stop", 4),
    "c": Rolled(-123.456789012345678, 9),
    "d": Picked(1, "letter_logprobs", "B", (None, -0.25), Usage(100, 1, 96, 2)),
    "e": Text("B", "end", 1, thinking="まず…", thinking_tokens=3, usage=Usage(10, 5)),
}


def test_answers_come_back_exactly(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "model")
    for key, answer in ANSWERS.items():
        journal.write([(key, answer)])
    journal.close()
    assert Journal(tmp_path, "model").read([*ANSWERS, "unknown"]) == ANSWERS


def test_failures_are_asked_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "model")
    journal.write([("a", Failure("timeout", "too slow", retryable=True))])
    assert journal.read(["a"]) == {}


def test_the_first_answer_stays(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "model")
    journal.write([("a", ANSWERS["a"])])
    journal.write([("a", Text("other", "end", 1))])
    assert journal.read(["a"]) == {"a": ANSWERS["a"]}


def test_another_model_sees_nothing(tmp_path: Path) -> None:
    Journal(tmp_path, "model-a").write([("a", ANSWERS["a"])])
    assert Journal(tmp_path, "model-b").read(["a"]) == {}


def test_many_keys(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "model")
    for number in range(1_700):
        journal.write([(f"k{number}", Rolled(float(number), 1))])
    assert len(journal.read([f"k{number}" for number in range(2_000)])) == 1_700


def _write(folder: Path, worker: int) -> None:
    journal = Journal(folder, "model")
    for number in range(200):
        journal.write([(f"{worker}-{number}", Rolled(float(number), 1))])
    journal.close()


def test_processes_write_side_by_side(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(tmp_path, i)) for i in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    keys = [f"{worker}-{number}" for worker in range(3) for number in range(200)]
    assert len(Journal(tmp_path, "model").read(keys)) == 600


def test_a_full_disk_is_said_and_what_was_written_stays(tmp_path: Path) -> None:
    """SQLite's limit on pages stands in for the disk: it ends the transaction in the same way."""
    journal = Journal(tmp_path, "model")
    journal.write([("a", ANSWERS["a"])])
    journal._connection.execute("PRAGMA max_page_count=8")
    with pytest.raises(JournalError, match="no space is left on the disk"):
        journal.write([(f"k{at}", Text("長" * 3_000, "end", 1)) for at in range(50)])
    assert journal.read(["a", "k0"]) == {"a": ANSWERS["a"]}


def test_write_ahead_log(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "model")
    with sqlite3.connect(journal.path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_portion_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    def broken() -> Iterator[tuple[str, Response]]:
        yield "a", ANSWERS["a"]
        yield "b", object()  # type: ignore[misc]

    journal = Journal(tmp_path, "model")
    with pytest.raises(KeyError):
        journal.write(broken())
    # Text that SQLite cannot take: the first row of the portion must go with it.
    with pytest.raises(UnicodeEncodeError):
        journal.write([("a", ANSWERS["a"]), ("\ud83d", ANSWERS["b"])])
    assert journal.read(["a", "b"]) == {}
    journal.write([("a", ANSWERS["a"]), ("b", ANSWERS["b"])])
    assert set(journal.read(["a", "b"])) == {"a", "b"}
