"""From the name of a format to its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from tenbin.errors import ConfigError, guess_at
from tenbin.report.export.csv_text import to_csv
from tenbin.report.export.every_eval_ever import Evaluator, to_every_eval_ever
from tenbin.report.export.grid import Rows, arrange
from tenbin.report.export.html_table import to_html_table
from tenbin.report.export.jsonl import to_jsonl
from tenbin.report.export.latex import to_latex
from tenbin.report.export.markdown import to_markdown
from tenbin.report.export.model_card import to_model_card
from tenbin.report.export.records import to_records
from tenbin.report.export.table import NamedRun, build_table

MODEL_CARD, EVERY_EVAL_EVER = "model-card", "every-eval-ever"
_GRIDS = {"markdown": to_markdown, "latex": to_latex, "html-table": to_html_table}
_RECORDS = {"csv": to_csv, "jsonl": to_jsonl}
TRACKERS = ("wandb", "mlflow")
"""Programs that get runs, not texts: `tenbin.report.tracking`."""
FORMATS = ("csv", "markdown", "latex", "html-table", "jsonl", MODEL_CARD, EVERY_EVAL_EVER)


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """How scores are exported."""

    percent: bool = False
    """Per cent instead of shares from 0 to 1."""
    all_metrics: bool = False
    """Every metric, not only the first of each task and group."""
    rows: Rows | None = None
    """What stands in the rows of a table; None: models if there are several and few columns."""
    evaluator: Evaluator = field(default_factory=Evaluator)
    """Who evaluated, for Every Eval Ever."""
    created: datetime = field(default_factory=_now)
    """When the export is made, for Every Eval Ever."""


def export_text(runs: Sequence[NamedRun], to: str, settings: ExportSettings) -> str:
    """Scores of one or several runs in a format.

    Raises:
        ConfigError: There is no such format, it holds one model and there are several, or no run
            has a score of its own.
    """
    check_format(to)
    if to == EVERY_EVAL_EVER:
        if len(runs) != 1:
            raise ConfigError(
                f"{EVERY_EVAL_EVER} has one document for each run, and there are {len(runs)} runs",
                "name a folder with -o: it gets a file for each",
            )
        return to_every_eval_ever(
            runs[0], settings.percent, settings.all_metrics, settings.evaluator, settings.created
        )
    table = build_table(runs, settings.all_metrics)
    if not table.columns:
        raise ConfigError(
            "there is no score to export: a sweep on a budget asks each prompt of a part of the "
            "documents, and estimates the distribution over all prompts",
            "`tenbin report` shows that; run the prompts that matter with `--then best:3`",
        )
    if to == MODEL_CARD:
        return to_model_card(table, settings.percent)
    if to in _RECORDS:
        return _RECORDS[to](to_records(table, settings.percent))
    return _GRIDS[to](arrange(table, settings.percent, settings.rows))


def check_format(to: str) -> None:
    """Check the name of a format.

    Raises:
        ConfigError: There is no such format.
    """
    if to in TRACKERS:
        raise ConfigError(f"{to} gets runs and not a text", "in Python: tenbin.track(run, to=…)")
    if to not in FORMATS:
        known = (*FORMATS, *TRACKERS)
        raise ConfigError(
            f"no export format is called {to!r}", f"{guess_at(to, known)}{', '.join(known)}"
        )
