"""Learning curves of stored runs, or of runs in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tenbin.analysis.curve.table import COLUMNS, SIGNAL_COLUMNS, rows, signal_rows
from tenbin.api.run import Run
from tenbin.api.tables import Row, Tabular

if TYPE_CHECKING:
    from tenbin.analysis.curve.report import CurveReport
    from tenbin.analysis.leaderboard.models import Source


@dataclass(frozen=True, repr=False)
class Signals(Tabular):
    """What each curve shows at this size of model: one row for each task and metric."""

    record: CurveReport

    columns: ClassVar[Mapping[str, type]] = SIGNAL_COLUMNS
    shown_columns: ClassVar[tuple[str, ...]] = (
        *("label", "metric", "verdict", "reasons", "above_chance", "gain", "gain_shown"),
        *("monotonicity", "noise", "gain_to_noise", "template_agreement"),
    )

    def table(self) -> list[Row]:
        """One row for each curve."""
        return signal_rows(self.record)

    def _heading(self) -> str:
        clear = sum(one.signal.verdict == "yes" for one in self.record.curves)
        return f"{clear} of {len(self.record.curves)} curves carry signal"


@dataclass(frozen=True, repr=False)
class Curve(Tabular):
    """Scores of checkpoints over the steps of a training."""

    record: CurveReport
    """Checkpoints, and a curve with bands and changes for each task and metric."""

    columns: ClassVar[Mapping[str, type]] = COLUMNS
    shown_columns: ClassVar[tuple[str, ...]] = (
        *("label", "template", "metric", "step", "value", "band_low", "band_high"),
        *("change", "changed", "missing"),
    )

    @property
    def signals(self) -> Signals:
        """Which tasks distinguish the steps, as a table of its own."""
        return Signals(self.record)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The record as plain values: what curve.json holds."""
        return self.record.to_json()

    def table(self) -> list[Row]:
        """One row for each curve and step; steps without a score have the reason."""
        return rows(self.record)

    def _heading(self) -> str:
        steps = [one.step for one in self.record.checkpoints]
        return (
            f"{len(self.record.curves)} learning curves over {len(steps)} checkpoints, steps "
            f"{steps[0]:,} to {steps[-1]:,}"
        )


def curve(*runs: Run | str | Path, metrics: Sequence[str] = ()) -> Curve:
    """Learning curves of the checkpoints of one training.

    Args:
        *runs: Runs, their paths, or folders of runs, such as the one `tenbin watch` writes to. The
            step of each is in the name of its model or its own, or was recorded from the trainer.
        metrics: Names of metrics, or `all`; by default the first of each task and
            `gold_bits_per_byte`.

    Raises:
        TenbinError: No run has a step, or one that is named cannot be read.
    """
    from tenbin.analysis.curve.build import build_curve
    from tenbin.report.stored_runs import read_sources

    sources: list[Source] = []
    unread: dict[str, str] = {}
    for at, run in enumerate(runs):
        if isinstance(run, Run):
            sources.append(_in_memory(run, at))
        else:
            found, failed = read_sources([run])
            sources += found
            unread |= failed
    return Curve(build_curve(sources, metrics, unread))


def _in_memory(run: Run, at: int) -> Source:
    from tenbin.analysis.leaderboard.models import Source

    return Source(str(run.path or f"run {at + 1}"), run.result, run.sample_records)
