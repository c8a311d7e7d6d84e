"""What a reasoning model wrote: its thought and its answer, told apart by the marks between them.

Pure functions over texts, for every backend alike; knows no tokens and no model. The marks count
where a thought can stand: before the first word of the answer. An answer may speak of `<think>`
as of any other word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.records import Thinking, ThinkingEnd

_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Split:
    """A written text in its two parts."""

    thought: str
    """Without marks and the white space around them; several blocks are joined by an empty line."""
    answer: str
    """What follows, without the white space after the closing mark; all that was written, as it
    was written, where nothing was thought."""
    end: ThinkingEnd
    """`none`, `closed` or `open`: a text alone does not show that a budget ended it."""


def opens_thought(prompt: str, thinking: Thinking) -> bool:
    """Whether a prompt ends with the opening mark, so that what is written begins as a thought."""
    return prompt.rstrip().endswith(thinking.opening)


def split_thought(written: str, thinking: Thinking, prompt: str | None) -> Split:
    """Tell thought and answer apart.

    A thought that is never closed has no answer: the answer is empty and `end` is `open`.

    Args:
        written: All that the model wrote, marks included, not yet cut at any stop string.
        thinking: The marks.
        prompt: What the model read before, or None where that is not known, as with a server
            that formats chats itself: there a closing mark that nothing opened ends a thought.
    """
    inside = (
        opens_thought(prompt, thinking) if prompt is not None else _ends_unopened(written, thinking)
    )
    blocks: list[str] = []
    at = 0
    # By places, since each copy of the rest would make many blocks quadratic.
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
    """The first place from `at` on where no white space stands."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def cut_at_stops(answer: str, stops: Sequence[str]) -> tuple[str, bool]:
    """An answer before its first stop string, and whether it held one; empty stops are none.

    Args:
        answer: The answer alone: stop strings do not hold inside a thought.
        stops: Where it ends.
    """
    found = [at for stop in stops if stop and (at := answer.find(stop)) >= 0]
    return (answer[: min(found)], True) if found else (answer, False)


def _ends_unopened(written: str, thinking: Thinking) -> bool:
    """Whether the first mark of all is a closing one."""
    before, closed, _ = written.partition(thinking.closing)
    return bool(closed) and thinking.opening not in before


def _joined(blocks: Sequence[str]) -> str:
    return "\n\n".join(block for block in blocks if block)
