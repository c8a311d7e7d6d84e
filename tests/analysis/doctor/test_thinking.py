"""What the marks in a model's files mean for generation tasks."""

from tenbin.analysis.doctor.thinking import judge_thoughts
from tenbin.records import Thinking

MARKS = ("<think>", "</think>")


def test_a_model_that_thinks_run_as_if_it_did_not() -> None:
    (found,) = judge_thoughts("generate", None, MARKS, 7)
    assert (found.code, found.severity, found.count, found.n) == (
        "thoughts_in_answers",
        "warning",
        7,
        7,
    )
    assert "--thinking on" in found.remedy


def test_other_marks_than_its_own() -> None:
    (found,) = judge_thoughts("generate", Thinking("[T]", "[/T]"), MARKS, 7)
    assert found.code == "other_marks"
    assert found.remedy == "give --thinking '<think>,</think>'"


def test_nothing_to_say() -> None:
    assert judge_thoughts("generate", Thinking(), MARKS, 7) == []
    assert judge_thoughts("generate", None, None, 7) == []
    assert judge_thoughts("generate", Thinking(), None, 7) == []
    # Likelihoods are asked without a thought in any case.
    assert judge_thoughts("choice", None, MARKS, 7) == []
