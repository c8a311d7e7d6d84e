"""Metrics of generated Japanese text: exact match and F1 over words, in percent.

Texts are normalised and cut into words with MeCab in a time that is linear in their length,
whatever they hold. The tokenizer and the normaliser are loaded on first use.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tenbin.metrics.base import metric
from tenbin.metrics.repetition import as_series

PUNCTUATION = frozenset(
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗"
    "〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏" + string.punctuation
)

_SYMBOLS = re.compile(
    "[\U0001f600-\U0001f64f\U0001f300-\U0001f5ff\U0001f680-\U0001f6ff\U0001f1e0-\U0001f1ff"
    "\u2702-\u27b0]+"
)
# The libraries end a text at a null character and cannot be given half a surrogate pair.
_BROKEN = re.compile("[\0\ud800-\udfff]")
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


def normalise(text: str) -> str:
    """Drop emoji, unify character widths and collapse white space."""
    import emoji
    import neologdn  # type: ignore[import-not-found]

    whole = _BROKEN.sub("\ufffd", text)
    dropped = {ord(character): None for character in set(whole) if emoji.is_emoji(character)}
    kept = whole.translate(dropped) if dropped else whole
    unified: str = neologdn.normalize(_SYMBOLS.sub("", kept))
    return " ".join(unified.split())


def tokenise(text: str) -> list[str]:
    """Cut a text into words, punctuation marks left out."""
    return [word for word in cut_into_words(normalise(text)) if word not in PUNCTUATION]


@metric("japanese_exact_match", "generate", percent=True)
def japanese_exact_match(answer: str, references: Sequence[str]) -> float:
    """100 when the normalised answer equals any normalised reference, else 0."""
    accepted = {normalise(reference) for reference in references}
    lengths = {len(one) for one in accepted}
    return 100.0 if _may_have_length(answer, lengths) and normalise(answer) in accepted else 0.0


@metric("japanese_f1", "generate", percent=True)
def japanese_f1(answer: str, references: Sequence[str]) -> float:
    """The best bag-of-words F1 over the references, 0 to 100."""
    words = count_words(answer)
    accepted = (Counter(tokenise(reference)) for reference in references)
    return 100.0 * max((_f1(words, one) for one in accepted), default=0.0)


def count_words(text: str) -> Counter[str]:
    """How often each word stands in a text: of a repetition a part is cut into words."""
    series = as_series(text, _KEPT, _KEPT_PERIODS)
    if series is not None:
        first, second, third = (Counter(tokenise(one)) for one in series.texts)
        growth = second - first
        # Words at the seams of a step may be cut in another way each time: then nothing is gained.
        if first + growth == second and second + growth == third:
            return first + Counter({word: series.steps * n for word, n in growth.items()})
    return Counter(tokenise(text))


def _may_have_length(text: str, lengths: set[int]) -> bool:
    """Whether a text's normal form may be one of these lengths; all of a repetition is not read."""
    series = as_series(text, _KEPT, _KEPT_PERIODS)
    if series is None:
        return True
    first, second, third = (len(normalise(one)) for one in series.texts)
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
