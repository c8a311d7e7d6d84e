"""What a leaderboard holds: models, columns, and a cell for each of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tenbin.analysis.compare.comparability import Difference
from tenbin.analysis.document import ABSENT, to_json

By = Literal["suite", "language", "template"]


@dataclass(frozen=True, slots=True)
class LeaderboardRun:
    """A stored run that scores come from."""

    name: str
    """How the user knows it: its path."""
    date: str
    tags: tuple[str, ...] = ()
    """What the user tagged it with."""
    note: str | None = field(default=None, metadata=ABSENT)
    """What the user noted about it."""


@dataclass(frozen=True, slots=True)
class LeaderboardModel:
    """A row: one model with all of its runs."""

    name: str
    """Different from that of every other row."""
    model: Mapping[str, object]
    """What the backend says of it."""
    fingerprint: str
    runs: tuple[LeaderboardRun, ...]
    """The newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardColumn:
    """What the cells of one column have in common."""

    label: str
    """Different from that of every other column of its section."""
    section: str
    """The suite, set of languages or task that it stands under."""
    kind: Literal["task", "group"]
    id: str
    """Of the task or group, as runs name it."""
    metric: str
    unit: str
    top: float | None
    """The highest value there can be; None for perplexities."""
    higher_is_better: bool
    task: str | None = None
    """Of a task, like the following; None for a group."""
    version: str | None = None
    template: str | None = None
    shots: int | None = None
    language: str | None = None
    data: str | None = None
    """Version of the rows that are scored, or the beginning of their checksum."""
    members: tuple[str, ...] = ()
    """Of a group: the ids of its tasks."""
    n: int | None = None
    """Documents that all ranked models scored; None if none are ranked."""
    clusters: int | None = None
    reason: str | None = None
    """Why there are no rank intervals; None if there are."""
    chance: float | None = None
    """Of an accuracy: what guessing among the choices would score, if that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardCell:
    """One model's score in one column, or why there is none."""

    value: float | None = None
    """Over all documents that the model was scored on."""
    stderr: float | None = None
    low: float | None = None
    """The 95 % interval of the value."""
    high: float | None = None
    n: int | None = None
    run: int | None = None
    """Position among the model's runs."""
    id: str | None = None
    """What that run calls the task or group."""
    missing: str | None = None
    """Why there is no value; None if there is one."""
    differences: tuple[Difference, ...] = ()
    """What it does not have in common with the other cells of its column."""
    ranked: bool = False
    """Whether it took part in the comparison with the other cells."""
    shared_value: float | None = None
    """Over the documents that all ranked models scored."""
    best: bool = False
    tied: bool = False
    """Whether it is not shown to differ from the best."""
    p_value: float | None = None
    """Of no difference to the best, paired and corrected; None for the best."""
    rank_low: int | None = None
    rank_high: int | None = None
    gap: float | None = field(default=None, metadata=ABSENT)
    """By language: the value less the model's own in English."""


@dataclass(frozen=True, slots=True)
class LeaderboardReport:
    """What `tenbin leaderboard` found."""

    tenbin_version: str
    schema_version: int
    by: By
    models: tuple[LeaderboardModel, ...]
    """In the order of their rows."""
    columns: tuple[LeaderboardColumn, ...]
    cells: tuple[tuple[LeaderboardCell, ...], ...]
    """For each model, one for each column."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Runs of a folder that could not be read → why."""

    def to_json(self) -> dict[str, Any]:
        """What `tenbin leaderboard --format json` prints."""
        document: dict[str, Any] = to_json(self)
        return document
