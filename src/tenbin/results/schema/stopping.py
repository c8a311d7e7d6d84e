"""The part of result.json about runs that stop early (`--until`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tenbin.results.schema.entries import Count, Number, Record, Whole


class BlockEntry(Record):
    """What a task's score was after one more block of documents."""

    documents: Count = Field(description="Documents asked so far.")
    n: Count = Field(description="Documents scored so far.")
    clusters: Count = Field(description="Independent units among them.")
    value: Number | None = Field(description="The score.")
    low: Number | None = Field(description="Lower end of its 95 % interval.")
    high: Number | None = Field(description="Upper end of its 95 % interval.")


class WidthStop(Record):
    """When a task stopped whose interval was to reach a width."""

    metric: str = Field(description="The metric whose interval was looked at.")
    target: Number = Field(description="Half the width to reach, in points.")
    half_width: Number | None = Field(description="Half the width at the stop, in points.")
    reached: bool = Field(description="Whether the target was reached; if not, all were asked.")
    stopped_at: Count = Field(description="Documents asked by then.")
    documents: Count = Field(description="Documents there are.")
    blocks: list[BlockEntry] = Field(description="The score after each block.")


class LookEntry(Record):
    """One look of a group-sequential comparison: this run minus the other."""

    documents: Count = Field(description="Documents asked so far.")
    n: Count = Field(description="Documents that both runs scored.")
    clusters: Count = Field(description="Independent units among them.")
    difference: Number = Field(description="Difference of the scores.")
    stderr: Number = Field(description="Its standard error.")
    z: Number = Field(description="The test statistic.")
    boundary: Number = Field(description="The size of z that decides at this look.")
    low: Number = Field(description="Lower end of the repeated 95 % interval.")
    high: Number = Field(description="Upper end of the repeated 95 % interval.")


class DecidedStop(Record):
    """When a task stopped whose difference to another run was to be decided."""

    metric: str = Field(description="The metric that was compared.")
    level: Number = Field(description="Probability of a false decision: 5 % shared by all tasks.")
    decision: Literal["better", "worse", "undecided"] = Field(
        description="Whether this run is better than the other; `undecided` after the last look."
    )
    stopped_at: Count = Field(description="Documents asked by then.")
    shared: Count = Field(description="Documents that the other run has scored too.")
    documents: Count = Field(description="Documents there are.")
    looks: list[LookEntry] = Field(description="All looks up to the stop.")


class Stopping(Record):
    """With `--until`: when each task stopped, and what was looked at on the way."""

    seed: Whole = Field(description="Seed of the order in which documents were asked.")
    against: str | None = Field(default=None, description="The run that was compared with.")
    against_run_id: str | None = Field(default=None, description="Its `run_id`.")
    widths: dict[str, WidthStop] = Field(
        default_factory=dict, description="Task id to its stop at a width."
    )
    decisions: dict[str, DecidedStop] = Field(
        default_factory=dict, description="Task id to its stop at a decision."
    )

    def documents(self, id: str) -> int | None:
        """Documents that a task would have asked at most; None: it did not stop early."""
        found = self.widths.get(id) or self.decisions.get(id)
        return None if found is None else found.documents
