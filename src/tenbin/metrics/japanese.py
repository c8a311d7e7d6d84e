"""Metrics of generated Japanese text: exact match and F1, over words and over characters.

Texts are normalised and cut into words with MeCab in a time that is linear in their length,
whatever they hold. The tokenizer and the normaliser are loaded on first use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from tenbin.metrics.base import metric
from tenbin.metrics.normalisation import PUNCTUATION, answer_form, nfkc, normalise, sorted_words
from tenbin.metrics.options import SWITCH
from tenbin.metrics.repetition import as_series

_KEPT = 256
_KEPT_PERIODS = 12

# At every character MeCab looks for the end of the run of characters of its kind, so that ten
# thousand digits, symbols or Thai letters in a row take seconds and a million take days. It does
# not look for runs of hiragana and kanji, and shorter runs are cheap.
_LONG_RUN = re.compile("[^\\s\u3041-\u3096\u4e00-\u9fff]{2000,}")
_PIECE = 600
"""Characters that are parsed at a time where a text has a long run."""
_OVERLAP = 150
"""Characters that two pieces share: within them their words agree, far from both ends."""


def tokenise(text: str) -> list[str]:
    """Cut a text into words, punctuation marks left out."""
    return [word for word in cut_into_words(normalise(text)) if word not in PUNCTUATION]


@metric("japanese_exact_match", "generate", percent=True)
def japanese_exact_match(answer: str, references: Sequence[str]) -> float:
    """100 when the normalised answer equals any normalised reference, else 0."""
    accepted = {normalise(reference) for reference in references}
    lengths = {len(one) for one in accepted}
    possible = _may_have_length(answer, lengths, normalise)
    return 100.0 if possible and normalise(answer) in accepted else 0.0


@metric("japanese_f1", "generate", percent=True)
def japanese_f1(answer: str, references: Sequence[str]) -> float:
    """The best bag-of-words F1 over the references, 0 to 100."""
    words = count_words(answer)
    accepted = (Counter(tokenise(reference)) for reference in references)
    return 100.0 * max((_f1(words, one) for one in accepted), default=0.0)


@metric("nfkc_exact_match", "generate")
def nfkc_exact_match(answer: str, references: Sequence[str]) -> float:
    """1 when answer and a reference are equal after NFKC and stripping: llm-jp-eval's."""
    read = nfkc(answer)
    return float(any(read == nfkc(reference) for reference in references))


@metric("answer_exact_match", "generate")
def answer_exact_match(answer: str, references: Sequence[str]) -> float:
    """1 when answer and a reference are equal but for widths, case, signs and blanks."""
    accepted = {answer_form(reference) for reference in references}
    lengths = {len(one) for one in accepted}
    return float(_may_have_length(answer, lengths, answer_form) and answer_form(answer) in accepted)


@metric("character_f1", "generate")
def character_f1(answer: str, references: Sequence[str]) -> float:
    """The best F1 over the characters of the answer and of a reference, 0 to 1.

    Characters are counted wherever they stand. Texts are compared as by `answer_exact_match`.
    """
    characters = _count(answer, answer_form)
    accepted = (Counter(answer_form(reference)) for reference in references)
    return max((_f1(characters, one) for one in accepted), default=0.0)


@metric("fuzzy_char_f1", "generate", options={"joined": SWITCH})
def fuzzy_char_f1(answer: str, references: Sequence[str], *, joined: bool = False) -> float:
    """What llm-jp-eval calls char_f1, 0 to 1 in steps of 0.01; no F1 over characters.

    Twice the characters in matching blocks of `difflib` over those of both texts. Both are
    NFKC-normalised, their words sorted.

    Args:
        answer: What was read out of the generated text.
        references: Accepted answers.
        joined: Compare with all references, joined by commas, instead of the best one.
    """
    accepted = [",".join(references)] if joined else references
    return max((_matching_share(nfkc(answer), nfkc(one)) for one in accepted), default=0.0)


def _matching_share(answer: str, reference: str) -> float:
    first, second = sorted_words(answer), sorted_words(reference)
    # No more than the shorter text can match: less than half a percent is 0, whatever matches.
    least, total = min(len(first), len(second)), len(first) + len(second)
    if least == 0 or 400 * least < total:
        return 0.0
    return round(100 * SequenceMatcher(None, first, second).ratio()) / 100


def count_words(text: str) -> Counter[str]:
    """How often each word stands in a text: of a repetition a part is cut into words."""
    return _count(text, tokenise)


def _count(text: str, units: Callable[[str], Iterable[str]]) -> Counter[str]:
    """How often each unit stands in a text; all of a repetition is not read."""
    series = as_series(text, _KEPT, _KEPT_PERIODS)
    if series is not None:
        first, second, third = (Counter(units(one)) for one in series.texts)
        growth = second - first
        # Words at the seams of a step may be cut in another way each time: then nothing is gained.
        if first + growth == second and second + growth == third:
            return first + Counter({unit: series.steps * n for unit, n in growth.items()})
    return Counter(units(text))


def _may_have_length(text: str, lengths: set[int], form: Callable[[str], str]) -> bool:
    """Whether a text's normal form may be one of these lengths; all of a repetition is not read."""
    series = as_series(text, _KEPT, _KEPT_PERIODS)
    if series is None:
        return True
    first, second, third = (len(form(one)) for one in series.texts)
    if third - second != second - first:
        return True
    return first + series.steps * (second - first) in lengths


def _f1(prediction: Counter[str], reference: Counter[str]) -> float:
    shared = (prediction & reference).total()
    if shared == 0:
        return 0.0
    precision, recall = shared / prediction.total(), shared / reference.total()
    return 2 * precision * recall / (precision + recall)


def cut_into_words(text: str) -> list[str]:
    """The words of a normalised text, white space left out."""
    return _parse(text) if _LONG_RUN.search(text) is None else _parse_in_pieces(text)


def _parse(text: str) -> list[str]:
    words: list[str] = _tagger().parse(text).split()
    return words


def _parse_in_pieces(text: str) -> list[str]:
    """The words of a text, in pieces joined where both of two have a boundary."""
    words: list[str] = []
    spans, stop = _spans(text, 0, _PIECE), _PIECE
    while stop < len(text):
        # The last words of a piece are cut as if the text ended there, the first as if it began.
        shared = [begin for begin, _ in spans if stop - 2 * _OVERLAP <= begin <= stop - _OVERLAP]
        start = shared[0] if shared else stop - _OVERLAP
        stop = start + _PIECE
        following = _spans(text, start, stop)
        boundaries = {begin for begin, _ in following}
        seam = max((one for one in shared if one in boundaries), default=start)
        words += [text[begin:end] for begin, end in spans if begin < seam]
        spans = [span for span in following if span[0] >= seam]
    return words + [text[begin:end] for begin, end in spans]


def _spans(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Where words begin and end in a part of a text."""
    spans = []
    at = start
    for word in _parse(text[start:stop]):
        begin = text.index(word, at)
        at = begin + len(word)
        spans.append((begin, at))
    return spans


@lru_cache(maxsize=1)
def _tagger() -> Any:
    # Reading the dictionary takes a while: once per process is enough.
    import fugashi  # type: ignore[import-untyped]

    return fugashi.Tagger("-Owakati")
