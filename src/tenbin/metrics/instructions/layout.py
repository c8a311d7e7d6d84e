"""Instructions about the form of an answer: lists, sections, titles, JSON, highlights."""

from __future__ import annotations

import json
import re
from itertools import pairwise

from tenbin.metrics.instructions.base import (
    COUNT,
    IGNORED,
    TEXT,
    Kwargs,
    Rules,
    instruction,
    limit,
    without_quotes,
)
from tenbin.metrics.instructions.keywords import as_pattern
from tenbin.metrics.instructions.tools import parts_of_speech
from tenbin.metrics.patterns import find_all

_OPTIONS = {
    "ja": ("はい、そうです。", "いいえ、違います。", "どちらとも言えません。"),
    "en": ("My answer is yes.", "My answer is no.", "My answer is maybe."),
    "es": ("Sí.", "No.", "Quizás."),
    "fr": ("Oui.", "Non.", "Peut-être."),
}
_TITLE_MARKS = {"ja": ("『", "』"), "en": ("<<", ">>"), "es": ("<<", ">>"), "fr": ("##", "##")}
_STAR_RUN = re.compile(r"\*[^\n*]*\*")
_DOUBLE_STAR_RUN = re.compile(r"\*\*[^\n*]*\*\*")
_ANGLE_RUN = re.compile("《([^\n《》]*)》")
_NUMBERED = re.compile(r"\d+\.\s")
_FENCES = ("```json", "```Json", "```JSON", "```")
_ENDS = "。！？"


@instruction("detectable_format:number_bullet_lists", "ja en es fr", num_bullets=COUNT)
def number_bullet_lists(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Exactly so many bullets."""
    lines = text.split("\n")
    if rules.language == "ja" and rules.edition == "original":
        count = _dotted(lines)
    elif rules.language == "ja":
        count = _dotted(lines) + _starred(lines) + _dashed(lines)
    else:
        count = _starred(lines)
        if rules.language != "es":
            count += sum(line.lstrip().startswith("-") for line in lines)
    return count == limit(kwargs, "num_bullets")


def _dotted(lines: list[str]) -> int:
    return sum(line.lstrip().startswith("・") for line in lines)


def _starred(lines: list[str]) -> int:
    """Lines that begin with one asterisk; one that holds nothing else counts with the next line."""
    count, at = 0, 0
    while at < len(lines):
        line = lines[at].lstrip()
        if line == "*" and at + 1 < len(lines):
            count, at = count + 1, at + 1
        elif line.startswith("*") and line[1:2] not in ("", "*"):
            count += 1
        at += 1
    return count


def _dashed(lines: list[str]) -> int:
    """Lines that begin with a dash and a blank; the end of a line is a blank, as for `_starred`."""
    count, at = 0, 0
    while at < len(lines):
        line = lines[at].lstrip()
        if line == "-" and at + 1 < len(lines):
            count, at = count + 1, at + 1
        elif line.startswith("-") and line[1:2].isspace():
            count += 1
        at += 1
    return count


@instruction("detectable_format:number_numbered_lists", "ja", num_items=COUNT)
def number_numbered_lists(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Exactly so many lines that begin with a number, a dot and a blank."""
    lines = text.split("\n")
    # The end of a line is a blank too; the last line has none.
    ended = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    return sum(bool(_NUMBERED.match(line.lstrip())) for line in ended) == limit(kwargs, "num_items")


@instruction("detectable_format:constrained_response", "ja en es fr")
def constrained_response(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """One of three answers occurs."""
    return any(option in text for option in _OPTIONS[rules.language])


@instruction(
    "detectable_format:number_highlighted_sections",
    "ja en es fr",
    num_highlights=COUNT,
    relation=IGNORED,
)
def number_highlighted_sections(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """At least so many highlights: 《…》 in Japanese, else runs between asterisks."""
    if rules.language == "ja":
        runs = _ANGLE_RUN.findall(text)
    else:
        found = (*_STAR_RUN.findall(text), *_DOUBLE_STAR_RUN.findall(text))
        runs = [run.strip("*") for run in found]
    return sum(bool(run.strip()) for run in runs) >= limit(kwargs, "num_highlights")


@instruction(
    "detectable_format:multiple_sections",
    "ja en es fr",
    section_spliter=TEXT,
    num_sections=COUNT,
    relation=IGNORED,
)
def multiple_sections(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """At least so many headings: a word and a number."""
    word = kwargs["section_spliter"].strip()
    if rules.language == "ja":
        found = re.findall(rf"第\d+{re.escape(word)}", text)
    else:
        found = find_all(rf"{as_pattern(word, rules)}\s?\d+", text)
    return len(found) >= limit(kwargs, "num_sections")


@instruction("detectable_format:json_format", "ja en es fr")
def json_format(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """The whole answer is JSON, possibly in a code fence."""
    answer = text.strip()
    for fence in _FENCES:
        answer = answer.removeprefix(fence)
    try:
        json.loads(answer.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


@instruction("detectable_format:title", "ja en es fr")
def title(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """A title between marks, within a line."""
    opening, closing = _TITLE_MARKS[rules.language]
    for line in text.split("\n"):
        start, end = line.find(opening), line.rfind(closing)
        # The longest run of a line holds every shorter one.
        if start < 0 or end <= start + len(opening):
            continue
        inside = line[start : end + len(closing)].lstrip(opening[0]).rstrip(closing[0])
        if inside.strip():
            return True
    return False


@instruction("detectable_format:nominal_ending", "ja", needs="nouns", count=COUNT)
def nominal_ending(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """At least so many sentences outside quotations end in a noun."""
    tokens = parts_of_speech(without_quotes(text))
    found = sum(
        surface in _ENDS and before.startswith("名詞")
        for (_, before), (surface, _) in pairwise(tokens)
    )
    return found >= limit(kwargs, "count")
