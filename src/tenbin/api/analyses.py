"""Analyses of finished runs: sweeps, comparisons, consistency across languages, diagnoses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tenbin.api.run import Run, load_run
from tenbin.api.tables import Row, Tabular
from tenbin.results.read import read_run

if TYPE_CHECKING:
    from tenbin.analysis.compare import ComparedScore, ComparisonReport
    from tenbin.analysis.consistency.report import AccuracyGap, ConsistencyReport
    from tenbin.analysis.option_order.report import OptionOrderReport
    from tenbin.analysis.sweep.report import SweepReport
    from tenbin.pipeline.doctor import DiagnosisReport


@dataclass(frozen=True, repr=False)
class Sweep(Tabular):
    """A finished sweep: the run that holds every option, and the report on it."""

    run: Run
    record: SweepReport
    """Options, differences, the choice and its honest score."""

    columns: ClassVar[Mapping[str, type]] = {
        **dict.fromkeys(("task", "version", "metric", "template"), str),
        "shots": int,
        **dict.fromkeys(("value", "stderr", "low", "high"), float),
        **dict.fromkeys(("n", "failed"), int),
        "chosen": bool,
    }
    shown_columns: ClassVar[tuple[str, ...]] = (
        *("task", "metric", "template", "shots", "value", "stderr", "low", "high", "n", "chosen"),
    )

    @property
    def chosen(self) -> list[str]:
        """Task ids with the chosen templates, ready for `evaluate`."""
        return [one.id for one in self.record.chosen]

    @cached_property
    def report(self) -> dict[str, Any]:
        """The record as plain values: what sweep.json holds."""
        return self.record.to_json()

    def table(self) -> list[Row]:
        """One row for each option of each task.

        Of a sweep on a budget: one for each prompt, whose value is an estimate from the `n`
        documents that it was asked of and from all other prompts.
        """
        return [*self._prompts(), *self._options()]

    def _prompts(self) -> list[Row]:
        return [
            {
                **dict.fromkeys(self.columns),
                "task": found.task,
                "version": found.version,
                "metric": found.metric,
                "template": place.template,
                "shots": place.shots,
                **{name: getattr(place, name) for name in ("value", "low", "high", "n")},
                "chosen": False,
            }
            for found in self.record.distributions or ()
            for place in found.places
        ]

    def _options(self) -> list[Row]:
        return [
            {
                "task": task.task,
                "version": task.version,
                "metric": task.metric,
                "template": option.template,
                "shots": option.shots,
                **{name: getattr(option.score, name) for name in _SCORE},
                "failed": option.failed,
                "chosen": task.choice is not None and at == task.choice.option,
            }
            for task in self.record.tasks
            for at, option in enumerate(task.options)
        ]

    def _heading(self) -> str:
        budgets = [
            f"{found.task} {found.version} {found.metric} {found.mean.value:.3f} on average over "
            f"{found.prompts:,} prompts"
            for found in self.record.distributions or ()
        ]
        chosen = ", ".join(self.chosen) or ("" if budgets else "nothing")
        return "; ".join(["Sweep", *budgets, *([f"chosen: {chosen}"] if chosen else [])])


_SCORE = ("value", "stderr", "low", "high", "n")


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """Runs compared document by document."""

    record: ComparisonReport
    """Runs, comparisons with the documents that changed, and what was left out."""

    columns: ClassVar[Mapping[str, type]] = {
        **dict.fromkeys(("id", "other_id"), str),
        **dict.fromkeys(("run", "other_run"), int),
        **dict.fromkeys(("baseline", "other"), float),
        "metric": str,
        **dict.fromkeys(("n", "clusters"), int),
        **dict.fromkeys(("difference", "stderr", "low", "high"), float),
        "interval_method": str,
        **dict.fromkeys(("wins", "losses", "ties"), int),
        **dict.fromkeys(("p_value", "p_holm"), float),
        "test": str,
        "detectable": float,
    }
    shown_columns: ClassVar[tuple[str, ...]] = (
        *("id", "other_id", "metric", "baseline", "other", "difference", "low", "high", "n"),
        *("wins", "losses", "p_holm"),
    )

    @cached_property
    def document(self) -> dict[str, Any]:
        """The record as plain values: what `tenbin compare --format json` prints."""
        return self.record.to_json()

    @property
    def verdict(self) -> str | None:
        """`pass`, `fail` or `inconclusive`; None if nothing was required."""
        return self.record.requirement.verdict if self.record.requirement else None

    def table(self) -> list[Row]:
        """One row for each comparison of tasks."""
        return [self._row(row) for row in self.record.comparisons]

    def groups(self) -> list[Row]:
        """One row for each comparison of groups, with the same columns and `weighting`."""
        return [{**self._row(row), "weighting": row.weighting} for row in self.record.groups or ()]

    def _row(self, row: ComparedScore) -> Row:
        return {
            "id": row.baseline.id,
            "other_id": row.other.id,
            "run": row.baseline.run,
            "other_run": row.other.run,
            "baseline": row.value.baseline,
            "other": row.value.other,
            **{name: getattr(row, name) for name in list(self.columns)[6:]},
        }

    def _heading(self) -> str:
        names = " and ".join(dict.fromkeys(run.name for run in self.record.runs))
        return f"Comparison of {names}: the later less the first"


class _Document(Tabular, dict[str, Any]):
    """A report that is also a mapping of plain values, as the command line writes it."""

    def __iter__(self) -> Iterator[str]:
        """The names of the report's parts, as of any mapping; `table()` gives rows."""
        return dict.__iter__(self)


