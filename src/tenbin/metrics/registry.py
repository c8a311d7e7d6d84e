"""The metrics by name, and what is to know about each before a model loads.

Knows names, kinds and aggregations; computes nothing and imports nothing heavy.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from tenbin.errors import TaskError
from tenbin.records import Kind

Aggregation = Literal[
    "mean", "balanced_acc", "mcc", "macro_f1", "weighted_perplexity", "bits_per_byte"
]


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric is, apart from its arithmetic."""

    name: str
    kind: Kind
    """The kind of task it judges."""
    aggregation: Aggregation
    """How the values of documents become one number."""
    higher_is_better: bool
    needs_unconditional: bool
    """Whether choices must also be scored without their prompt."""
    description: str
    percent: bool = False
    """Whether values run from 0 to 100 instead of 0 to 1."""
    needs_likelihoods: bool = False
    """Whether it cannot judge a model that only names a choice."""

    @property
    def top(self) -> float | None:
        """The highest value that a document can have; None where there is no such bound."""
        if self.kind == "roll":
            return None
        return 100.0 if self.percent else 1.0


def _choice(name: str, description: str, aggregation: Aggregation = "mean") -> Metric:
    return Metric(name, "choice", aggregation, True, False, description)


def _weighing(name: str, description: str, unconditional: bool = False) -> Metric:
    return Metric(name, "choice", "mean", True, unconditional, description, needs_likelihoods=True)


def _generate(
    name: str, description: str, higher_is_better: bool = True, percent: bool = False
) -> Metric:
    return Metric(name, "generate", "mean", higher_is_better, False, description, percent)


def _roll(name: str, description: str, aggregation: Aggregation = "weighted_perplexity") -> Metric:
    return Metric(name, "roll", aggregation, False, False, description, needs_likelihoods=True)


NO_CHOICE = "no_choice"

_ALL = (
    _choice("acc", "share of documents whose most likely choice is the right one"),
    _weighing("acc_norm", "acc with log-likelihood per character of the choice"),
    _weighing("acc_norm_bytes", "acc with log-likelihood per UTF-8 byte of the choice"),
    _weighing("acc_norm_tokens", "acc with log-likelihood per token of the choice"),
    _weighing("acc_pmi", "acc by how much the prompt raises a choice's likelihood", True),
    _choice("balanced_acc", "mean recall over the gold classes", "balanced_acc"),
    _choice("mcc", "Matthews correlation of gold and predicted classes", "mcc"),
    _choice("macro_f1", "mean F1 over classes", "macro_f1"),
    Metric(
        NO_CHOICE,
        "choice",
        "mean",
        False,
        False,
        "share of documents to which no choice was named; none where choices are weighed",
    ),
    _generate(
        "japanese_exact_match", "percent equal to a reference after normalisation", True, True
    ),
    _generate("japanese_f1", "bag-of-words F1 with a reference, in percent", True, True),
    _generate("exact_match", "share of answers equal to a reference"),
    _generate("format_failure", "share of answers from which nothing could be read", False),
    _roll("word_perplexity", "perplexity per word, as divided by white space"),
    _roll("byte_perplexity", "perplexity per UTF-8 byte"),
    _roll("bits_per_byte", "bits needed for one UTF-8 byte", "bits_per_byte"),
    _roll("char_perplexity", "perplexity per character, for scripts without spaces too"),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}


def find_metric(name: str) -> Metric:
    """Look a metric up.

    Raises:
        TaskError: There is none of that name; the hint gives the closest ones.
    """
    if name in METRICS:
        return METRICS[name]
    close = difflib.get_close_matches(name, METRICS, n=3)
    guess = f"did you mean {', '.join(close)}? " if close else ""
    raise TaskError(f"unknown metric {name!r}", f"{guess}metrics: {', '.join(METRICS)}")
