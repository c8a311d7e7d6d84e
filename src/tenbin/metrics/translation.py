"""Statistics of BLEU, chrF and TER of one answer, counted by sacrebleu.

The three are functions of sums over documents: n-gram counts, lengths, edits. What is kept of a
document are its counts, so that resamples need no second look at texts;
`tenbin.statistics.translation` gives the score of their sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from tenbin.errors import TaskError
from tenbin.metrics.base import metric

_EXTRA = "lm-eval"
"""The extra of this package that brings what these metrics need."""


@lru_cache
def _scorer(name: str) -> Any:
    """Sacrebleu's scorer with its defaults.

    Raises:
        TaskError: Sacrebleu is not installed.
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
        from sacrebleu.metrics.ter import TER
    except ImportError:
        raise missing_package(name, "sacrebleu") from None
    makers: dict[str, Callable[[], Any]] = {
        "bleu": BLEU,
        "chrf": CHRF,
        "chrf++": lambda: CHRF(word_order=2),
        "ter": TER,
    }
    return makers[name]()


def missing_package(name: str, package: str) -> TaskError:
    """That a metric needs a package which is not installed."""
    return TaskError(
        f"metric {name!r} needs the package {package}", f"pip install 'tenbin[{_EXTRA}]'"
    )


TRANSLATION = ("bleu", "chrf", "chrf++", "ter")


def segment_statistics(name: str, answer: str, references: Sequence[str]) -> tuple[float, ...]:
    """What a document adds to the sums that a score is made of.

    Args:
        name: One of `TRANSLATION`.
        answer: What was read out of the generated text.
        references: One or several translations.
    """
    counts = _scorer(name)._extract_corpus_statistics([answer], [[one] for one in references])
    return tuple(float(count) for count in counts[0])


def sentence_score(name: str, statistics: Sequence[float]) -> float:
    """The score of one document by itself, from 0 to 100 (above 100 for TER)."""
    return float(_scorer(name)._compute_score_from_stats(list(statistics)).score)


@metric(
    "bleu",
    "generate",
    aggregation="bleu",
    percent=True,
    item=partial(segment_statistics, "bleu"),
)
def bleu(statistics: Sequence[float]) -> float:
    """BLEU of this document; the score of many is that of their summed counts."""
    return sentence_score("bleu", statistics)


@metric(
    "chrf",
    "generate",
    aggregation="chrf",
    percent=True,
    item=partial(segment_statistics, "chrf"),
)
def chrf(statistics: Sequence[float]) -> float:
    """The chrF of this document: an F score of character n-grams."""
    return sentence_score("chrf", statistics)


@metric(
    "chrf++",
    "generate",
    aggregation="chrf++",
    percent=True,
    item=partial(segment_statistics, "chrf++"),
)
def chrf_plus_plus(statistics: Sequence[float]) -> float:
    """The chrF++ of this document: chrF with words and pairs of words."""
    return sentence_score("chrf++", statistics)


@metric(
    "ter",
    "generate",
    aggregation="ter",
    percent=True,
    higher_is_better=False,
    unread=100.0,
    item=partial(segment_statistics, "ter"),
)
def ter(statistics: Sequence[float]) -> float:
    """Edits that make the reference of the answer, per hundred words of the reference."""
    return sentence_score("ter", statistics)
