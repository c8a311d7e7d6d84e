"""Build one regular expression out of many phrases, so that it is quick on any text.

Phrases that begin alike share their beginning in the expression, as in a trie: a plain alternation
of some hundred phrases tries each of them at every place and is forty times slower.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from tenbin.metrics.extraction.clean import fold

SENTENCE_END = r".!?。！？؟\n।۔።։။"

LATIN = "A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ"
"""What words of the Latin script are made of, for use in a character class."""

_ARABIC = "\u0621-\u064a\u066e-\u06d3\u06d5"
_WORD = LATIN + _ARABIC
# Scripts of further languages that part words by spaces: Greek, Cyrillic, Armenian, Hebrew, those
# of India and Sri Lanka, Georgian and Ethiopic.
_SPACED = (
    "\u0370-\u03ff\u0400-\u052f\u0531-\u0587\u05d0-\u05ea\u0900-\u0963"
    "\u0966-\u0dff\u10a0-\u10ff\u1200-\u135f"
)
WORD = _WORD + _SPACED
"""What words of all scripts with spaces between words are made of, for a character class."""
# A few words, naming no other choice on the way: of one sentence, or of one clause.
# Only a capital that stands alone names one: the e of "the" and the article "a" do not.
_OTHER_CHOICE = rf"(?<![{LATIN}])(?-i:[A-H])(?![{LATIN}])"
WITHIN_SENTENCE = rf"(?:(?!{_OTHER_CHOICE})[^{SENTENCE_END}]){{0,60}}?"
WITHIN_CLAUSE = rf"(?:(?!{_OTHER_CHOICE})[^{SENTENCE_END},;、،؛]){{0,60}}?"
_NOT_IN_A_WORD = f"(?<![{LATIN}-])"
# One-letter particles (and, so, with, for) are written together with the next word.
_AFTER_A_PARTICLE = f"(?:(?<![{_ARABIC}])|(?<![{_ARABIC}][{_ARABIC}])(?<=[وفبل]))"
# Arabic is written with and without hamza and with either final letter.
_ARABIC_VARIANTS = {**dict.fromkeys("اأإآ", "[اأإآ]"), "ة": "[ةه]", "ى": "[ىي]"}

_Trie: TypeAlias = "dict[str, _Trie]"
_END = ""
"""The key of a node where a phrase ends."""


def alternation(phrases: Iterable[str], wildcard: str) -> str:
    """An expression that matches any of the phrases, longer ones first.

    Args:
        phrases: As the language files give them; "…" stands for a few words.
        wildcard: The expression for these words.
    """
    ordered = sorted(set(map(fold, phrases)), key=lambda phrase: (-len(phrase), phrase))
    return _any_of(_symbols(phrase, wildcard) for phrase in ordered)


def repeatable(phrases: Iterable[str], between: str) -> str:
    r"""An expression for use as `(?:{expression}|[{between}])*`, whose repetition is unambiguous.

    A phrase that consists of others, such as 可能是 beside 可能 and 是, can be read in two ways,
    and a row of n of them in 2ⁿ: an expression that fails after such a row tries them all. Left
    out, it is still matched, one part after the other. Where white space between its parts may be
    of a kind that `between` lacks, the whole phrase is kept for that white space alone.

    Args:
        phrases: As the language files give them, without "…".
        between: What may stand between two phrases, for use in a character class.
    """
    folded = set(map(fold, phrases))
    other_space = rf"\s*[^\S{between}]\s*"
    kept: list[tuple[str, ...]] = []
    for phrase in sorted(folded, key=lambda one: (-len(one), one)):
        first = _first_part(phrase, folded - {phrase})
        if first is None:
            kept.append(_symbols(phrase, ""))
        elif phrase[len(first)] == " ":
            head, tail = _part_symbols(first), _part_symbols(phrase[len(first) + 1 :])
            kept.append((*head, other_space, *tail))
    return _any_of(kept)


def _first_part(phrase: str, others: set[str]) -> str | None:
    """The first of two or more phrases that a phrase consists of; None where it does not."""
    for other in sorted(others, key=len, reverse=True):
        if phrase.startswith(other):
            rest = phrase[len(other) :].removeprefix(" ")
            if rest in others or _first_part(rest, others) is not None:
                return other
    return None


def _any_of(phrases: Iterable[tuple[str, ...]]) -> str:
    """An expression for any of the phrases, which are rows of small expressions.

    What must not follow stands once behind all phrases that it follows: half of the time that
    compiling takes goes into these classes of characters.
    """
    by_end: dict[str, list[tuple[str, ...]]] = {}
    for symbols in phrases:
        bounded = symbols[-1:] if symbols[-1].startswith("(?!") else ()
        by_end.setdefault("".join(bounded), []).append(symbols[: len(symbols) - len(bounded)])
    ways = [f"(?:{_expression(_trie(rows))}){end}" for end, rows in by_end.items()]
    # No phrase at all matches nowhere: an empty expression would match everywhere.
    return f"(?:{'|'.join(ways)})" if ways else "(?!)"


def _trie(phrases: Iterable[tuple[str, ...]]) -> _Trie:
    root: _Trie = {}
    for symbols in phrases:
        node = root
        for symbol in symbols:
            node = node.setdefault(symbol, {})
        node[_END] = {}
    return root


def _expression(node: _Trie) -> str:
    ways = [symbol + _expression(below) for symbol, below in node.items() if symbol != _END]
    # The shorter phrase comes last, so that it does not cut a longer one short.
    ways += [""] if _END in node else []
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _symbols(phrase: str, wildcard: str) -> tuple[str, ...]:
    """A phrase as a row of small expressions."""
    symbols: list[str] = []
    for part in phrase.split("…"):
        symbols += [wildcard] if symbols else []
        symbols += _part_symbols(part.strip())
    return tuple(symbols)


def _part_symbols(part: str) -> list[str]:
    symbols = [_character(part, index) for index in range(len(part))]
    if re.match(f"[{LATIN}]", part):
        symbols.insert(0, _NOT_IN_A_WORD)
    if re.match(f"[{_ARABIC}]", part):
        symbols.insert(0, _AFTER_A_PARTICLE)
    if re.match(f"[{_SPACED}]", part):
        symbols.insert(0, f"(?<![{WORD}-])")
    if re.match(f"[{_WORD}]", part[-1]):
        symbols.append(f"(?![{_WORD}])")
    elif re.match(f"[{_SPACED}]", part[-1]):
        symbols.append(f"(?![{WORD}])")
    return symbols


def _character(part: str, index: int) -> str:
    character = part[index]
    if character != " ":
        return _ARABIC_VARIANTS.get(character, re.escape(character))
    # Thai, Japanese, Chinese and Korean writers put spaces in or leave them out.
    spaced = re.fullmatch(f"[{_WORD}',.]{{2}}", part[index - 1] + part[index + 1])
    return r"\s+" if spaced else r"\s*"
