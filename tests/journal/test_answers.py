"""The answers of one run: in the journal, or beside it where nobody keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.errors import BackendError
from tenbin.journal.answers import Answers
from tenbin.journal.store import Journal
from tenbin.records import Failure, Response
from tests.journal.test_store import ANSWERS

FAILED = Failure("timeout", "too slow", retryable=True)
ALL: dict[str, Response] = {**ANSWERS, "f": FAILED}


@pytest.mark.parametrize("keeps", [True, False])
def test_everything_written_is_read(tmp_path: Path, keeps: bool) -> None:
    answers = Answers(Journal(tmp_path, "model") if keeps else None)
    answers.write(list(ALL.items())[:2])
    answers.write(list(ALL.items())[2:])
    assert answers.read(list(ALL)) == ALL
    assert answers.find(["f", "unknown"]) == {"f": FAILED}
    answers.close()


def test_only_the_journal_outlives_a_run(tmp_path: Path) -> None:
    answers = Answers(Journal(tmp_path, "model"))
    answers.write(list(ALL.items()))
    answers.close()
    later = Answers(Journal(tmp_path, "model"))
    assert later.known(list(ALL)).keys() == ANSWERS.keys()
    assert Answers(None).known(list(ALL)) == {}


def test_many_answers_at_once() -> None:
    answers = Answers(None)
    failed: dict[str, Response] = {f"k{at}": Failure("x", str(at)) for at in range(1_700)}
    answers.write(list(failed.items()))
    assert answers.read(list(failed)) == failed


def test_an_answer_that_is_gone_is_named_with_its_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "model")
    answers = Answers(journal)
    answers.write(list(ANSWERS.items()))
    with pytest.raises(BackendError, match=r"1 answers are no longer in .*sqlite"):
        answers.read([*ANSWERS, "gone"])
