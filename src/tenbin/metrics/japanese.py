"""Exact match and F1 of extracted Japanese answers, in percent.

Knows how Japanese text is normalised and cut into words; does not know which task asks. The
tokenizer and the normaliser are loaded on first use.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

PUNCTUATION = frozenset(
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗"
    "〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏" + string.punctuation
)

_SYMBOLS = re.compile(
    "[\U0001f600-\U0001f64f\U0001f300-\U0001f5ff\U0001f680-\U0001f6ff\U0001f1e0-\U0001f1ff"
    "\u2702-\u27b0]+"
)


def normalise(text: str) -> str:
    """Drop emoji, unify character widths and collapse white space."""
    import emoji
    import neologdn  # type: ignore[import-not-found]

    kept = "".join(character for character in text if not emoji.is_emoji(character))
    unified: str = neologdn.normalize(_SYMBOLS.sub("", kept))
    return " ".join(unified.split())


def tokenise(text: str) -> list[str]:
    """Cut a text into words, punctuation marks left out."""
    words = _tagger().parse(normalise(text)).split()
    return [word for word in words if word not in PUNCTUATION]


def japanese_exact_match(prediction: str, references: Sequence[str]) -> float:
    """100 when the normalised prediction equals any normalised reference, else 0."""
    answer = normalise(prediction)
    return 100.0 if any(answer == normalise(reference) for reference in references) else 0.0


def japanese_f1(prediction: str, references: Sequence[str]) -> float:
    """The best bag-of-words F1 over the references, 0 to 100."""
    answer = tokenise(prediction)
    return 100.0 * max((_f1(answer, tokenise(reference)) for reference in references), default=0.0)


def _f1(prediction: list[str], reference: list[str]) -> float:
    shared = (Counter(prediction) & Counter(reference)).total()
    if shared == 0:
        return 0.0
    precision, recall = shared / len(prediction), shared / len(reference)
    return 2 * precision * recall / (precision + recall)


@lru_cache(maxsize=1)
def _tagger() -> Any:
    # Reading the dictionary takes a while: once per process is enough.
    import fugashi  # type: ignore[import-untyped]

    return fugashi.Tagger("-Owakati")
