"""The expressions by which numbers in an answer are recognised, compiled for each language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tenbin.metrics.extraction.number_form import MONEY
from tenbin.metrics.extraction.number_words import number_words, words_expression

ENDS = r".!?。！？؟।\n"
SENTENCE_END = re.compile(r"[.!?。！？؟।]+(?=\s|$|[^\w.,])|(?<=[^\d])\.(?=\w)|[。！？؟।]|\n")
_GAP = rf"[^{ENDS}\d:=を을를]{{0,40}}?"
"""A noun that is an object ("答えを求める") announces nothing."""
_VERBLESS = frozenset({"bn", "hi", "te"})
_OPENERS = r"\s\"'(\[「『【<>«“"


@dataclass(frozen=True, slots=True)
class Patterns:
    """What is looked for around numbers."""

    announced: re.Pattern[str]
    """An answer noun with what joins it to its number; group `weak` for a noun of results, `is` for
    a verb."""
    confirmed: re.Pattern[str]
    """After a number: it is the answer."""
    near: re.Pattern[str]
    """All that may stand between such a noun and its number."""
    denied_before: re.Pattern[str]
    denied_after: re.Pattern[str]
    aside_before: re.Pattern[str]
    exchange_before: re.Pattern[str]
    """Before what something is paid for ("$64 for 16 glasses")."""
    money_before: re.Pattern[str]
    money_after: re.Pattern[str]
    asides_around: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    reason: re.Pattern[str]
    condition: re.Pattern[str]
    alternative: re.Pattern[str]
    conclusion: re.Pattern[str]
    remark: re.Pattern[str]
    question: re.Pattern[str]
    retraction: re.Pattern[str]
    refusal: re.Pattern[str]
    workings: re.Pattern[str]
    step_before: re.Pattern[str]
    step_after: re.Pattern[str]
    each_before: re.Pattern[str]
    """Before the noun of a step: the number after it is an amount ("each day 18")."""
    no_amounts: re.Pattern[str]
    """Dates, times, addresses and powers: digits that count nothing."""
    minus: re.Pattern[str]
    scale_before: re.Pattern[str]


@lru_cache
def patterns_of(language: str) -> Patterns:
    """The patterns for answers to prompts of a language."""
    words = number_words(language)
    around = [one.split("#") for one in words.asides if "#" in one]
    before = words_expression(one for one in words.asides if "#" not in one)
    # These languages put no verb between the noun and its number.
    spelled = rf"(?=\s+{words_expression(words.numerals)})" if language in _VERBLESS else "(?!)"
    start = rf"(?:^|[{ENDS},;:、،؛…–—])\s*"

    # Thai ends its sentences with a blank.
    blank = " " if language == "th" else ""

    def pattern(source: str) -> re.Pattern[str]:
        return re.compile(source, re.IGNORECASE)

    return Patterns(
        announced=pattern(
            rf"(?:{words['answers']}|(?P<weak>{words['results']}))"
            rf"(?:{_GAP}(?:(?P<is>{words['copulas']})|:|→|[)\]」』】\"']+\s*(?::|\n)?)"
            rf"|\s{{0,3}}=|(?(weak)(?!)|(?:[ \t]*\n|(?=[{_OPENERS}]*[-+]?\d)|{spelled})))"
        ),
        confirmed=pattern(
            rf"[^{ENDS}\d,;=]{{0,12}}?\s*{words['confirmations']}(?!\s*{words['denials_after']})"
        ),
        near=pattern(rf"(?:{words['fillers']}|[{_OPENERS}:=~≈,、،\-–—→]|\b[A-Ha-h]\))*$"),
        denied_before=pattern(rf"{words['denials_before']}\s*(?:{words['fillers']}\s*)?$"),
        denied_after=pattern(rf"[^\d\s,.;。、=]{{0,8}}\s*{words['denials_after']}"),
        aside_before=pattern(rf"{before}\s*(?:\w+ing\s+)?(?:{words['fillers']}\s*)?$"),
        exchange_before=pattern(rf"{words['exchanges']}\s*(?:{words['fillers']}\s*)?$"),
        money_before=pattern(rf"(?:{words['money']}\s*|{MONEY}\s*)$"),
        money_after=pattern(rf"[^\S\n]*(?:{MONEY}|{words['money']})"),
        asides_around=tuple(
            (
                pattern(rf"{words_expression([one])}\s*$" if one else "$"),
                pattern(rf"[^{ENDS}\d]{{0,20}}?{words_expression([two])}"),
            )
            for one, two in around
        ),
        reason=pattern(words["reasons"]),
        condition=pattern(rf"{words['conditions']}[^{ENDS},;、،]{{0,40}}$"),
        alternative=pattern(
            rf"\s*(?P<unit>[^\s\d{ENDS},;=]{{0,10}}?)\s*{words['alternatives']}\s*$"
        ),
        conclusion=pattern(rf"{start}{words['conclusions']}[^{ENDS}]{{0,200}}?\d"),
        remark=pattern(
            rf"(?:^|[{ENDS}{blank}])\s*\(?(?:{words['remarks']}\s*:|{words['closings']})"
        ),
        question=re.compile(
            rf"^[ \t]*(?:#+[ \t]*)?{words['questions']}[ \t]*(?:\d+[ \t]*)?:"
            rf"|^#+[ \t]*{words['questions']}",
            re.IGNORECASE | re.MULTILINE,
        ),
        retraction=pattern(start + words["retractions"]),
        refusal=pattern(words["refusals"]),
        workings=pattern(rf"{words['workings']}\s*:?"),
        step_before=pattern(rf"{words['steps_before']}\s*[#(]?\s*$"),
        step_after=pattern(rf"\s*{words['steps_after']}"),
        each_before=pattern(rf"{words['distributives']}\s*$"),
        no_amounts=_no_amounts(words["months"]),
        minus=pattern(rf"{words['minus']}\s*"),
        scale_before=pattern(rf"{words_expression(words.scales_before)}\s+"),
    )


def _no_amounts(months: str) -> re.Pattern[str]:
    day = r"(?<!\d)\d{1,2}"
    return re.compile(
        rf"(?<!\d)\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?!\d)"
        rf"|(?<!\d)\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d)|{day}[-/.]\d{{1,2}}[-/.]\d{{4}}(?!\d)"
        rf"|(?<!\d)\d{{4}}\s?[年년](?:\s?\d{{1,2}}\s?[月월](?:\s?\d{{1,2}}\s?[日일])?)?"
        rf"|{day}\s?[月월]\s?\d{{1,2}}\s?[日일]"
        rf"|{day}(?:\.|st|nd|rd|th)?\s(?:de\s|of\s)?{months}(?:,?\s(?:de\s)?\d{{4}})?"
        rf"|{months}\s\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s\d{{4}}(?!\d))?"
        r"|https?://\S+|\^\s?-?\d+|\d+%\s(?:sure|certain|confident|sicher|seguro|segura|sûr)"
    )
