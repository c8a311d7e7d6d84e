"""Plain comparison, and the filters that come before it."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.errors import TaskError
from tenbin.metrics import filters
from tenbin.metrics.registry import find_metric
from tenbin.metrics.text import exact_match, format_failure


@pytest.mark.parametrize(
    ("answer", "references", "options", "expected"),
    [
        ("B", ["B"], {}, 1.0),
        ("B", ["A", "B"], {}, 1.0),
        ("b", ["B"], {}, 0.0),
        ("b", ["B"], {"ignore_case": True}, 1.0),
        ("B.", ["B"], {"ignore_punctuation": True}, 1.0),
        ("B1", ["B2"], {"ignore_numbers": True}, 1.0),
        ("$1,000", ["1000"], {"regexes_to_ignore": [",", r"\$"]}, 1.0),
        # Patterns are taken out before the case is lowered, as lm-eval does.
        ("The X", ["x"], {"regexes_to_ignore": ["The "], "ignore_case": True}, 1.0),
        ("B", [], {}, 0.0),
    ],
)
def test_exact_match(
    answer: str, references: list[str], options: dict[str, Any], expected: float
) -> None:
    assert exact_match(answer, references, **options) == expected


def test_format_failure() -> None:
    assert format_failure("", ["B"]) == 0.0
    assert find_metric("format_failure").unread == 1.0
    assert find_metric("exact_match").unread == 0.0


@pytest.mark.parametrize(
    ("steps", "text", "expected"),
    [
        ([], "x", "x"),
        ([("lowercase", {})], "Xy", "xy"),
        ([("uppercase", {})], "Xy", "XY"),
        ([("remove_whitespace", {})], "  x ", "x"),
        ([("strip", {})], "  x ", "x"),
        ([("strip", {"characters": "."})], ".x.", "x"),
        ([("regex_strip", {"regex_pattern": r"^Answer:\s*"})], "Answer: x", "x"),
        ([("regex", {"regex_pattern": r"(\d+)"})], "1 then 2", "1"),
        ([("regex", {"regex_pattern": r"(\d+)", "group_select": -1})], "1 then 2", "2"),
        ([("regex", {"regex_pattern": r"a(\d)|b(\d)"})], "b7", "7"),
        ([("regex", {"regex_pattern": r"(\d+)"})], "none", None),
        ([("regex", {"regex_pattern": r"(\d+)", "fallback": "0"})], "none", "0"),
        ([("regex", {"regex_pattern": r"(\d+)"}), ("lowercase", {})], "none", None),
        ([("choice_letter_strict", {}), ("lowercase", {})], "{'answer': 'B'}", "b"),
        ([("choice_letter_flexible", {}), ("take_first", {})], "答えはCです", "C"),
    ],
)
def test_filters(steps: list[tuple[str, dict[str, Any]]], text: str, expected: str | None) -> None:
    filters.check(tuple(steps))
    assert filters.apply(tuple(steps), [text], "ja", 4) == [expected]


def test_filters_know_how_many_choices_there_are() -> None:
    steps = (("choice_letter_flexible", {}),)
    assert filters.apply(steps, ["The answer is E."], "en", choices=5) == ["E"]
    assert filters.apply(steps, ["The answer is E."], "en", 4) == [None]
    with pytest.raises(TaskError, match="how many options"):
        filters.apply(steps, ["The answer is E."], "en")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (("nope", {}), "unknown filter"),
        (("lowercase", {"locale": "tr"}), "no option .locale"),
        (("regex", {"regex_pattern": "("}), "not a valid"),
    ],
)
def test_bad_filters_are_refused(step: tuple[str, dict[str, Any]], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        filters.check((step,))
