"""Instructions about words and letters that must or must not occur."""

from __future__ import annotations

import re

from tenbin.metrics.instructions.base import (
    COUNT,
    LETTER,
    RELATION,
    TEXT,
    TEXTS,
    Kwargs,
    Rules,
    compare,
    instruction,
)
from tenbin.metrics.instructions.tools import surfaces
from tenbin.metrics.patterns import find_all

_KATAKANA_AFTER_HIRAGANA = 96
"""Code points from a hiragana to its katakana."""
_HIRAGANA = re.compile("[\u3041-\u3093]")
_EVERY_HIRAGANA = re.compile("[\u3041-\u3096\u309d\u309e]")


@instruction("keywords:existence", "ja en es fr", keywords=TEXTS)
def existence(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Every keyword occurs, also as a part of a longer word."""
    return all(occurrences(text, word, rules) for word in kwargs["keywords"])


@instruction("keywords:frequency", "ja en es fr", keyword=TEXT, frequency=COUNT, relation=RELATION)
def frequency(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """A keyword occurs often or seldom enough; occurrences do not overlap."""
    count = occurrences(text, kwargs["keyword"].strip(), rules)
    return compare(count, kwargs["relation"], kwargs["frequency"], rules.language)


@instruction("keywords:forbidden_words", "ja en es fr", forbidden_words=TEXTS)
def forbidden_words(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """None of the words occurs; with word boundaries, except in Japanese."""
    words = kwargs["forbidden_words"]
    if rules.language == "ja":
        return not any(occurrences(text, word, rules) for word in words)
    return not any(find_all(rf"(?i)\b{as_pattern(word, rules)}\b", text) for word in words)


@instruction(
    "keywords:letter_frequency",
    "ja en es fr",
    letter=LETTER,
    let_frequency=COUNT,
    let_relation=RELATION,
)
def letter_frequency(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """One character occurs often or seldom enough.

    Case is ignored; in Japanese a hiragana stands for its katakana too.
    """
    letter = kwargs["letter"].strip()
    if rules.language == "ja":
        letters = {letter}
        if (_EVERY_HIRAGANA if rules.corrected else _HIRAGANA).fullmatch(letter):
            letters.add(chr(ord(letter) + _KATAKANA_AFTER_HIRAGANA))
        count = sum(map(text.count, letters))
    else:
        count = text.lower().count(letter.lower())
    return compare(count, kwargs["let_relation"], kwargs["let_frequency"], rules.language)


def occurrences(text: str, word: str, rules: Rules) -> int:
    """How often a word occurs.

    In Japanese as exact characters (in the original edition among Janome's tokens), else without
    regard to case.
    """
    if rules.language != "ja":
        return len(find_all(f"(?i){as_pattern(word, rules)}", text))
    if rules.edition == "original":
        return surfaces(text).count(word)
    return text.count(word)


def as_pattern(word: str, rules: Rules) -> str:
    """A word as a regular expression: itself, or, as published, what it means as a pattern."""
    return re.escape(word) if rules.corrected else word
