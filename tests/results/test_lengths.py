"""Lengths of answers and thoughts, worked by hand."""

from tenbin.records import Failure, Response, Text
from tenbin.results.samples import Lengths
from tenbin.results.schema import GenerationLengths

CLOSED = Text("B", "end", 2, thinking="so", thinking_tokens=10, thinking_end="closed")
OPEN = Text("", "length", 0, thinking="so", thinking_tokens=30, thinking_end="open")
PLAIN = Text("B", "length", 4)


def measured_lengths(responses: list[Response], thinks: bool) -> GenerationLengths:
    lengths = Lengths()
    for response in responses:
        lengths.add(response)
    return lengths.entry(thinks)


def test_means_over_answers_and_not_over_failures() -> None:
    assert measured_lengths([CLOSED, OPEN, PLAIN, Failure("x", "y")], True).to_json() == {
        "answers": 3,
        "answer_tokens": 2.0,
        "cut_answers": 2,
        "thinking_tokens": 40 / 3,
        "thoughts": {"none": 1, "closed": 1, "budget": 0, "open": 1},
    }


def test_without_thoughts() -> None:
    found = measured_lengths([PLAIN], False)
    assert (found.answer_tokens, found.thinking_tokens, found.thoughts) == (
        4.0,
        None,
        None,
    )
    assert measured_lengths([], True).thinking_tokens is None


def test_a_server_that_keeps_thoughts_apart_without_being_asked() -> None:
    assert measured_lengths([CLOSED], False).thinking_tokens == 10.0


def test_thoughts_that_nobody_counted_leave_both_lengths_unknown() -> None:
    """The server's count of the answer holds the thought too."""
    blind = Text("B", "end", 50, thinking="so", thinking_tokens=0, thinking_end="closed")
    found = measured_lengths([CLOSED, blind], True)
    assert found.answer_tokens is found.thinking_tokens is None
    assert found.thoughts is not None and found.thoughts["closed"] == 2