class Consistency(_Document):
    """How alike one model answers the same items in several languages and modes."""

    columns: ClassVar[Mapping[str, type]] = {
        **dict.fromkeys(("set", "family", "language"), str),
        **dict.fromkeys(("read", "unreadable", "failed"), int),
        **dict.fromkeys(("accuracy", "low", "high"), float),
        **dict.fromkeys(("gap", "gap_low", "gap_high", "p_holm"), float),
    }
    shown_columns: ClassVar[tuple[str, ...]] = tuple(columns)

    def __init__(self, record: ConsistencyReport) -> None:
        super().__init__(record.to_json())
        self.record = record
        """Agreement, accuracies, gaps and flips as a record."""

    def table(self) -> list[Row]:
        """One row for each language of each set; gaps are to the reference language."""
        return [
            {
                "set": name,
                "family": found.family,
                "language": language,
                "read": answers.read,
                "unreadable": answers.unreadable,
                "failed": answers.failed,
                "accuracy": answers.accuracy and answers.accuracy.value,
                "low": answers.accuracy and answers.accuracy.low,
                "high": answers.accuracy and answers.accuracy.high,
                **_gap((found.gaps or {}).get(language)),
            }
            for name, found in self.record.sets.items()
            for language, answers in found.answers.items()
        ]

    def _heading(self) -> str:
        agreements = [
            f"{name} {found.agreement.value:.1%}"
            for name, found in self.record.sets.items()
            if found.agreement.value is not None
        ]
        return f"Consistency; pairs of languages agree: {', '.join(agreements) or 'not known'}"


def _gap(found: AccuracyGap | None) -> Row:
    if found is None:
        return dict.fromkeys(("gap", "gap_low", "gap_high", "p_holm"))
    return {
        "gap": found.difference,
        "gap_low": found.low,
        "gap_high": found.high,
        "p_holm": found.p_holm,
    }


class OptionOrder(_Document):
    """How scores depend on the order in which options are shown."""

    columns: ClassVar[Mapping[str, type]] = {
        **dict.fromkeys(("id", "metric", "position"), str),
        **dict.fromkeys(("recall", "recall_low", "recall_high"), float),
        **dict.fromkeys(("chosen", "chosen_low", "chosen_high"), float),
        **dict.fromkeys(("recall_after", "chosen_after"), float),
    }
    shown_columns: ClassVar[tuple[str, ...]] = (
        *("id", "position", "recall", "recall_low", "recall_high", "chosen", "recall_after"),
    )

    def __init__(self, record: OptionOrderReport) -> None:
        super().__init__(record.to_json())
        self.record = record
        """Means over orders, recall by position and scores without the preference, as a record."""

    def table(self) -> list[Row]:
        """One row for each position of each template."""
        return [
            {
                "id": found.id,
                "metric": found.metric,
                "position": one.position,
                "recall": one.recall.value,
                "recall_low": one.recall.low,
                "recall_high": one.recall.high,
                "chosen": one.chosen.value,
                "chosen_low": one.chosen.low,
                "chosen_high": one.chosen.high,
                "recall_after": one.recall_after and one.recall_after.value,
                "chosen_after": one.chosen_after and one.chosen_after.value,
            }
            for found in self.record.templates
            for one in found.positions
        ]

    def _heading(self) -> str:
        means = [
            f"{found.id} {found.mean.value:.3f}"
            for found in self.record.templates
            if found.mean.value is not None
        ]
        return f"Option order; mean over all orders: {', '.join(means) or 'not known'}"


