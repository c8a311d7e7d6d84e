"""A cell with all that is needed to ask it: the record that all stages of a run take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tenbin.metrics.base import Metric
from tenbin.metrics.registry import metric_names, used_metric
from tenbin.records import Cell, Group, Task, Template


@dataclass(frozen=True, slots=True)
class Share:
    """Which documents a cell asks in a sweep on a budget: each is asked under some of the prompts,
    sampled at random."""

    prompt: int
    """The cell's number among the prompts of its task."""
    prompts: int
    per_document: int
    """Prompts that each document is asked under."""
    seed: int
    rotated: bool = False
    """Whether it is `--rotated_share`: all rotations ask the same documents, as prompt 0 would."""


@dataclass(frozen=True, slots=True)
class CellSetup:
    """A cell with all that is needed to ask it."""

    cell: Cell
    task: Task
    limit: float | None
    until: float | Literal["decided"] | None = None
    """When to stop: half the width of the interval in points, or when a difference is decided;
    None: when all documents are asked."""
    selects: bool = False
    """Whether its documents choose a template, apart from those that score it."""
    share: Share | None = None
    """With `--budget` or `--rotated_share`: which of the documents it asks; None: all."""
    groups: tuple[Group, ...] = field(default=(), compare=False)
    """Groups that entries of `--tasks` or a suite named and that this task is in."""
    chosen_by: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Option → who chose its value where the user did not: `profile NAME`, `group NAME`."""
    left_plain: bool = field(default=False, compare=False)
    """Whether it takes no examples or chats, and so is asked without those of its neighbours."""

    @property
    def template(self) -> Template:
        """The template it is asked with."""
        return self.task.templates[self.cell.template]

    @property
    def metrics(self) -> list[tuple[str, Metric]]:
        """The names its scores are reported under, each with its metric.

        That by which it enters a mean that was asked for comes first: it is the score of the task
        that belongs beside the mean, and that decides when `--until` stops.
        """
        means = {group.member_metrics().get(self.task.name) for group in self.groups}
        return sorted(metric_names(self.task), key=lambda named: named[0] not in means)

    @property
    def role(self) -> str:
        """What its documents are for, as result.json says it."""
        if self.share is not None:
            return "part"
        return "select" if self.selects else "score"

    @property
    def scores_unconditionally(self) -> bool:
        """Whether a metric asks for the choices without their prompt too."""
        uses = self.task.metrics
        return any(used_metric(self.task, use).needs_unconditional for use in uses)
