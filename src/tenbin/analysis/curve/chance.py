"""What a model scores that knows nothing: by guessing, or by always giving the same answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tenbin.analysis.curve.report import ChanceOf
from tenbin.analysis.leaderboard.models import Source
from tenbin.results.schema import MetricDetail

_OF_LABELS = ("balanced_acc", "mcc", "macro_f1")
"""Metrics of tasks whose choices are the same labels in every document."""
_RIGHT_CHOICE = ("acc", "exact_match")


@dataclass(frozen=True, slots=True)
class Chance:
    """A score without any knowledge."""

    value: float
    """From 0 to 1."""
    of: ChanceOf


@dataclass(slots=True)
class _Counted:
    documents: int = 0
    guesses: float = 0.0
    offered: int = 0
    golds: Counter[int] = field(default_factory=Counter)


def chances(source: Source, ids: Collection[str]) -> dict[str, Chance]:
    """Task id → chance, for tasks whose documents all offer choices.

    Where the choices are labels, a model that has learned nothing but the most frequent one is
    right more often than one that guesses: the better of both counts.
    """
    found = {id: _Counted() for id in ids}
    for sample in source.samples():
        if sample.id not in found:
            continue
        own = found[sample.id]
        own.documents += 1
        if sample.num_choices:
            own.guesses += 1 / sample.num_choices
            own.offered += 1
        if sample.gold is not None:
            own.golds[sample.gold] += 1
    return {
        id: _chance(own, source.result.details[id])
        for id, own in found.items()
        if own.documents and own.offered == own.documents
    }


def _chance(own: _Counted, details: Mapping[str, MetricDetail]) -> Chance:
    guessed = own.guesses / own.documents
    labels = any(metric.partition(",")[0] in _OF_LABELS for metric in details)
    same = max(own.golds.values(), default=0) / own.documents if labels else 0.0
    return Chance(same, "one_answer") if same > guessed else Chance(guessed, "guessing")


def has_chance(metric: str) -> bool:
    """Whether a metric is the share of documents with the right choice."""
    name = metric.partition(",")[0]
    return name.startswith(_RIGHT_CHOICE)
