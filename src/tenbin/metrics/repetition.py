"""Find where a text repeats itself, and shorten what repeats.

Models that degenerate write one phrase over and over until their limit. Reading the phrase a
thousand times says nothing that reading it a dozen times does not.
"""

from __future__ import annotations

from dataclasses import dataclass

_PROBE = 200
"""Characters that must recur for a repetition to be looked at."""
_PLACES = (1.0, 0.75, 0.5, 0.25)
"""Where in a text a repetition is looked for: most go on to the end."""
_SHORT = 2 * _PROBE


@dataclass(frozen=True, slots=True)
class Repetition:
    """A stretch of a text in which every character equals the one a period before it."""

    start: int
    end: int
    period: int


def find_repetition(text: str) -> Repetition | None:
    """The first repetition that is met at a few places of a text; None where there is none.

    The time is linear in the text's length, and no repetition of more than half the text is missed
    whose period is short against its length.
    """
    if len(text) < _SHORT:
        return None
    for place in _PLACES:
        at = int(place * (len(text) - _PROBE))
        before = text.rfind(text[at : at + _PROBE], 0, at + _PROBE - 1)
        if before < 0:
            continue
        period = at - before
        start = _repeats_from(text, before, at + _PROBE, period)
        end = _repeats_to(text, start, at + _PROBE, period)
        if end - start >= max(_SHORT, 4 * period):
            return Repetition(start, end, period)
    return None


def shorten(text: str, keep: int, periods: int) -> str:
    """The text with its repetitions shortened.

    Args:
        text: Any text.
        keep: Characters that stay at both ends of a repetition.
        periods: Whole periods that stay there at least. What is taken out is a multiple of so many,
            so that whatever a reader does only every second or third time is done as often.
    """
    for _ in _PLACES:
        found = find_repetition(text)
        if found is None:
            break
        step = periods * found.period
        margin = max(keep, step)
        taken = (found.end - found.start - 2 * margin) // step * step
        if taken <= 0:
            break
        cut = found.start + margin
        text = text[:cut] + text[cut + taken :]
    return text


def _repeats_from(text: str, low: int, end: int, period: int) -> int:
    """The first place from which the text repeats up to `end`; it does so from `low` on."""
    high, low = low, 0
    while low < high:
        middle = (low + high) // 2
        if text[middle : end - period] == text[middle + period : end]:
            high = middle
        else:
            low = middle + 1
    return high


def _repeats_to(text: str, start: int, high: int, period: int) -> int:
    """The last place up to which the text repeats from `start`; it does so up to `high`."""
    low, high = high, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if text[low - period : middle - period] == text[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class Series:
    """A long repetitive text as a short one that grows by equal steps."""

    texts: tuple[str, str, str]
    """The short text, and the same with one and with two steps more."""
    steps: int
    """How many steps more than the first the whole text has."""


def as_series(text: str, keep: int, periods: int) -> Series | None:
    """A text by its repetition; None where it has none that is long enough.

    What is counted over such a text grows by the same amount with each step, once the ends of the
    repetition are out of sight.

    Args:
        text: Any text.
        keep: Characters that the short text has at both ends of the repetition.
        periods: Whole periods that a step has.
    """
    found = find_repetition(text)
    if found is None:
        return None
    step = periods * found.period
    margin = max(keep, step)
    steps = (found.end - found.start - 2 * margin) // step
    if steps < 3:
        return None
    cut, taken = found.start + margin, steps * step
    first, second, third = (text[:cut] + text[cut + taken - more * step :] for more in range(3))
    return Series((first, second, third), steps)