class Diagnosis(_Document):
    """What a model's tokenizer makes of tasks and templates."""

    columns: ClassVar[Mapping[str, type]] = {
        **dict.fromkeys(("id", "severity", "finding"), str),
        **dict.fromkeys(("count", "n"), int),
        "remedy": str,
    }
    shown_columns: ClassVar[tuple[str, ...]] = ("id", "severity", "finding", "count", "n")

    def __init__(self, record: DiagnosisReport) -> None:
        super().__init__(record.to_json())
        self.record = record
        """Model, cells with their findings and measures, languages and cost as a record."""

    def table(self) -> list[Row]:
        """One row for each finding."""
        return [
            {
                "id": id,
                "severity": finding.severity,
                "finding": finding.title,
                "count": finding.count,
                "n": finding.n,
                "remedy": finding.remedy,
            }
            for id, cell in self.record.cells.items()
            for finding in cell.findings
        ]

    def _heading(self) -> str:
        return f"Diagnosis of {len(self.record.cells):,} tasks"


def compare(
    *runs: Run | str | Path,
    cells: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
    allow: Sequence[str] = (),
    all_pairs: bool = False,
    weighting: Literal["own", "plain", "size"] = "own",
    require: str | None = None,
) -> Comparison:
    """Compare runs document by document; differences are the later run less the first.

    Args:
        *runs: Runs or their paths, the baseline first.
        cells: Ids of tasks or groups: with one run, compare the first with each other one; with
            several runs, only these.
        mapping: Id in the baseline → id in the other runs, where they are called differently.
        metrics: Names, or `all`; by default the first metric of each task.
        allow: What may differ: `data`, `prompts`, `shots`, `seed`, `decoding`, `profile`,
            `partial`.
        all_pairs: Compare every run with every other instead of each with the first.
        weighting: Of groups: as in their own score, every task the same, or by documents.
        require: `better`, `no-worse-than:POINTS` or `within:POINTS`; `verdict` says whether every
            comparison, of tasks and of groups, passes.

    Raises:
        TenbinError: There is nothing to compare, or the cells are not comparable; says why.
    """
    from tenbin.analysis.compare import Side, Wanted, compare_runs

    opened = [run if isinstance(run, Run) else load_run(run) for run in runs]
    written = [None if isinstance(run, Run) else str(run) for run in runs]
    sides = [
        Side(name or str(run.path or f"run {at + 1}"), run.result, run.sample_records())
        for at, (run, name) in enumerate(zip(opened, written, strict=True))
    ]
    wanted = Wanted(
        tuple(cells), mapping or None, tuple(metrics), tuple(allow), all_pairs, weighting, require
    )
    return Comparison(compare_runs(sides, wanted))


def consistency(
    *runs: str | Path | Run,
    tasks: Sequence[str] = (),
    reference: str | None = None,
    alignment: str | Path | None = None,
    metric: str | None = None,
) -> Consistency:
    """How alike one model answers the same items in several languages and modes.

    Args:
        *runs: Stored runs, or runs in memory, of one model.
        tasks: Ids, task names or groups to look at; none takes all with a parallel key.
        reference: The language that gaps are measured from; English where there is some.
        alignment: A file that says which rows hold the same item.
        metric: Whose choice or reading of an answer counts.

    Returns:
        A table of languages; as a mapping, what `tenbin consistency --format json` writes
        (docs/consistency.md).

    Raises:
        TenbinError: The runs do not go together, or nothing shows which rows hold the same item.
    """
    from tenbin.analysis.consistency.answers import COLUMNS, ExaminedSamples
    from tenbin.analysis.consistency.examine import examine

    given: list[ExaminedSamples] = []
    for run in runs:
        if isinstance(run, Run):
            name = str(run.path or "run")
            given.append(ExaminedSamples(name, run.result, run.sample_records()))
        else:
            stored = read_run(run)
            given.append(ExaminedSamples(str(run), stored.result, stored.samples(COLUMNS)))
    return Consistency(examine(given, tasks, reference, alignment, metric))
