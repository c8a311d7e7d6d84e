"""Match the patterns of a task on answers, so that no answer can stop a run.

A pattern that takes too long on one answer, or makes it too long, fails that document with a
reason; the others are judged. Knows patterns and texts; knows no task.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tenbin.errors import TaskError
from tenbin.records import Failure
from tenbin.sandbox import patterns
from tenbin.sandbox.patterns import Pattern, PatternTooSlow, compile_pattern

LONGEST_RESULT = 10_000_000
"""In characters: what a replacement may make of an answer."""
_TRIES = 10
"""So often a pattern may run out of time before it is spared texts of that length."""

_timeouts: Counter[str] = Counter()
_shortest: dict[str, int] = {}
"""For each pattern the length of the shortest text that it took too long on."""


class UnjudgedError(Exception):
    """An answer cannot be judged; `failure` says why. Its document has failed, and no other."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def find_all(source: str, text: str) -> list[Any]:
    """All matches, as `re.findall` gives them.

    Raises:
        UnjudgedError: The pattern ran out of time or memory.
    """
    pattern = compile_pattern(source, "pattern")
    _spare(pattern, text)
    try:
        return pattern.findall(text)
    except TaskError as error:
        raise _unjudged(pattern, text, error) from error


def substitute(source: str, replacement: str, text: str) -> str:
    """The text with every match replaced, as `re.sub` gives it.

    Raises:
        UnjudgedError: The pattern ran out of time or memory, or the text could become too long.
    """
    pattern = compile_pattern(source, "pattern")
    # There are no more matches than places, and a reference repeats no more than the text.
    if (len(text) + 1) * len(replacement) > LONGEST_RESULT:
        raise UnjudgedError(
            Failure(
                "answer_too_long",
                f"the replacement for {_shown(source)} could make more than {LONGEST_RESULT:,} "
                "characters of an answer",
            )
        )
    _spare(pattern, text)
    try:
        return pattern.sub(replacement, text)
    except TaskError as error:
        raise _unjudged(pattern, text, error) from error


def _spare(pattern: Pattern, text: str) -> None:
    """Fail at once where the pattern has run out of time on many texts no longer than this one."""
    tried = _timeouts[pattern.source]
    if tried >= _TRIES and len(text) >= _shortest[pattern.source]:
        raise UnjudgedError(_timed_out(pattern))


def _unjudged(pattern: Pattern, text: str, error: TaskError) -> UnjudgedError:
    if not isinstance(error, PatternTooSlow):
        message = f"the pattern {_shown(pattern.source)} ran out of memory"
        return UnjudgedError(Failure("pattern_memory", message))
    _timeouts[pattern.source] += 1
    known = _shortest.get(pattern.source, len(text))
    _shortest[pattern.source] = min(known, len(text))
    return UnjudgedError(_timed_out(pattern))


def _timed_out(pattern: Pattern) -> Failure:
    return Failure(
        "pattern_timeout",
        f"the pattern {_shown(pattern.source)} took more than {patterns.SECONDS:g} s on the answer",
    )


def _shown(source: str) -> str:
    return repr(source if len(source) <= 80 else f"{source[:77]}...")
