"""Explain how `flexible` and `numbers` read an answer, step by step, by the same functions.

For reports that show one answer; scoring does not use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tenbin.metrics.extraction.clean import simplify, strip_thinking
from tenbin.metrics.extraction.flexible import mentions_with_stance, read_part, shorten_repetition
from tenbin.metrics.extraction.number_form import plain_form
from tenbin.metrics.extraction.numbers import read_parts
from tenbin.metrics.extraction.numbers import shorten_repetition as shorten_numbers
from tenbin.metrics.extraction.numerals import canonical
from tenbin.metrics.extraction.phrases import pool_of, without_affixes
from tenbin.metrics.extraction.sections import parts_to_read
from tenbin.metrics.extraction.strict import read_strict


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """One step of reading, and what is left after it."""

    name: str
    text: str | None
    """None when nothing can be read."""
    mentions: tuple[tuple[str, str], ...] = ()
    """Letters or numbers that were found, each with its stance or role: `announced`, `denied`, …"""
    too_slow: bool = False
    """Whether its pattern takes too long: then there is no text."""


def explain_flexible(text: str, language: str, count: int) -> list[ReadingStep]:
    """The steps of `read_flexible`; the last one's text is what it gives."""
    strict = read_strict(text, count)
    if strict is not None:
        return [ReadingStep("strict form", strict)]
    spoken = strip_thinking(text)
    steps: list[ReadingStep] = []
    if spoken != text:
        steps.append(ReadingStep("without thinking", spoken))
    if spoken is None:
        return steps
    plain = simplify(spoken)
    if plain != spoken:
        steps.append(ReadingStep("plain form", plain))
    short = shorten_repetition(plain)
    if short != plain:
        steps.append(ReadingStep("repetition shortened", short))
        plain = short
    pool = pool_of(language, plain)
    bare = without_affixes(plain, pool)
    if bare != plain:
        steps.append(ReadingStep("letters without affixes", bare))
        plain = bare
    for part in parts_to_read(plain, pool):
        if part != plain:
            steps.append(ReadingStep("part", part))
        mentions = tuple(
            ("".join(mention.letters), stance.name.lower())
            for mention, stance in mentions_with_stance(part, language, count, pool)
        )
        letter = read_part(part, language, count, pool)
        steps.append(ReadingStep("letters", letter, mentions))
        if letter is not None:
            break
    return steps


def explain_number(text: str, language: str) -> list[ReadingStep]:
    """The steps of `read_number`; the last one's text is what it gives."""
    spoken = strip_thinking(text)
    steps: list[ReadingStep] = []
    if spoken != text:
        steps.append(ReadingStep("without thinking", spoken))
    if spoken is None:
        return steps
    plain = shorten_numbers(plain_form(spoken))
    if plain != spoken:
        steps.append(ReadingStep("plain form", plain))
    for reading in read_parts(plain, language):
        if reading.part != plain:
            steps.append(ReadingStep("part", reading.part))
        mentions = tuple(
            (canonical(one.numeral.value), one.role.name.lower()) for one in reading.mentions
        )
        number = None if reading.value is None else canonical(reading.value)
        steps.append(ReadingStep(f"numbers by {reading.by}", number, mentions))
    return steps
