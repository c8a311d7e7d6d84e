"""Regular expressions from task files: `re`'s syntax and results, within a limit of time.

`re` itself cannot be stopped: it holds the interpreter's lock until it is finished, so that no
thread can end it, and no signal outside the main thread. The `regex` package takes a time limit
that holds in every thread. So `re` matches only where `cost` shows that no text of this length can
make the pattern slow; all else is matched by `regex`, from a pattern that `translation` rewrites to
mean there what it means in `re`.

`where` names the place of a pattern in messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from tenbin.errors import TaskError
from tenbin.sandbox.patterns.cost import affordable_length, expanded_size
from tenbin.sandbox.patterns.translation import parse, translate

LONGEST_PATTERN = 10_000
"""In characters."""
LARGEST_EXPANSION = 20_000
"""In nodes, once counted repetitions such as `{500}` are written out."""
SECONDS = 5.0
"""Processor time for one call, of all threads together. Usual patterns need microseconds."""

_T = TypeVar("_T")


class PatternTooSlow(TaskError):
    """A pattern did not finish within its limit of time on one text."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; each method gives what `re` gives, or raises in time."""

    source: str
    where: str
    _plain: re.Pattern[str]
    _limited: Any
    """The same pattern compiled by `regex`."""
    _affordable: int
    """The length of text up to which `re` is surely fast."""

    @property
    def groups(self) -> int:
        """How many capturing groups there are."""
        return self._plain.groups

    def is_surely_fast(self, text: str) -> bool:
        """Whether no text of this length can make the pattern slow."""
        return len(text) <= self._affordable

    def search(self, text: str) -> Any | None:
        """Return the first match, an object like `re.Match`, or None."""
        if self.is_surely_fast(text):
            return self._plain.search(text)
        return self._timed(text, lambda: self._limited.search(text, timeout=SECONDS))

    def fullmatch(self, text: str) -> Any | None:
        """Return the match of the whole text, or None."""
        if self.is_surely_fast(text):
            return self._plain.fullmatch(text)
        return self._timed(text, lambda: self._limited.fullmatch(text, timeout=SECONDS))

    def findall(self, text: str) -> list[Any]:
        """Return all matches: strings, or tuples where there are several groups."""
        if self.is_surely_fast(text):
            return self._plain.findall(text)
        # Not regex's own findall: for one repeated group it gives tuples of one.
        return self._timed(
            text,
            lambda: [
                match.group(self.groups) or "" if self.groups < 2 else match.groups("")
                for match in self._limited.finditer(text, timeout=SECONDS)
            ],
        )

    def sub(self, replacement: str, text: str, count: int = 0, longest: int | None = None) -> str:
        """Return the text with matches replaced.

        Args:
            replacement: As `re.sub` takes it.
            text: What to search.
            count: How many matches to replace; 0 stands for all.
            longest: Refuse a result of more characters; None: of any length.
        """
        self.check_replacement(replacement)
        # At most one match at each place, each group at most the whole text.
        most = (len(text) + 1) * (len(replacement) + replacement.count("\\") * len(text))
        if longest is not None and len(text) + most > longest:
            return self._sub_counted(replacement, text, count, longest)
        if self.is_surely_fast(text):
            return self._plain.sub(replacement, text, count=count)
        return self._timed(
            text, lambda: str(self._limited.sub(replacement, text, count=count, timeout=SECONDS))
        )

    def _sub_counted(self, replacement: str, text: str, count: int, longest: int) -> str:
        """Replace match by match, so that the length is known before all is made."""
        if self.is_surely_fast(text):
            matches: Iterator[Any] = self._plain.finditer(text)
        else:
            matches = self._limited.finditer(text, timeout=SECONDS)

        def replaced() -> str:
            pieces: list[str] = []
            total, end = len(text), 0
            for match in islice(matches, count or None):
                pieces += (text[end : match.start()], match.expand(replacement))
                total += len(pieces[-1])
                if total > longest:
                    raise TaskError(
                        f"{self.where}: replacing {_shown(self.source)} by {_shown(replacement)} "
                        f"makes a text of more than {longest:,} characters"
                    )
                end = match.end()
            return "".join((*pieces, text[end:]))

        return self._timed(text, replaced)

    def check_replacement(self, replacement: str) -> None:
        r"""Refuse a replacement that names a group which is not there, such as `\9`.

        Raises:
            TaskError: Naming the pattern and the replacement.
        """
        try:
            _expand_once(self._plain, replacement)
        except (re.error, IndexError) as error:
            raise TaskError(
                f"{self.where}: the replacement {_shown(replacement)} does not fit the pattern "
                f"{_shown(self.source)}: {error}",
                rf"the pattern has {self.groups} groups; write \\ for a backslash",
            ) from error

    def _timed(self, text: str, match: Callable[[], _T]) -> _T:
        try:
            return match()
        except TimeoutError as error:
            raise PatternTooSlow(
                f"{self.where}: the pattern {_shown(self.source)} took more than {SECONDS:.0f} s "
                f"on a text of {len(text):,} characters: {_shown(text)}",
                "a repetition inside a repetition, as in (a+)+, tries every way to divide the text",
            ) from error
        except (MemoryError, RecursionError) as error:
            raise TaskError(
                f"{self.where}: the pattern {_shown(self.source)} ran out of memory on a text of "
                f"{len(text):,} characters"
            ) from error


