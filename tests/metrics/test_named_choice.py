"""A choice that was named becomes an outcome; one that was not is wrong, and counted."""

from __future__ import annotations

import pytest

from tenbin.errors import TaskError
from tenbin.metrics.choice import find_label
from tenbin.metrics.judge import judge
from tenbin.records import Picked
from tests.metrics.samples import make_choice_prompt, make_scores, make_task

PROMPT = make_choice_prompt("stone", "apple", "Tuesday", gold=1)
LETTERS = ("A", "B", "C")
TASK = make_task("choice", ["acc", "mcc", "no_choice"])


def values(picked: Picked) -> list[float | None]:
    return [outcome.value for outcome in judge(TASK, PROMPT, picked)]


def test_a_first_token_needs_no_reading() -> None:
    picked = Picked(
        1, "letter_logprobs", "A, of course", labels=LETTERS, logprobs=(None, -1.0, -2.0)
    )
    outcomes = judge(TASK, PROMPT, picked)
    assert [one.value for one in outcomes] == [1.0, 1.0, 0.0]
    assert (outcomes[0].answer, outcomes[0].predicted, outcomes[0].gold) == ("apple", 1, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", [1.0, 1.0, 0.0]),
        ("The answer is B. A and C are wrong.", [1.0, 1.0, 0.0]),
        ("A.", [0.0, 0.0, 0.0]),
        ("I cannot tell.", [0.0, 0.0, 1.0]),
        ("", [0.0, 0.0, 1.0]),
    ],
)
def test_a_text_is_read_as_those_of_generation_tasks(text: str, expected: list[float]) -> None:
    picked = Picked(None, "generated", text, labels=LETTERS, added="\n\nA. stone …")
    assert values(picked) == expected


def test_what_could_not_be_read_has_no_answer() -> None:
    outcome = judge(TASK, PROMPT, Picked(None, "generated", "who knows", labels=LETTERS))[0]
    assert (outcome.value, outcome.answer, outcome.predicted) == (0.0, None, None)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("2", 2),
        ("２。", 2),
        ("2.光合成", 2),
        ("答えは2です。", 2),
        ("3: because 0 and 1 are wrong", 3),
        ("1と2", None),
        ("12", None),
        ("1.5", None),
        ("2つの理由から3です", None),
        ("光合成", None),
        ("", None),
    ],
)
def test_labels_that_are_no_letters(text: str, index: int | None) -> None:
    assert find_label(text, ("0", "1", "2", "3", "4")) == index


def test_metrics_of_likelihoods_refuse_a_name() -> None:
    with pytest.raises(TaskError, match="needs the log-likelihoods"):
        judge(
            make_task("choice", ["acc_norm"]), PROMPT, Picked(1, "generated", "B", labels=LETTERS)
        )


def test_scored_choices_always_have_a_likeliest_one() -> None:
    outcomes = judge(TASK, PROMPT, make_scores(-3.0, -2.0, -1.0))
    assert [one.value for one in outcomes] == [0.0, 0.0, 0.0]
