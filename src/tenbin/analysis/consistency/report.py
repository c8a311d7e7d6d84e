"""The records that an analysis of consistency gives; `ConsistencyReport` is the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenbin.analysis.document import ABSENT, to_json
from tenbin.records import Compared
from tenbin.statistics.intervals import Estimate
from tenbin.statistics.paired import Comparison
from tenbin.statistics.position import PositionBias


@dataclass(frozen=True, slots=True)
class Share(Estimate):
    """A share or coefficient with its interval."""

    reason: str | None = field(default=None, metadata=ABSENT)
    """Why there is no interval; None if there is one."""


@dataclass(frozen=True, slots=True)
class ShareByChance(Share):
    """A share beside the one that chance alone would give."""

    by_chance: float | None = None
    """None if it is undefined."""


@dataclass(frozen=True, slots=True)
class AccuracyGap(Comparison):
    """A difference of two accuracies on the same items."""

    reason: str | None = field(default=None, metadata=ABSENT)
    """Why there is no interval; None if there is one."""
    p_holm: float | None = field(default=None, metadata=ABSENT)
    """The p-value corrected for all languages, after Holm."""


@dataclass(frozen=True, slots=True)
class PositionHabit(PositionBias):
    """Which positions one language chooses, tested against no habit."""

    p_holm: float | None = field(default=None, metadata=ABSENT)
    """The p-value corrected for all languages, after Holm."""


@dataclass(frozen=True, slots=True)
class LanguageAnswers:
    """The answers in one language."""

    read: int
    """Answers that were extracted."""
    unreadable: int
    failed: int
    accuracy: Share | None


@dataclass(frozen=True, slots=True)
class LanguagePair:
    """How two languages agree."""

    languages: tuple[str, str]
    agreement: Share | None
    kappa: Share | None
    """Cohen's kappa."""


@dataclass(frozen=True, slots=True)
class Flip:
    """An item that not all languages answer alike."""

    item: str
    gold: str
    distinct: int
    """Number of different answers."""
    entropy: float
    right: int
    """Languages that answer it right."""
    answers: Mapping[str, str | None]
    failed: tuple[str, ...]
    """Languages without an answer."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What so many items can show."""

    accuracy_half_width: float | None
    """Half of the interval of an accuracy of one half."""
    reason: str | None = field(default=None, metadata=ABSENT)


@dataclass(frozen=True, slots=True)
class SetReport:
    """Tasks that differ in language alone."""

    family: str
    kind: str
    metrics: tuple[str, ...]
    languages: tuple[str, ...]
    items: int
    """Items that every language was asked."""
    items_not_asked_everywhere: int
    answers: Mapping[str, LanguageAnswers]
    pairs: tuple[LanguagePair, ...]
    agreement: ShareByChance
    """How often two languages, taken at random, agree."""
    alpha: Share | None
    """Krippendorff's alpha."""
    same_everywhere: ShareByChance
    right_everywhere: ShareByChance
    right_nowhere: ShareByChance
    gaps: Mapping[str, AccuracyGap | None] | None
    """Language → its accuracy less that of the reference; None without a reference."""
    positions: Mapping[str, PositionHabit] | None
    """None if answers are not choices."""
    flips: tuple[Flip, ...]
    reach: Reach
    compares: Compared | None = field(default=None, metadata=ABSENT)
    """`outcomes` if answers are texts of their language, which count as `right` or `wrong`."""


@dataclass(frozen=True, slots=True)
class LanguageModes:
    """Scored choices beside generated answers in one language."""

    items: int
    unreadable: int
    failed: int
    agreement: Share | None
    kappa: Share | None
    right_both: int
    right_choice_only: int
    right_generation_only: int
    right_neither: int
    difference: AccuracyGap | None
    """Accuracy of generation less that of choices."""


@dataclass(frozen=True, slots=True)
class ModesReport:
    """Scored choices beside generated answers to the same items."""

    choice: str
    generation: str
    languages: Mapping[str, LanguageModes]
    agreement: Share | None
    """Over all languages."""


@dataclass(frozen=True, slots=True)
class Family:
    """Sets that hold the same items, and how rows were matched."""

    key: str
    sets: tuple[str, ...]
    alignment: str
    languages: tuple[str, ...]
    items: int
    items_not_asked_everywhere: int
    chance_of_agreement: float
    unseen_swaps: float


@dataclass(frozen=True, slots=True)
class ExaminedRun:
    """A run that the report rests on."""

    name: str
    model: object
    fingerprint: str
    date: str
    partial: bool


@dataclass(frozen=True, slots=True)
class ConsistencyReport:
    """What `tenbin consistency` found."""

    tenbin_version: str
    runs: tuple[ExaminedRun, ...]
    reference: str | None
    families: Mapping[str, Family]
    sets: Mapping[str, SetReport]
    modes: tuple[ModesReport, ...]

    def to_json(self) -> dict[str, Any]:
        """What `tenbin consistency --format json` prints."""
        document: dict[str, Any] = to_json(self)
        return document
