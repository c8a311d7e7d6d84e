r"""Read the number that an answer gives as a human reader would, in any of 17 languages.

The order is: the last LaTeX box; the last statement with the language's answer phrase ("the answer
is 12", "答えは12です", "12 is the answer"); what follows "####"; a number that is the whole first
line; the last number that counts something. Numbers that are denied ("not 14, but 12"), asked
about, put in brackets, numbers of steps, dates and times are passed over.

What a base model invents after its answer (a next question) is not read, and what is said after a
retraction ("wait", "いや、") is read before the rest. None, for no answer, when the model never
stopped thinking, when it says that it cannot tell, and when it gives two numbers to choose from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tenbin.metrics.extraction.clean import strip_thinking
from tenbin.metrics.extraction.number_form import BOX, MARK, plain_form
from tenbin.metrics.extraction.number_mentions import Mention, Role, Sentence, find_mentions
from tenbin.metrics.extraction.number_patterns import patterns_of
from tenbin.metrics.extraction.number_statements import (
    find_statements,
    is_choice,
    last_result,
)
from tenbin.metrics.extraction.numerals import canonical, is_clear
from tenbin.metrics.extraction.spelled import spelled_out
from tenbin.metrics.repetition import shorten

_KEPT, _KEPT_PERIODS = 512, 12
_SHORT_LINE = 16
_BOXED = re.compile(f"{BOX}([^{BOX}]*){BOX}")
_UNIT_ALONE = re.compile(r"[^\W\d_]{1,12}\n[ \t]*\n\s*[^\W\d]")
"""A unit that ends the first line, before a blank line and words: "18 dollars" and a reason."""
_OPENING = re.compile(r"[\s\"'(\[]*$")


FoundBy = Literal["box", "phrase", "two numbers", "mark", "first line", "last number"]
"""What a number was read by; `two numbers`: a phrase gives several to choose from, `mark`: ####."""


@dataclass(frozen=True, slots=True)
class PartReading:
    """How one part of an answer was read."""

    part: str
    mentions: tuple[Mention, ...]
    by: FoundBy
    value: Fraction | None


def read_number(text: str, language: str) -> str | None:
    """Read the number an answer gives.

    Args:
        text: What the model wrote.
        language: The prompt's language, as a two-letter code.

    Returns:
        The number in canonical form ("1500", "-2", "0.5"), or None when none is given.
    """
    spoken = strip_thinking(text)
    if spoken is None:
        return None
    value = None
    for reading in read_parts(shorten_repetition(plain_form(spoken)), language):
        value = reading.value
    return None if value is None else canonical(value)


def shorten_repetition(plain: str) -> str:
    """An answer in plain form, less most of what it only repeats."""
    return shorten(plain, _KEPT, _KEPT_PERIODS)


def read_parts(plain: str, language: str) -> Iterator[PartReading]:
    """The readings of an answer's parts, the last of which counts.

    A base model that has answered goes on with a question of its own making, which is cut off
    unless nothing stands before it. What follows a retraction is read first, then all.
    """
    patterns = patterns_of(language)
    plain = patterns.workings.sub("\n", plain).strip()
    own = plain
    for following in patterns.question.finditer(plain):
        if plain[: following.start()].strip():
            own = plain[: following.start()]
            break
    retracted = [match.end() for match in patterns.retraction.finditer(own)][-1:]
    parts = [own[end:] for end in retracted] + [own]
    if not patterns.refusal.search(own):
        parts.append(plain)
    for part in dict.fromkeys(parts):
        reading = read_part(part, language)
        yield reading
        if reading.value is not None or reading.by == "two numbers":
            return


def read_part(part: str, language: str) -> PartReading:
    """The number that one part of an answer in plain form gives."""
    mentions, sentences = find_mentions(part, language)

    def reading(by: FoundBy, value: Fraction | None) -> PartReading:
        return PartReading(part, tuple(mentions), by, value)

    for box in reversed(list(_BOXED.finditer(part))):
        inside = [one for one in mentions if box.start() < one.start < box.end()]
        value = last_result(part, inside) if inside else spelled_out(box[1], language)
        if value is not None:
            return reading("box", value)
    statement = find_statements(part, mentions, sentences, language)
    if statement is not None:
        return reading("phrase" if statement.settled else "two numbers", statement.value)
    if MARK in part:
        begun = part.rindex(MARK)
        marked = [one for one in mentions if one.start > begun]
        if marked:
            return reading("mark", marked[0].numeral.value)
    refused = [match.end() for match in patterns_of(language).refusal.finditer(part)]
    if refused:
        mentions = [one for one in mentions if one.start >= refused[-1]]
    first = _first_line(part, mentions)
    if first is not None:
        return reading("first line", first)
    return reading("last number", _last_number(part, mentions, sentences, language))


def _first_line(part: str, mentions: list[Mention]) -> Fraction | None:
    """The number that is all there is on the first line, with its unit and a full stop."""
    line, _, rest = part.partition("\n")
    here = [one for one in mentions if one.end <= len(line)]
    if len(here) != 1 or not rest.strip() or here[0].role < Role.BARE or here[0].numeral.word:
        return None
    before, after = line[: here[0].start], line[here[0].end :].strip()
    if not _OPENING.match(before) or re.match(r"\s*[-+×*/÷=]", rest):
        return None
    ended = not after or after[-1] in ".。!।" or _UNIT_ALONE.match(after + "\n" + rest) is not None
    return here[0].numeral.value if ended and len(after) <= _SHORT_LINE else None


def _last_number(
    part: str, mentions: list[Mention], sentences: list[Sentence], language: str
) -> Fraction | None:
    """The last number that counts something, before any remark."""
    patterns = patterns_of(language)
    in_digits = any(not one.numeral.word for one in mentions if one.role > Role.NO_AMOUNT)
    clear = [
        one
        for one in mentions
        if not one.numeral.word or (not in_digits and is_clear(part, one.numeral, announced=False))
    ]
    for remark in patterns.remark.finditer(part):
        kept = [one for one in clear if one.end <= remark.start() and one.role >= Role.EXPLAINED]
        if kept:
            clear = kept
            break
    for least in (Role.ASIDE, Role.EXPLAINED, Role.ASKED):
        counted = [one for one in clear if one.role >= least]
        if counted:
            last = [one for one in counted if one.sentence == counted[-1].sentence]
            bare = [one for one in last if one.role is Role.BARE]
            last = bare or last
            if len(last) > 1 and is_choice(part, last[-2], last[-1], patterns):
                return None
            return _of_equation(part, last)
    return None


def _of_equation(part: str, last: list[Mention]) -> Fraction:
    """The last number; for "18 = 9 × 2" the one that the product is."""
    at = len(last) - 1
    while at > 0 and re.fullmatch(
        r"\s*[^\d=,;]{0,12}[×x*+÷/-]\s*", part[last[at - 1].end : last[at].start]
    ):
        at -= 1
    if 0 < at < len(last) - 1 and re.fullmatch(
        r"\s*[^\d=,;]{0,12}=\s*", part[last[at - 1].end : last[at].start]
    ):
        left = last[at - 2].end if at > 1 else 0
        if not re.search(r"[×x*+÷/-]\s*$", part[left : last[at - 1].start]):
            return last[at - 1].numeral.value
    return last[-1].numeral.value
