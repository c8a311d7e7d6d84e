"""Exact match and F1 of reading comprehension, as SQuAD has them and language by language.

SQuAD's own rule lowers the case, deletes ASCII punctuation and the English articles, and compares
words between white space. It is what published scores of XQuAD use in all languages, though Chinese
and Thai have no spaces and other languages have articles of their own. The rule by language follows
MLQA: Unicode punctuation, articles of the language, single characters where there are no spaces.
"""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tenbin.metrics.base import metric
from tenbin.metrics.extraction.clean import normalise_unicode
from tenbin.metrics.options import SWITCH, TEXT

_ASCII_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]+")
_ENGLISH_ARTICLES = r"\b(?:a|an|the)\b"

ARTICLES: Mapping[str, str] = {
    # The article is written as part of the word. MLQA deletes these letters wherever they stand,
    # also inside words.
    "ar": r"\bال(?=\w)",
    "de": r"\b(?:ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    # Greek and Romanian are not in MLQA. Romanian's definite article is an ending, and stays.
    "el": r"\b(?:ο|η|το|οι|τα|του|της|των|τον|την|τη|τους|τις|ένας|μία|μια|ένα|έναν|ενός|μιας)\b",
    "en": _ENGLISH_ARTICLES,
    "es": r"\b(?:un|una|unos|unas|el|la|los|las)\b",
    "ro": r"\b(?:un|o|niște|unui|unei|unor)\b",
    # Vietnamese has no articles: MLQA's list of a preposition, a verb and three classifiers.
    "vi": r"\b(?:của|là|cái|chiếc|những)\b",
}
"""Language → what its articles match, in lower case; languages without articles are not here."""

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_THAI = "\u0e01-\u0e3a\u0e40-\u0e4e"
_WITHOUT_SPACES: Mapping[str, re.Pattern[str]] = {
    language: re.compile(rf"[{script}]|[^\s{script}]+")
    for language, script in (("zh", _HAN), ("th", _THAI))
}
"""Language → its tokens: each character of its script, and words of other scripts and numbers."""


@metric("squad_exact_match", "generate", options={"by_language": SWITCH, "language": TEXT})
def squad_exact_match(
    answer: str, references: Sequence[str], *, by_language: bool = False, language: str = "en"
) -> float:
    """1 when the normalised answer equals any normalised reference, else 0.

    Args:
        answer: What was read out of the generated text.
        references: Accepted answers.
        by_language: Normalise by the rule of the language; otherwise by SQuAD's, which is English.
        language: The language of answer and references.
    """
    tokens = _rule(by_language, language)
    given = tokens(answer)
    return float(any(given == tokens(reference) for reference in references))


@metric("squad_f1", "generate", options={"by_language": SWITCH, "language": TEXT})
def squad_f1(
    answer: str, references: Sequence[str], *, by_language: bool = False, language: str = "en"
) -> float:
    """The best F1 over tokens, from 0 to 1; two texts without tokens are equal.

    Args:
        answer: What was read out of the generated text.
        references: Accepted answers.
        by_language: Cut into tokens by the rule of the language; otherwise by SQuAD's.
        language: The language of answer and references.
    """
    tokens = _rule(by_language, language)
    given = Counter(tokens(answer))
    accepted = (Counter(tokens(reference)) for reference in references)
    return max((_f1(given, one) for one in accepted), default=0.0)


def squad_tokens(text: str) -> list[str]:
    """The words of a text by SQuAD's rule, which joins them with spaces for an exact match."""
    bare = _ASCII_PUNCTUATION.sub("", text.lower())
    return _articles("en").sub(" ", bare).split()


def tokens_of_language(text: str, language: str) -> list[str]:
    """The tokens of a text by the rule of its language."""
    lowered = normalise_unicode("NFC", text).lower()
    if language == "tr":
        # Both Turkish letters, i and ı, as one: lower-casing mixes them up.
        lowered = lowered.replace("i\u0307", "i").replace("ı", "i")
    bare = _punctuation().sub("", lowered)
    if language in ARTICLES:
        bare = _articles(language).sub(" ", bare)
    cut = _WITHOUT_SPACES.get(language)
    return bare.split() if cut is None else cut.findall(bare)


def _rule(by_language: bool, language: str) -> Callable[[str], list[str]]:
    if not by_language:
        return squad_tokens
    return lambda text: tokens_of_language(text, language)


def _f1(given: Counter[str], reference: Counter[str]) -> float:
    if not given or not reference:
        return float(given == reference)
    shared = (given & reference).total()
    if shared == 0:
        return 0.0
    precision, recall = shared / given.total(), shared / reference.total()
    return 2 * precision * recall / (precision + recall)


@lru_cache
def _articles(language: str) -> re.Pattern[str]:
    return re.compile(ARTICLES[language])


@lru_cache
def _punctuation() -> re.Pattern[str]:
    """All that Unicode calls punctuation, and the symbols that ASCII has among its own."""
    marks = (chr(code) for code in range(sys.maxunicode + 1))
    found = "".join(mark for mark in marks if unicodedata.category(mark).startswith("P"))
    return re.compile(f"[{re.escape(found + string.punctuation)}]+")
