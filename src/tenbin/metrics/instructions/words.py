"""Words as rules count them: tenbin's own splitting, or the published tools'."""

from __future__ import annotations

import re

from tenbin.metrics.instructions.base import Rules
from tenbin.metrics.instructions.tools import nltk_tokens, spacy_words

SPANISH_WORDS = "tenbin es words 1"
CAPITALS = "tenbin capital words 1"
"""The splitters' names in results: raise the number when a word is cut in another way."""

# A number or an abbreviation keeps its dots and commas, a compound its hyphens. A word and a sign
# that is no punctuation (€ + = and emoji) are words; runs of blanks are found apart.
_SPANISH = re.compile(
    r"https?://\S+"
    r"|[^\W_](?:[\w\u0300-\u036f]|[-'’·&@_](?=\w)|(?<=\d)[.,:/](?=\d)|(?<![a-záéíóúüñ])\.(?=\w)"
    r"|(?<=[a-záéíóúüñ])\.(?=[a-z0-9áéíóúüñ]))*"
    r"|[^\w\s!-/:-@\[-`{-~\u00a1\u00a7\u00ab\u00b6\u00b7\u00bb\u00bf\u2010-\u2027\u2030-\u205e]"
    r"|[$+<=>^|~`]"
)
_EXTRA_BLANKS = re.compile(r"\A\s+|(?<=\S) (\s+)(?=\S)|(?<=\S)[^\S ]\s*(?=\S)")
_LIST_MARK = re.compile(r"^[^\S\n]*(?:\d+\.[^\S\n]*|[-*][^\S\n]+)", re.MULTILINE)

_BREAKS = re.compile(
    r"[\s\"“”„‘’«»()\[\]{}<>;@#$%&?!*…]+|\.{2,}|--+|[,:](?=\D|$)|(?<=\w)\.(?=\s|$)"
)
_CONTRACTION = re.compile(
    r"(?:N'T|'(?:S|M|D|LL|RE|VE)|(?<=\bCAN)NOT|(?<=\bGON|\bGOT|\bWAN)[NT]A|(?<=\bGIM|\bLEM)ME)\Z",
    re.IGNORECASE,
)


def without_list_marks(text: str) -> str:
    """A text without the numbers, dashes and asterisks that begin the lines of a list."""
    return _LIST_MARK.sub("", text)


def spanish_words(text: str, rules: Rules) -> list[str]:
    """The words of a Spanish text; as published, runs of extra blanks count as words."""
    if rules.published_tools:
        words = spacy_words(text)
        return [word for word in words if word.strip()] if rules.corrected else words
    words = [match.group() for match in _SPANISH.finditer(text)]
    if not rules.corrected:
        words += [match.group() for match in _EXTRA_BLANKS.finditer(text)]
    return words


def capital_tokens(text: str, rules: Rules) -> int:
    """How many words are in capitals: at least one letter, and no small one."""
    if rules.language == "es":
        return sum(word.isupper() for word in spanish_words(text, rules))
    tokens = nltk_tokens(text) if rules.published_tools else own_tokens(text)
    return sum(token.isupper() for token in tokens)


def own_tokens(text: str) -> list[str]:
    """The words of an English or French text; an English contraction is two, as in NLTK."""
    words = []
    for word in _BREAKS.split(text):
        found = _CONTRACTION.search(word)
        words += [word[: found.start()], found.group()] if found else [word]
    return [word for word in words if word]
