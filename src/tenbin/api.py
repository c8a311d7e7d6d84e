"""The Python API: the same options as the command line, plain Python values back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenbin.backends.base import Backend, check_backend
from tenbin.config import AUTO, RunConfig, build_config
from tenbin.errors import ConfigError
from tenbin.pipeline.progress import Listener
from tenbin.results.outcomes import outcomes_of
from tenbin.results.read import read_run
from tenbin.results.schema import RunResult, Sample


@dataclass(frozen=True)
class Run:
    """A finished run, fresh or read back: what result.json and the samples hold."""

    document: Mapping[str, Any]
    """result.json as a mapping."""
    samples: Sequence[Mapping[str, Any]]
    """Every document: prompt, continuations, log-probabilities, answer, outcomes."""
    path: Path | None = None
    """The run's folder, where it was written."""

    @property
    def scores(self) -> dict[str, dict[str, float | None]]:
        """Task id → metric → value."""
        return {
            id: {metric: entries[metric] for metric in self.document["details"][id]}
            for id, entries in self.document["results"].items()
        }

    @property
    def groups(self) -> dict[str, dict[str, float | None]]:
        """Group → metric → value."""
        return {
            id: {metric: entries[metric] for metric in self.document["group_details"][id]}
            for id, entries in self.document["groups"].items()
        }

    def table(self) -> list[dict[str, Any]]:
        """One row a metric of a task: give it to pandas.DataFrame or polars.DataFrame."""
        return [
            {
                "id": id,
                "task": config["task"],
                "version": config["version"],
                "template": config["template"],
                "language": config["language"],
                "shots": config["num_fewshot"],
                **_score_columns(self.document["results"][id], metric, detail),
            }
            for id, config in self.document["configs"].items()
            for metric, detail in self.document["details"][id].items()
        ]

    def compare(
        self,
        other: Run,
        cells: Mapping[str, str] | None = None,
        metrics: Sequence[str] = (),
        allow: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        """Paired differences, this run less the other, on the documents both have.

        Args:
            other: The baseline; may be this run, to compare two of its tasks.
            cells: Task id here → task id there; by default every id that both runs have.
            metrics: Names, or `all`; by default the first metric of each task.
            allow: What may differ: `data`, `prompts`, `shots`, `seed`, `decoding`, `profile`,
                `partial`.

        Returns:
            One row a task and metric: difference, interval, wins, losses, p-value, Holm's p-value.
        """
        mapping = {there: here for here, there in (cells or {}).items()}
        return compare(other, self, mapping=mapping, metrics=metrics, allow=allow).table()

    def sweep(self, metric: str | None = None) -> Sweep:
        """The report of a run that holds several templates, shots or draws of its tasks."""
        from tenbin.pipeline.sweep import full_report

        return Sweep(self, full_report(self.document, outcomes_of(self.samples), metric))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows of the table."""
        return iter(self.table())


@dataclass(frozen=True)
class Sweep:
    """A finished sweep: the run that holds every option, and the report on it."""

    run: Run
    report: Mapping[str, Any]
    """What sweep.json holds: options, differences, the choice and its honest score."""

    @property
    def chosen(self) -> list[str]:
        """Task ids with the chosen templates, ready for `evaluate`."""
        return [one["id"] for one in self.report["chosen"]]


def _score_columns(
    entries: Mapping[str, Any], metric: str, detail: Mapping[str, Any]
) -> dict[str, Any]:
    name, comma, filter_name = metric.partition(",")
    return {
        "metric": metric,
        "value": entries[metric],
        "stderr": entries[f"{name}_stderr{comma}{filter_name}"],
        "low": detail.get("low"),
        "high": detail.get("high"),
        "n": detail["n"],
        "clusters": detail.get("clusters"),
        "failed": detail["failed"],
    }


@dataclass(frozen=True)
class Compared:
    """Stored runs compared document by document."""

    document: Mapping[str, Any]
    """Runs, comparisons with the documents that changed, and what was left out."""

    def table(self) -> list[dict[str, Any]]:
        """One row a comparison: give it to pandas.DataFrame or polars.DataFrame."""
        return [
            {
                "id": row["baseline"]["id"],
                "other_id": row["other"]["id"],
                "run": row["baseline"]["run"],
                "other_run": row["other"]["run"],
                "baseline": row["value"]["baseline"],
                "other": row["value"]["other"],
                **{name: row[name] for name in _COMPARED},
            }
            for row in self.document["comparisons"]
        ]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows of the table."""
        return iter(self.table())


_COMPARED = (
    *("metric", "n", "clusters", "difference", "stderr", "low", "high", "interval_method"),
    *("wins", "losses", "ties", "p_value", "p_holm", "test", "detectable"),
)


def compare(
    *runs: Run | str | Path,
    cells: Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
    allow: Sequence[str] = (),
    all_pairs: bool = False,
) -> Compared:
    """Compare runs document by document; differences are the later run less the first.

    Args:
        *runs: Runs or their paths, the baseline first.
        cells: With one run, compare the first of these ids with each other one; with several runs,
            only these ids.
        mapping: Id in the baseline → id in the other runs, where they are called differently.
        metrics: Names, or `all`; by default the first metric of each task.
        allow: What may differ: `data`, `prompts`, `shots`, `seed`, `decoding`, `profile`,
            `partial`.
        all_pairs: Compare every run with every other instead of each with the first.

    Raises:
        TenbinError: There is nothing to compare, or the cells are not comparable; says why.
    """
    from tenbin.analysis.compare import Side, Wanted, compare_runs

    opened = [run if isinstance(run, Run) else load_run(run) for run in runs]
    written = [None if isinstance(run, Run) else str(run) for run in runs]
    sides = [
        Side(name or str(run.path or f"run {at + 1}"), *_records(run))
        for at, (run, name) in enumerate(zip(opened, written, strict=True))
    ]
    wanted = Wanted(tuple(cells), mapping or None, tuple(metrics), tuple(allow), all_pairs)
    return Compared(compare_runs(sides, wanted).to_json())


def _records(run: Run) -> tuple[RunResult, list[Sample]]:
    return (
        RunResult.model_validate(run.document),
        [Sample.from_json(sample) for sample in run.samples],
    )


def evaluate(
    model: str | Backend = "hf",
    tasks: str | Sequence[str] = (),
    *,
    write: bool = False,
    listener: Listener | None = None,
    **options: Any,
) -> Run:
    """Evaluate a model; options are the command line's flags, with underscores.

    Args:
        model: A backend's name (`hf`), or a backend that is open already.
        tasks: Ids, patterns, groups or bare names.
        write: Whether to write a run folder; given `output_path`, it is written anyway.
        listener: Told how the run goes on.
        **options: `model_args`, `num_fewshot`, `limit`, `sample_data`, `data_dir`, …

    Raises:
        TenbinError: Anything the user can mend, with a hint.
    """
    name = model if isinstance(model, str) else type(model).__name__
    given = dict(options, model=name, tasks=tasks if isinstance(tasks, str) else list(tasks))
    config = build_config(given)
    _check_open_backend(model, config)
    if config.template == AUTO:
        from tenbin.pipeline.sweep import execute_auto as execute
    else:
        from tenbin.pipeline.run import execute
    finished = execute(
        config,
        listener or Listener(),
        backend=None if isinstance(model, str) else model,
        write=write or config.output_path is not None,
    )
    path = finished.folder.path if finished.folder else None
    return Run(finished.document, list(finished.samples()), path)


def _check_open_backend(model: str | Backend, config: RunConfig) -> None:
    """An open backend is in this process: workers would need to open it themselves."""
    if isinstance(model, str):
        return
    check_backend(model)
    if config.workers or config.ray_address:
        raise ConfigError(
            "workers open the model themselves, and this one is open already",
            "name the backend, such as model='hf', or leave workers and ray_address out",
        )


def sweep(
    model: str | Backend = "hf",
    tasks: str | Sequence[str] = (),
    *,
    metric: str | None = None,
    write: bool = False,
    listener: Listener | None = None,
    **options: Any,
) -> Sweep:
    """Run all templates of each task and choose among them; options as for `evaluate`.

    Args:
        model: A backend's name, or a backend that is open already.
        tasks: Names without templates.
        metric: The metric to choose by; by default each task's first.
        write: Whether to write a run folder; given `output_path`, it is written anyway.
        listener: Told how the run goes on.
        **options: Also `templates`, `num_fewshot_sweep`, `seeds`, `select_on`.
    """
    from tenbin.pipeline.sweep import execute_sweep

    name = model if isinstance(model, str) else type(model).__name__
    config = build_config(
        dict(options, model=name, tasks=tasks if isinstance(tasks, str) else list(tasks))
    )
    _check_open_backend(model, config)
    finished = execute_sweep(
        config,
        listener or Listener(),
        metric,
        backend=None if isinstance(model, str) else model,
        write=write or config.output_path is not None,
    )
    run = finished.run
    path = run.folder.path if run.folder else None
    return Sweep(Run(run.document, list(run.samples()), path), finished.report)


def consistency(
    *runs: str | Path | Run,
    tasks: Sequence[str] = (),
    reference: str | None = None,
    alignment: str | Path | None = None,
    metric: str | None = None,
) -> dict[str, Any]:
    """How alike one model answers the same items in several languages and modes.

    Args:
        *runs: Stored runs, or runs in memory, of one model.
        tasks: Ids, task names or groups to look at; none takes all with a parallel key.
        reference: The language that gaps are measured from; English where there is some.
        alignment: A file that says which rows hold the same item.
        metric: Whose choice or reading of an answer counts.

    Returns:
        Plain values, as `tenbin consistency --format json` writes them (docs/consistency.md).

    Raises:
        TenbinError: The runs do not go together, or nothing shows which rows hold the same item.
    """
    from tenbin.analysis.consistency.answers import COLUMNS, ExaminedSamples
    from tenbin.analysis.consistency.examine import examine

    given: list[ExaminedSamples] = []
    for run in runs:
        if isinstance(run, Run):
            given.append(ExaminedSamples(str(run.path or "run"), *_records(run)))
        else:
            stored = read_run(run)
            given.append(ExaminedSamples(str(run), stored.result, stored.samples(COLUMNS)))
    return examine(given, tasks, reference, alignment, metric).to_json()


def load_run(path: str | Path) -> Run:
    """Read a stored run by its folder or its result.json."""
    stored = read_run(path)
    return Run(stored.document, list(stored.sample_rows()), stored.path)


def doctor(
    model: str = "hf",
    tasks: str | Sequence[str] = (),
    *,
    listener: Listener | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Look at what a model's tokenizer makes of tasks and templates; no weights are loaded.

    Args:
        model: A backend's name.
        tasks: Ids, patterns, groups, or bare names for all templates of a task.
        listener: Told how it goes on.
        **options: As for `evaluate`; `templates` names some of them. `limit` is 100 documents a
            task by default; `"all"` looks at every one.

    Returns:
        What `tenbin doctor --format json` prints.

    Raises:
        TenbinError: Anything the user can mend, with a hint.
    """
    from tenbin.pipeline.doctor import as_document, examination_config, examine

    given = dict(options, model=model, tasks=tasks if isinstance(tasks, str) else list(tasks))
    config = examination_config(given)
    return as_document(examine(config, listener or Listener()))
