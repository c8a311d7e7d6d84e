"""Cut Japanese text into words with MeCab, in a time that is linear in the length of any text.

At every character MeCab looks for the end of the run of characters of its kind, so that ten
thousand digits, symbols or Thai letters in a row take seconds and a million take days. Such a text
is cut in overlapping pieces. Knows no metric.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

# MeCab does not look for runs of hiragana and kanji. Shorter runs are cheap.
_LONG_RUN = re.compile("[^\\s\u3041-\u3096\u4e00-\u9fff]{2000,}")
_PIECE = 600
"""Characters that are parsed at a time."""
_OVERLAP = 150
"""Characters that two pieces share: within them their words agree, far from both ends."""


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
