"""Match the regular expressions of a task on answers, within limits of time and memory.

A pattern that takes too long on one answer, or makes it too long, fails that document with a
reason; the others are judged. Reports that explain how stored answers were read have a time budget
for all of them, because the patterns of a stored run may be anybody's.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tenbin.errors import TaskError
from tenbin.records import Failure
from tenbin.sandbox import patterns
from tenbin.sandbox.patterns import Pattern, PatternTooSlow, compile_pattern

LONGEST_RESULT = 10_000_000
"""In characters: what a replacement may make of an answer."""
SLOW_SECONDS = 1.0
"""Processor time of one call from which a pattern counts as slow in a report."""
SECONDS_IN_ALL = 60.0
"""Processor time of all calls of a report: then no pattern that may be slow is tried."""
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


class TimeBudget:
    """The time that patterns may take while a report is made; slow ones are tried once."""

    def __init__(self) -> None:
        self._slow: set[str] = set()
        self._spent = 0.0

    def is_spent(self, source: str) -> bool:
        """Whether a pattern is not to be tried again on texts that it may be slow on."""
        return source in self._slow or self._spent >= SECONDS_IN_ALL

    @contextmanager
    def measure(self, source: str) -> Iterator[None]:
        """Count the time that a pattern takes; one that runs out of it is slow."""
        begun = time.thread_time()
        try:
            yield
        except UnjudgedError:
            self._slow.add(source)
            raise
        finally:
            taken = time.thread_time() - begun
            self._spent += taken
            if taken > SLOW_SECONDS:
                self._slow.add(source)


def may_be_slow(source: str, text: str) -> bool:
    """Whether some text of this length can make a pattern slow."""
    return not compile_pattern(source, "pattern").is_surely_fast(text)
