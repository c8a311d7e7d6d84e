"""The numbers of an answer, each with the role that the words around it give it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from tenbin.metrics.extraction.number_patterns import SENTENCE_END, Patterns, patterns_of
from tenbin.metrics.extraction.numerals import Numeral, find_numerals, is_clear

_BEFORE, _AFTER = 32, 40
"""How far the words reach that decide on a number."""
_INSIDE = 300
"""How far back brackets and reasons are looked for."""
_LABEL = re.compile(
    r"^[ \t]*(?:[-•][ \t]+)?(?:(\d{1,2})[.)](?=\s*[^\s\d.,])(?:[ \t]+|(?=\D))|\((\d{1,2})\))",
    re.MULTILINE,
)
_NAME = re.compile(r"[A-Za-zÀ-ɏ]-?$")
_CURRENCY = re.compile(
    r"(?:\b(?:Rs|RM|USD|EUR|GBP|JPY|INR|R|US|HK|NT|S|Tk|BDT|THB|TZS|KES))$", re.IGNORECASE
)
_ATTRIBUTE = re.compile(r"-[A-Za-z]{3}")
"""Of an adjective: "a 3-hour trip", "the 2-year-old plan"."""
_VARIABLE = re.compile(r"[a-z](?![A-Za-z0-9À-ɏ'])")
_UNITS_OF_ONE_LETTER = frozenset("mglhtsk")


class Role(IntEnum):
    """What a number is there for; the higher, the more it may be the answer."""

    NO_AMOUNT = 0
    """The number of a step or a place, a date, a time, part of a name."""
    DENIED = 1
    ASKED = 2
    """Part of a question."""
    EXPLAINED = 3
    """In brackets, in a clause that gives reasons, or part of an adjective."""
    ASIDE = 4
    """After words such as "out of"."""
    BARE = 5


@dataclass(frozen=True, slots=True)
class Mention:
    """A number with its role."""

    numeral: Numeral
    role: Role
    sentence: int
    """The number of its sentence."""

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.numeral.start

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.numeral.end


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch of an answer."""

    start: int
    end: int
    question: bool


def sentences_of(part: str) -> list[Sentence]:
    """The sentences of a part of an answer; lines end them too."""
    found: list[Sentence] = []
    at = 0
    for match in SENTENCE_END.finditer(part):
        if part[at : match.start()].strip():
            asked = any(mark in match[0] for mark in "?？؟")
            found.append(Sentence(at, match.start(), asked))
        at = match.end()
    if part[at:].strip():
        found.append(Sentence(at, len(part), False))
    return found


def find_mentions(part: str, language: str) -> tuple[list[Mention], list[Sentence]]:
    """The numbers of a part of an answer with their roles, and its sentences."""
    patterns = patterns_of(language)
    sentences = sentences_of(part)
    hidden = [match.span() for match in patterns.no_amounts.finditer(part)] + _labels(part)
    hidden.sort()
    mentions: list[Mention] = []
    place = at_hidden = 0
    for numeral in find_numerals(part, language):
        while place < len(sentences) - 1 and numeral.start >= sentences[place].end:
            place += 1
        while at_hidden < len(hidden) and hidden[at_hidden][1] <= numeral.start:
            at_hidden += 1
        covered = at_hidden < len(hidden) and hidden[at_hidden][0] <= numeral.start
        if not numeral.word or is_clear(part, numeral, announced=True):
            sentence = sentences[place] if sentences else Sentence(0, len(part), False)
            role = Role.NO_AMOUNT if covered else _role(part, numeral, sentence, patterns)
            mentions.append(Mention(numeral, role, place))
    return mentions, sentences


def _labels(part: str) -> list[tuple[int, int]]:
    """Where lines are numbered 1, 2, 3 …"""
    spans: list[tuple[int, int]] = []
    expected = 1
    for match in _LABEL.finditer(part):
        number = int(match[1] or match[2])
        if number in (1, expected):
            spans.append(match.span(1 if match[1] else 2))
            expected = number + 1
    return spans


def _role(part: str, numeral: Numeral, sentence: Sentence, patterns: Patterns) -> Role:
    before = part[max(sentence.start, numeral.start - _BEFORE) : numeral.start]
    after = part[numeral.end : numeral.end + _AFTER]
    if _is_no_amount(before, after, patterns):
        return Role.NO_AMOUNT
    if patterns.denied_before.search(before) or patterns.denied_after.match(after):
        return Role.DENIED
    if sentence.question:
        return Role.ASKED
    inside = part[max(sentence.start, numeral.start - _INSIDE) : numeral.start]
    if inside.count("(") > inside.count(")") or patterns.reason.search(inside):
        return Role.EXPLAINED
    if _ATTRIBUTE.match(after):
        return Role.EXPLAINED
    if patterns.aside_before.search(before) or any(
        one.search(before) and two.match(after) for one, two in patterns.asides_around
    ):
        return Role.ASIDE
    exchanged = patterns.exchange_before.search(before) and not (
        patterns.money_before.search(before) or patterns.money_after.match(after)
    )
    return Role.ASIDE if exchanged else Role.BARE


def _is_no_amount(before: str, after: str, patterns: Patterns) -> bool:
    if _NAME.search(before) and not _CURRENCY.search(before):
        return True
    step = patterns.step_before.search(before)
    if step is not None and patterns.each_before.search(before[: step.start()]) is None:
        return True
    if patterns.step_after.match(after):
        return True
    variable = _VARIABLE.match(after)
    return variable is not None and variable[0] not in _UNITS_OF_ONE_LETTER
