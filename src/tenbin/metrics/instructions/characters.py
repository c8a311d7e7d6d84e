"""Instructions about single characters: accents and special letters, and punctuation."""

from __future__ import annotations

import re

from tenbin.metrics.instructions.base import (
    COUNT,
    RELATION,
    TEXT,
    WORD_RUN,
    WORDS,
    Kwargs,
    Rules,
    compare,
    instruction,
    limit,
    without_accents,
)
from tenbin.metrics.instructions.words import spanish_words

_ACUTE = re.compile("[áéíóúÁÉÍÓÚ]")
_ACCENTED = re.compile("[àáâãäåçèéêëìíîïñòóôõöùúûüýÿÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝ]")


@instruction("punctuation:no_comma", "ja en es fr")
def no_comma(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """No comma; in Japanese no 、."""
    return ("、" if rules.language == "ja" else ",") not in text


@instruction("punctuation:no_period", "ja")
def no_period(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """No 。."""
    return "。" not in text


@instruction("punctuation:question_marks", "es")
def question_marks(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """At least one question between ¿ and ?."""
    return _between(text, "¿", "?")


@instruction("punctuation:exclamation_marks", "es")
def exclamation_marks(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """At least one exclamation between ¡ and !."""
    return _between(text, "¡", "!")


def _between(text: str, opening: str, closing: str) -> bool:
    at = text.find(opening)
    while at >= 0:
        end = text.find(closing, at)
        if end < 0:
            return False
        if text[at:end].strip(opening + closing).strip():
            return True
        at = text.find(opening, end)
    return False


@instruction("special_character:enie", "es", needs="words", let_frequency=COUNT)
def enie(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Exactly so many words with ñ."""
    return _words_with(text, "ñ", rules) == limit(kwargs, "let_frequency")


@instruction("special_character:dieresis", "es", needs="words", let_frequency=COUNT)
def dieresis(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Exactly so many words with ü."""
    return _words_with(text, "ü", rules) == limit(kwargs, "let_frequency")


def _words_with(text: str, letter: str, rules: Rules) -> int:
    return sum(letter in word.lower() for word in spanish_words(text, rules))


@instruction("special_character:tildes", "es", needs="words", num_words=COUNT, relation=RELATION)
def tildes(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Enough or few enough words with an acute accent."""
    count = sum(_ACUTE.search(word) is not None for word in spanish_words(text, rules))
    return compare(count, kwargs["relation"], kwargs["num_words"], rules.language)


@instruction("special_character:ethel_or_cedilla", "fr", forbidden_char=TEXT)
def ethel_or_cedilla(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """A character does not occur, in either case."""
    return kwargs["forbidden_char"].lower() not in text.lower()


@instruction("special_character:no_accents", "fr")
def no_accents(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """No accented letter; œ and æ are none."""
    return _ACCENTED.search(text) is None


@instruction("special_character:accents", "fr", word_to_accentuate=WORDS)
def accents(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Words that occur are written with their accents; those that do not occur are not missed."""
    wanted = kwargs["word_to_accentuate"]
    words = set(WORD_RUN.findall(text.lower()))
    return all(word == wanted.get(without_accents(word), word) for word in words)
