"""Instructions about the length and the division of an answer."""

from __future__ import annotations

import re
import string

from tenbin.metrics.instructions.base import (
    COUNT,
    PLACE,
    RELATION,
    TEXT,
    WORD_RUN,
    Kwargs,
    Rules,
    compare,
    instruction,
    limit,
)
from tenbin.metrics.instructions.sentences import count_sentences
from tenbin.metrics.instructions.words import spanish_words, without_list_marks

_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_WORD_END = re.compile("[.,?!'\"]")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
# What may stand before the first word of a Japanese paragraph, each removed as often as it comes.
_JAPANESE_MARKS = re.compile(r"\s+|>|#{1,6}|[-*+]\s|・|\d+[.)]\s|\*\*|__|[*_`]|[「『（(《〈]")


@instruction(
    "length_constraints:number_sentences",
    "ja en es fr",
    needs="sentences",
    num_sentences=COUNT,
    relation=RELATION,
)
def number_sentences(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Enough or few enough sentences."""
    count = count_sentences(text, rules)
    return compare(count, kwargs["relation"], kwargs["num_sentences"], rules.language)


@instruction("length_constraints:number_paragraphs", "ja en es fr", num_paragraphs=COUNT)
def number_paragraphs(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Exactly so many paragraphs divided by three asterisks."""
    pieces = [piece.strip() for piece in _DIVIDER.split(text)]
    if not all(pieces[1:-1]):
        return False
    return sum(map(bool, pieces)) == limit(kwargs, "num_paragraphs")


@instruction("length_constraints:number_words", "en fr", num_words=COUNT, relation=RELATION)
def number_words(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Enough or few enough words: runs of letters and digits."""
    count = len(WORD_RUN.findall(text))
    return compare(count, kwargs["relation"], kwargs["num_words"], rules.language)


@instruction(
    "length_constraints:number_words", "es", needs="words", num_words=COUNT, relation=RELATION
)
def number_spanish_words(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Enough or few enough words: tokens that are no punctuation, list marks left out."""
    count = len(spanish_words(without_list_marks(text).replace("\n", " "), rules))
    return compare(count, kwargs["relation"], kwargs["num_words"], rules.language)


@instruction("length_constraints:number_letters", "ja", num_letters=COUNT, relation=RELATION)
def number_letters(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Enough or few enough characters, blanks and newlines included."""
    return compare(len(text), kwargs["relation"], kwargs["num_letters"], rules.language)


@instruction(
    "length_constraints:nth_paragraph_first_word",
    "ja en es fr",
    num_paragraphs=COUNT,
    nth_paragraph=PLACE,
    first_word=TEXT,
)
def nth_paragraph_first_word(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Exactly so many paragraphs divided by blank lines, one of which begins with a word.

    As published, blank paragraphs are not counted, but still shift which one is the nth.
    """
    pieces = [piece.strip() for piece in text.split("\n\n")]
    filled = [piece for piece in pieces if piece]
    nth = kwargs["nth_paragraph"]
    if nth > len(filled) or len(filled) != kwargs["num_paragraphs"]:
        return False
    paragraph = (filled if rules.corrected else pieces)[nth - 1]
    return bool(paragraph) and _begins_with(paragraph, kwargs["first_word"].lower(), rules)


def _begins_with(paragraph: str, word: str, rules: Rules) -> bool:
    if rules.language == "ja":
        plain = paragraph if rules.edition == "original" else _without_marks(paragraph)
        return plain.startswith(word)
    tokens = paragraph.lower().split()
    if rules.language == "es":
        wanted = word.split()
        found = [token.translate(_NO_PUNCTUATION) for token in tokens[: len(wanted)]]
        return found == wanted
    first = tokens[0].lstrip("'").lstrip('"')
    return _WORD_END.split(first, maxsplit=1)[0] == word


def _without_marks(paragraph: str) -> str:
    at = 0
    while match := _JAPANESE_MARKS.match(paragraph, at):
        at = match.end()
    return paragraph[at:]
