"""Find the statements of an answer that say what the answer is."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

from tenbin.metrics.extraction.number_mentions import Mention, Role, Sentence
from tenbin.metrics.extraction.number_patterns import SENTENCE_END, Patterns, patterns_of
from tenbin.metrics.extraction.spelled import spelled_out

_REACH = 240
_NEAR_LETTERS = 14
_SHORT_REST = 30
_OPERATOR = re.compile(r"[×x*+÷/=-]")
_SHARE = re.compile(r"\s?%?\s(?:of|de|von|от|di)\s[^\d,]{0,12}\d", re.IGNORECASE)
"""A share of another number: "1/4 of 80, which is 20"."""
_THOUSANDS = re.compile(r"\d{1,3} \d{3}(?![\d.,]\d|\d)")
"""A blank that parts thousands, in a language that does not use it: "The answer is 1 500"."""
_CLAUSE = re.compile(r"[,;:、，(]")
_RANGE = re.compile(r"[^\s\d=,;]{0,3}\s?[-–~〜]\s?")
_BEFORE_RESULT = re.compile(r"=\s*[^\d=,;]{0,6}$")


@dataclass(frozen=True, slots=True)
class Statement:
    """What an answer phrase announces."""

    value: Fraction | None
    at: int
    firm: bool
    """Whether it holds whatever follows; else only where no calculation does."""
    passing: bool = False
    """Whether it may be a result on the way, which holds only where no number follows."""
    end: int = 0
    settled: bool = True
    """Whether it is one number: "12 or 14" is not."""


def find_statements(
    part: str, mentions: list[Mention], sentences: list[Sentence], language: str
) -> Statement | None:
    """The statement that counts: the last firm one, else the last one without a later calculation.

    Args:
        part: A part of an answer in plain form.
        mentions: Its numbers.
        sentences: Its sentences.
        language: The prompt's language.
    """
    patterns = patterns_of(language)
    found = _announced(part, mentions, language) + _confirmed(part, mentions, patterns)
    found.sort(key=lambda one: one.at)
    firm = [one for one in found if one.firm]
    if firm:
        return firm[-1]
    calculated = part.rfind("=")
    concluded = max((match.end() for match in patterns.conclusion.finditer(part)), default=-1)
    numbered = max((one.start for one in mentions if one.role is Role.BARE), default=-1)
    for one in found[-1:]:
        latest = max(calculated, concluded - 1, numbered if one.passing else -1)
        return one if one.end > latest else None
    return None


def _confirmed(part: str, mentions: list[Mention], patterns: Patterns) -> list[Statement]:
    """Numbers after which a phrase says that they are the answer."""
    return [
        Statement(one.numeral.value, one.start, firm=True, end=one.end)
        for one in mentions
        if one.role >= Role.EXPLAINED and patterns.confirmed.match(part, one.end)
    ]


def _announced(part: str, mentions: list[Mention], language: str) -> list[Statement]:
    """Numbers that an answer noun announces."""
    patterns = patterns_of(language)
    starts = [one.start for one in mentions]
    found: list[Statement] = []
    for match in patterns.announced.finditer(part):
        clause = part[max(0, match.start() - 60) : match.start()]
        if patterns.condition.search(clause):
            continue
        begin = match.end()
        while begin < len(part) and part[begin] in " \t\n\"'([「『":
            begin += 1
        end, asked = _sentence_end(part, begin)
        inside = mentions[bisect_left(starts, match.end()) : bisect_left(starts, end)]
        counted = [one for one in inside if one.role >= Role.EXPLAINED]
        if asked:
            continue
        if counted:
            found.append(_statement(part, match, counted, end, patterns))
        elif not inside:
            value = spelled_out(part[begin:end], language)
            if value is not None:
                found.append(Statement(value, match.start(), firm=True, end=end))
    return found


def _sentence_end(part: str, begin: int) -> tuple[int, bool]:
    match = SENTENCE_END.search(part, begin, begin + _REACH)
    if match is None:
        return min(len(part), begin + _REACH), False
    return match.start(), any(mark in match[0] for mark in "?？؟")


def _statement(
    part: str, match: re.Match[str], counted: list[Mention], end: int, patterns: Patterns
) -> Statement:
    first = counted[0]
    highest = max(one.role for one in counted)
    bare = [one for one in counted if one.role is highest]
    gap = part[match.end() : first.start]
    letters = sum(map(str.isalpha, gap))
    at_once = patterns.near.match(gap) is not None
    near = letters <= _NEAR_LETTERS and not re.search(r"\S.*[,;、،]", gap.strip())
    chained = len(bare) > 1 and _OPERATOR.search(part[first.end : bare[1].start]) is not None
    left = part[first.end : end].partition("=")
    equation = bool(left[1]) and (chained or (len(bare) > 1 and not _CLAUSE.search(left[0])))
    share = len(bare) > 1 and _SHARE.match(part, first.end) is not None
    if near and not equation and not share:
        value: Fraction | None = first.numeral.value
        if len(bare) > 1 and _THOUSANDS.match(part, first.start):
            value = first.numeral.value * 1000 + bare[1].numeral.value
        rest = part[first.end : end]
        short = len(rest) <= _SHORT_REST or "(" in rest[:_SHORT_REST]
        firm = bool(match["is"]) or (at_once and short and not chained)
    else:
        value = last_result(part, bare)
        firm = bool(match["is"])
    settled = not (near and len(bare) > 1 and is_choice(part, first, bare[1], patterns))
    passing = bool(match["weak"])
    return Statement(
        value if settled else None, match.start(), firm and not passing, passing, end, settled
    )


def is_choice(part: str, one: Mention, other: Mention, patterns: Patterns) -> bool:
    """Whether two numbers are given to choose from: "12 or 14", "12 apples or 14 apples"."""
    between = part[one.end : other.start]
    if _RANGE.fullmatch(between) and one.numeral.value < other.numeral.value:
        return True
    joint = patterns.alternative.match(between)
    if joint is None:
        return False
    return part[other.end : other.end + _REACH].lstrip().startswith(joint["unit"])


def last_result(part: str, mentions: list[Mention]) -> Fraction:
    """The last number after "=", else the last one that is no aside."""
    results = [
        one for one in mentions if _BEFORE_RESULT.search(part[max(0, one.start - 12) : one.start])
    ]
    highest = max(one.role for one in mentions)
    bare = [one for one in mentions if one.role is highest]
    return (results or bare)[-1].numeral.value
