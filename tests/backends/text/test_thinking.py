"""Thought and answer told apart, worked by hand."""

import pytest

from tenbin.backends.text.thinking import (
    Split,
    cut_at_stops,
    opens_thinking,
    split_thinking,
)
from tenbin.records import Thinking

THINK = Thinking()
PLAIN = "Q: 1 + 1?\nA:"
OPENED = "<user>1 + 1?</user><assistant><think>\n"


@pytest.mark.parametrize(
    ("written", "thought", "answer"),
    [
        ("<think>one and one</think>2", "one and one", "2"),
        ("<think>\none and one\n</think>\n\n2", "one and one", "2"),
        ("\n <think>a</think> 2 ", "a", "2 "),
        # Models that are told not to think write an empty thought.
        ("<think>\n\n</think>\n\n2", "", "2"),
        ("<think>a</think>\n<think>b</think>2", "a\n\nb", "2"),
        # The first closing mark ends a thought, whatever was opened in it.
        ("<think>a <think> b</think>2</think>", "a <think> b", "2</think>"),
        ("<think>a</think>", "a", ""),
        ("<think>a</think>\n\n", "a", ""),
    ],
)
def test_a_thought_before_the_answer(written: str, thought: str, answer: str) -> None:
    for prompt in (PLAIN, None):
        assert split_thinking(written, THINK, prompt) == Split(thought, answer, "closed")


@pytest.mark.parametrize(
    "written",
    [
        "2",
        "\n2",
        "",
        "  ",
        "2 <think>or 3</think>",
        "2 is what <think> gives",
        "<thin",
        "< think>2",
    ],
)
def test_without_a_thought_a_text_stays_as_it_is(written: str) -> None:
    for prompt in (PLAIN, None):
        assert split_thinking(written, THINK, prompt) == Split("", written, "none")


@pytest.mark.parametrize("written", ["<think>so", "\n<think>\nso </think", "<think>so\n<think>"])
def test_a_thought_that_is_never_closed_has_no_answer(written: str) -> None:
    found = split_thinking(written, THINK, PLAIN)
    assert found.thinking.startswith("so")
    assert (found.answer, found.end) == ("", "open")


def test_a_thought_that_the_prompt_opened() -> None:
    assert split_thinking("sum\n</think>\n\n2", THINK, OPENED) == Split("sum", "2", "closed")
    # Without a closing mark all of it is thought.
    assert split_thinking("the answer is 2", THINK, OPENED) == Split("the answer is 2", "", "open")
    assert split_thinking("", THINK, OPENED) == Split("", "", "open")
    # Some models repeat the mark.
    assert split_thinking("<think>sum</think>2", THINK, OPENED) == Split("sum", "2", "closed")
    assert split_thinking("a</think><think>b</think>2", THINK, OPENED).thinking == "a\n\nb"


def test_a_closing_mark_that_nothing_opened() -> None:
    """Known to be an answer where the prompt is seen; the end of a thought where it is not."""
    assert split_thinking("so </think> 2", THINK, PLAIN) == Split("", "so </think> 2", "none")
    assert split_thinking("so </think> 2", THINK, None) == Split("so", "2", "closed")
    assert split_thinking("x <think> so </think> 2", THINK, None).end == "none"


def test_other_marks() -> None:
    marks = Thinking("<seed:think>", "</seed:think>")
    assert split_thinking("<seed:think>a</seed:think>2", marks, None) == Split("a", "2", "closed")
    assert split_thinking("<think>a</think>2", marks, PLAIN).end == "none"
    alike = Thinking("|", "|")
    assert split_thinking("|a|2|", alike, PLAIN) == Split("a", "2|", "closed")


def test_whether_a_prompt_opens_a_thought() -> None:
    assert opens_thinking(OPENED, THINK)
    assert opens_thinking("<think>", THINK)
    assert not opens_thinking(PLAIN, THINK)
    # Templates that switch thinking off close it at once.
    assert not opens_thinking("<assistant><think>\n\n</think>\n\n", THINK)


def test_what_closes_a_thought_closes_it() -> None:
    written = f"endless{THINK.closing_text}2"
    assert split_thinking(written, THINK, OPENED) == Split("endless", "2", "closed")


def test_answers_end_before_their_first_stop() -> None:
    assert cut_at_stops("2\nQ: next", ("Q:", "\n")) == ("2", True)
    assert cut_at_stops("2", ("\n",)) == ("2", False)
    assert cut_at_stops("2", ("", "3")) == ("2", False)
    assert cut_at_stops("\n2", ("\n",)) == ("", True)
    assert cut_at_stops("", ("\n",)) == ("", False)


def test_stops_do_not_hold_inside_a_thought() -> None:
    """White space after the mark belongs to the mark: a stop of a line's end would end there."""
    found = split_thinking("<think>first\n\nthen</think>\n\n2\nQ:", THINK, PLAIN)
    assert cut_at_stops(found.answer, ("\n",)) == ("2", True)
