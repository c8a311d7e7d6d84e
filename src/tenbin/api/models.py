"""Evaluate many models: what a run file with `models:` says, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tenbin.api.progress import choose_listener, listener_of
from tenbin.api.run import Run, load_run, stored_samples
from tenbin.api.tables import Row, Tabular
from tenbin.config import AT_ONCE, MODELS, OPTIONS, list_models, show_in_signature
from tenbin.config.run_options import RunOptions
from tenbin.errors import ConfigError
from tenbin.pipeline.many_models.entries import Entry, check_entries, read_entries
from tenbin.pipeline.many_models.run import ModelRun, run_entries
from tenbin.pipeline.progress import Listener

if TYPE_CHECKING:
    from typing_extensions import Unpack

_WHERE = "evaluate_models"


@dataclass(frozen=True, repr=False)
class Models(Tabular):
    """Many models evaluated; scores are here, prompts and answers in a folder for each."""

    evaluated: Mapping[str, Run]
    """Name → its run; samples are read from its folder when asked for."""
    failed: Mapping[str, str]
    """Name → why there are no scores."""
    paths: Mapping[str, Path]
    """Name → its result.json."""

    columns: ClassVar[Mapping[str, type]] = {"model": str, **Run.columns}
    shown_columns: ClassVar[tuple[str, ...]] = ("model", *Run.shown_columns)

    @property
    def scores(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """Model → task id → metric → value."""
        return {name: run.scores for name, run in self.evaluated.items()}

    def table(self) -> list[Row]:
        """One row for each model and metric of a task."""
        return [{"model": name, **row} for name, run in self.evaluated.items() for row in run]

    def load(self, name: str) -> Run:
        """One model's run, read from its folder.

        Raises:
            ConfigError: No model of this name was evaluated.
        """
        if name not in self.paths:
            raise ConfigError(
                f"no model {name!r} was evaluated: {self.failed.get(name, 'unknown name')}",
                f"there are: {', '.join(self.paths)}",
            )
        return load_run(self.paths[name])

    def _heading(self) -> str:
        failed = f"; failed: {', '.join(self.failed)}" if self.failed else ""
        return f"{len(self.evaluated):,} models evaluated{failed}"


@show_in_signature(OPTIONS)
def evaluate_models(
    models: Sequence[Mapping[str, Any]],
    tasks: str | Sequence[str] = (),
    *,
    model: str | None = None,
    models_at_once: int | None = None,
    listener: Listener | None = None,
    progress: bool | None = None,
    **options: Unpack[RunOptions],
) -> Models:
    """Evaluate many models; one that fails stops no other, and what is complete is not run again.

    Faults of any of them are found before the first one loads. Where several run side by side, each
    has a process of its own, as `multiprocessing` starts them: a script then needs
    `if __name__ == "__main__":` around this call.

    Args:
        models: One mapping for each model, as in the `models:` of a run file: a `name`, and
            whatever is not as for the others, such as `model_args`.
        tasks: Ids, patterns, groups or bare names, for all models.
        model: The backend's name, for models that name none.
        models_at_once: Runs side by side. None: one without workers; with them, as many as the
            cluster has room for.
        listener: Receives the end of each model, and the progress where models run one at a time.
        progress: Whether to show a progress bar; by default in notebooks and on terminals.
        **options: As for `evaluate`, for all models. Results are written into the folder
            `output_path`, by default `runs`.

    Raises:
        TenbinError: Anything the user can mend before a model loads, with a hint.
    """
    given: dict[str, Any] = {**options, MODELS: list(models), AT_ONCE: models_at_once}
    if model is not None:
        given["model"] = model
    if tasks:
        given["tasks"] = tasks if isinstance(tasks, str) else list(tasks)
    asked = list_models(given, _WHERE)
    entries = read_entries(asked.shared, asked.models, {}, _WHERE)
    speaker = choose_listener(listener, progress)
    for entry in entries:
        listener_of(entry.config, speaker)  # refuses what is missing before a model loads
    failed = check_entries(entries, speaker)

    def ended_one(one: ModelRun) -> None:
        speaker.message(f"{one.name}: {one.reason or one.state}")

    def of_one(entry: Entry) -> Listener:
        return listener_of(entry.config, speaker)

    ended = run_entries(entries, asked.at_once, of_one, _silent, ended_one, failed)
    paths = {entry.name: entry.result for entry in entries}
    done = {one.name: one.result for one in ended if one.result is not None}
    folders = {name: paths[name].with_suffix(".run") for name in done}
    runs = {
        name: Run(result, stored_samples(folders[name]), folders[name])
        for name, result in done.items()
    }
    return Models(
        runs,
        {one.name: one.reason for one in ended if one.result is None},
        {name: paths[name] for name in done},
    )


def _silent(entry: Entry) -> Listener:
    """The listener of a run in another process; importable, so that it can be named there."""
    return listener_of(entry.config, Listener())
