"""Exact match and F1 of extracted Japanese answers, in percent.

Knows how Japanese text is normalised and cut into words; does not know which task asks. The
tokenizer and the normaliser are loaded on first use.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from tenbin.metrics.repetition import as_series
from tenbin.metrics.words import cut_into_words

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


def japanese_exact_match(prediction: str, references: Sequence[str]) -> float:
    """100 when the normalised prediction equals any normalised reference, else 0."""
    accepted = {normalise(reference) for reference in references}
    lengths = {len(one) for one in accepted}
    return (
        100.0
        if _may_have_length(prediction, lengths) and normalise(prediction) in accepted
        else 0.0
    )


def japanese_f1(prediction: str, references: Sequence[str]) -> float:
    """The best bag-of-words F1 over the references, 0 to 100."""
    answer = count_words(prediction)
    accepted = (Counter(tokenise(reference)) for reference in references)
    return 100.0 * max((_f1(answer, one) for one in accepted), default=0.0)


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
