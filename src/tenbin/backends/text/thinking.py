"""Separates the thinking section of a generated text from its answer, by the marks around it.

Pure functions over texts, the same for every backend. Marks count only where a thinking section can
stand, before the first word of the answer: an answer may mention `<think>` like any other word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.records import Thinking, ThinkingEnd

_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Split:
    """A generated text in its two parts."""

    thinking: str
    """Without marks and the white space around them; sections are joined by a blank line."""
    answer: str
    """What follows, without the white space after the closing mark; the whole text, unchanged,
    if it has no thinking section."""
    end: ThinkingEnd
    """`none`, `closed` or `open`; a text alone does not show that a budget ended it."""


def opens_thinking(prompt: str, thinking: Thinking) -> bool:
    """Whether a prompt ends with the opening mark, so that generation starts inside thinking."""
    return prompt.rstrip().endswith(thinking.opening)


def split_thinking(written: str, thinking: Thinking, prompt: str | None) -> Split:
    """Separate the thinking section from the answer.

    Thinking that is never closed has no answer: the answer is empty and `end` is `open`.

    Args:
        written: The whole generated text, marks included, not yet cut at any stop string.
        thinking: The marks.
        prompt: The prompt, or None if it is not known, as with a server that formats chats itself:
            a closing mark that nothing opened then ends a thinking section.
    """
    inside = (
        opens_thinking(prompt, thinking)
        if prompt is not None
        else _ends_unopened(written, thinking)
    )
    blocks: list[str] = []
    at = 0
    # By position: copying the rest for every section would be quadratic in their number.
    while inside or written.startswith(thinking.opening, _after_space(written, at)):
        # A model may write the opening mark once more though its prompt ends with it.
        at = _after_space(written, at)
        at += len(thinking.opening) if written.startswith(thinking.opening, at) else 0
        closed = written.find(thinking.closing, at)
        blocks.append(written[at : closed if closed >= 0 else None].strip())
        if closed < 0:
            return Split(_joined(blocks), "", "open")
        at, inside = _after_space(written, closed + len(thinking.closing)), False
    return Split(_joined(blocks), written[at:], "closed" if blocks else "none")


def _after_space(text: str, at: int) -> int:
    """The first position from `at` on that holds no white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def cut_at_stops(answer: str, stops: Sequence[str]) -> tuple[str, bool]:
    """Return an answer cut before its first stop string, and whether it held one.

    Args:
        answer: The answer alone: stop strings do not apply to thinking.
        stops: Stop strings; empty ones are ignored.
    """
    found = [at for stop in stops if stop and (at := answer.find(stop)) >= 0]
    return (answer[: min(found)], True) if found else (answer, False)


def _ends_unopened(written: str, thinking: Thinking) -> bool:
    """Whether the first mark of all is a closing one."""
    before, closed, _ = written.partition(thinking.closing)
    return bool(closed) and thinking.opening not in before


def _joined(blocks: Sequence[str]) -> str:
    return "\n\n".join(block for block in blocks if block)
