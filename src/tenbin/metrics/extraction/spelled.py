"""Read a number that is spelled out: "one hundred and five", "vierundvierzig", 십팔, 负五.

The words of a language stand in `catalog/number_words`; how they are put together is alike in all:
ones are added to tens, hundreds multiply what stands before them, and thousands close a group.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from tenbin.metrics.extraction.kanji import kanji_value
from tenbin.metrics.extraction.number_patterns import patterns_of
from tenbin.metrics.extraction.number_words import number_words

_JOINT = re.compile(r"[\s-]*(?:\b(?:and|y|e|et|na|linh|lẻ)\b[\s-]*|و)?")
_GERMAN_JOINT = re.compile(r"[\s-]*(?:und[\s-]*)?")
_UNSPACED = frozenset({"de", "it", "th"})
"""Languages that write the parts of a number as one word."""
_ONES_FIRST = frozenset({"ar", "de"})
"""Languages that say "six and twenty"."""
_HANGUL = str.maketrans("일이삼사오육칠팔구십백천만억", "一二三四五六七八九十百千万億")
_KOREAN = re.compile(
    r"((?:[일이삼사오육칠팔구]?[천백십])*[일이삼사오육칠팔구]?(?:[만억](?:[일이삼사오육칠팔구]?[천백십])*[일이삼사오육칠팔구]?)*)"
    r"(?=$|[\s.,)\"']|입니다|이다|이에요|예요|개|명|원|달러|센트|유로|마리|미터|킬로|분|시간|살|권|장|대|일|년|번|배|마일)"
)


def spelled_out(text: str, language: str) -> Fraction | None:
    """The number that a text begins with in words, such as "twenty-one"."""
    patterns = patterns_of(language)
    stripped = text.lstrip(" \"'([「『:：")
    minus = patterns.minus.match(stripped)
    value = _value(stripped[minus.end() :] if minus else stripped, language)
    if value is None:
        return None
    return Fraction(-value if minus else value)


def _value(text: str, language: str) -> int | None:
    if language == "ko":
        written = _KOREAN.match(text)
        # A single mark is more often a word: 이, "this".
        if written and len(written[1]) > 1 and re.search("[십백천만억]", written[1]):
            return kanji_value(written[1].translate(_HANGUL))
    scale = patterns_of(language).scale_before.match(text)
    if scale:
        # Swahili: elfu mbili, "thousand two".
        factor = number_words(language).scales_before[scale[0].strip().lower()]
        return factor * (_sum_of(_words(text[scale.end() :], language), language) or 1)
    return _sum_of(_words(text, language), language)


def _words(text: str, language: str) -> list[int]:
    """The values of the number words that a text begins with."""
    table = number_words(language)
    values = {**table.scales, **table.numerals}
    expression = _word_expression(language)
    joint = _GERMAN_JOINT if language == "de" else _JOINT
    found: list[int] = []
    at = end = 0
    while word := expression.match(text, at):
        found.append(values[" ".join(word[0].lower().split())])
        end = word.end()
        between = joint.match(text, end)
        at = between.end() if between else end
    # "ein" begins "einfach" too; Thai has no blanks to tell.
    inside_word = language != "th" and text[end : end + 1].isalpha()
    return [] if inside_word else found


@lru_cache
def _word_expression(language: str) -> re.Pattern[str]:
    table = number_words(language)
    words = sorted({*table.numerals, *table.scales}, key=lambda word: (-len(word), word))
    ways = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in words)
    end = "" if language in _UNSPACED else r"(?![^\W\d_])"
    return re.compile(rf"(?:{ways}){end}", re.IGNORECASE)


def _sum_of(words: list[int], language: str) -> int | None:
    """What words make together, up to the first that does not go on the number."""
    total = group = 0
    smallest = 10**15
    for at, value in enumerate(words):
        if value >= 1000:
            if value >= smallest:
                break
            total, group, smallest = total + max(group, 1) * value, 0, value
        elif value == 100 and 0 < group < 100:
            group *= 100
        elif at and not _adds(group, value, language):
            break
        else:
            group += value
    return total + group if words else None


def _adds(group: int, value: int, language: str) -> bool:
    """Whether a word goes on a number: hundred + five, twenty + one."""
    rest = group % 100
    if rest == 0:
        return 0 < value < 1000 if group == 0 else 0 < value < 100
    if rest >= 20 and rest % 10 == 0:
        # French counts on from sixty and eighty: soixante-douze, quatre-vingt-douze.
        return 0 < value < (20 if language == "fr" and rest in (60, 80) else 10)
    return language in _ONES_FIRST and rest < 10 and value >= 20 and value % 10 == 0