def compile_pattern(source: str, where: str, flags: int = 0) -> Pattern:
    """Compile a pattern written by a user.

    Args:
        source: The pattern, in the syntax of `re`.
        where: The place to name in messages, such as a file and a key.
        flags: `re.IGNORECASE` and the like.

    Raises:
        TaskError: It is no string, too long, or not valid.
    """
    if not isinstance(source, str):
        raise TaskError(f"{where}: a pattern is a string, not {type(source).__name__}")
    if len(source) > LONGEST_PATTERN:
        raise TaskError(
            f"{where}: the pattern has {len(source):,} characters; at most {LONGEST_PATTERN:,} are "
            f"taken: {_shown(source)}"
        )
    try:
        return Pattern(source, where, *_compile(source, int(flags)))
    except _TooLarge as error:
        raise TaskError(
            f"{where}: the pattern {_shown(source)} repeats too much: {error}",
            "use a smaller count, or + or * for any number",
        ) from None
    except (re.error, OverflowError, RecursionError, MemoryError, ValueError) as error:
        raise TaskError(
            f"{where}: not a valid regular expression: {error or type(error).__name__}: "
            f"{_shown(source)}"
        ) from error


class _TooLarge(Exception):
    pass


@lru_cache(maxsize=512)
def _compile(source: str, flags: int) -> tuple[re.Pattern[str], Any, int]:
    import regex

    tree = parse(source, flags)
    size = expanded_size(tree)
    if size > LARGEST_EXPANSION:
        raise _TooLarge(f"written out it has {size:,} parts, at most {LARGEST_EXPANSION:,}")
    plain = re.compile(source, flags)
    try:
        limited = regex.compile(translate(tree), regex.VERSION0 | _engine_flags(plain.flags))
    except regex.error as error:
        raise ValueError(str(error)) from error
    return plain, limited, affordable_length(tree)


def _engine_flags(flags: int) -> int:
    import regex

    pairs = (
        (re.IGNORECASE, regex.IGNORECASE),
        (re.MULTILINE, regex.MULTILINE),
        (re.DOTALL, regex.DOTALL),
    )
    return sum(int(there) for here, there in pairs if flags & here)


@lru_cache(maxsize=512)
def _expand_once(plain: re.Pattern[str], replacement: str) -> None:
    """Expand a replacement over an empty match with the same groups, as `re` would."""
    names = {number: name for name, number in plain.groupindex.items()}
    groups = (
        f"(?P<{names[number]}>)" if number in names else "()"
        for number in range(1, plain.groups + 1)
    )
    match = re.compile("".join(groups)).match("")
    assert match is not None
    match.expand(replacement)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
