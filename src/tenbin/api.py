"""The Python API: the same options as the command line, plain Python values back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tenbin.asking import Listener
from tenbin.backends.base import Backend
from tenbin.config import build_config
from tenbin.errors import ResultError
from tenbin.results.folder import read_run
from tenbin.results.outcomes import outcomes_of


class Silence:
    """A listener that says nothing."""

    def message(self, text: str) -> None:
        """Say nothing."""

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """Say nothing."""

    def start(self, total: int, work: float) -> None:
        """Say nothing."""

    def advance(self, work: float) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """Say nothing."""


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

    def compare(self, other: Run, cells: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Paired differences, this run minus the other, on the documents both have.

        Args:
            other: The run to compare with; may be this one, to compare two of its tasks.
            cells: Task id here → task id there; by default every id that both runs have.

        Returns:
            One row a metric that is a mean over documents: difference, standard error, wins,
            losses, ties, p-value.
        """
        from tenbin.statistics.comparison import compare

        pairs = cells or {id: id for id in self.scores if id in other.scores}
        if not pairs:
            raise ResultError(
                "the two runs share no task id", "say which to compare with cells={here: there}"
            )
        mine, theirs = outcomes_of(self.samples), outcomes_of(other.samples)
        rows = []
        for here, there in pairs.items():
            for run, id in ((self, here), (other, there)):
                if id not in run.scores:
                    raise ResultError(
                        f"no task {id!r} in the run", f"it has: {', '.join(run.scores)}"
                    )
            for metric, detail in self.document["details"][here].items():
                # Scores of a confusion matrix are no means over documents: nothing to pair.
                if (there, metric) in theirs and detail["stderr_method"] == "analytic":
                    row = asdict(compare(mine[here, metric], theirs[there, metric]))
                    rows.append({"id": here, "other_id": there, **row, "metric": metric})
        return rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows of the table."""
        return iter(self.table())


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
    from tenbin.run import execute

    name = model if isinstance(model, str) else type(model).__name__
    given = dict(options, model=name, tasks=tasks if isinstance(tasks, str) else list(tasks))
    config = build_config(given)
    finished = execute(
        config,
        listener or Silence(),
        backend=None if isinstance(model, str) else model,
        write=write or config.output_path is not None,
    )
    path = finished.folder.path if finished.folder else None
    return Run(finished.document, list(finished.samples()), path)


def load_run(path: str | Path) -> Run:
    """Read a stored run by its folder or its result.json."""
    stored = read_run(path)
    return Run(stored.document, list(stored.samples()), stored.path)
