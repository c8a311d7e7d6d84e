"""Scores as text for elsewhere: what `tenbin export` prints, from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tenbin.api.models import Models
from tenbin.api.run import Run, load_run

Format = Literal["csv", "markdown", "latex", "html-table", "jsonl", "model-card", "every-eval-ever"]


def export(
    *runs: Run | Models | str | Path,
    to: Format,
    percent: bool = False,
    all_metrics: bool = False,
    rows: Literal["models", "tasks"] | None = None,
    names: Sequence[str] = (),
    evaluator: str = "unknown",
    relationship: Literal["first_party", "third_party", "collaborative", "other"] = "other",
) -> str:
    """Scores of finished or stored runs in a format of papers, pages or other programs.

    Args:
        *runs: Runs, folders or result.json files of stored ones, or models that were evaluated
            together.
        to: The format. `every-eval-ever` takes one run, `model-card` runs of one model.
        percent: Per cent instead of shares from 0 to 1.
        all_metrics: Every metric, not only the first of each task and group.
        rows: What stands in the rows of `markdown`, `latex` and `html-table`; by default models if
            there are several and few columns.
        names: A name for each run; by default that of its model.
        evaluator: Who evaluated, for `every-eval-ever`.
        relationship: Of the evaluator to the model, for `every-eval-ever`.

    Returns:
        The text.

    Raises:
        TenbinError: Anything the user can mend, with a hint.
    """
    from tenbin.errors import ConfigError
    from tenbin.report.export import ExportSettings, NamedRun, export_text, name_runs
    from tenbin.report.export.every_eval_ever import Evaluator

    opened: list[tuple[str | None, Run]] = []
    for one in runs:
        if isinstance(one, Models):
            opened += one.evaluated.items()
        else:
            opened.append((None, one if isinstance(one, Run) else load_run(one)))
    if not opened:
        raise ConfigError("no run to export", "name at least one run")
    given = [name for name, _ in opened if name is not None]
    if not names and len(given) == len(opened):
        names = given
    found = name_runs([(run.path, run.result) for _, run in opened], names)
    named = [NamedRun(name, run.result) for name, (_, run) in zip(found, opened, strict=True)]
    settings = ExportSettings(percent, all_metrics, rows, Evaluator(evaluator, relationship))
    return export_text(named, to, settings)


def track(
    *runs: Run | Models | str | Path,
    to: Literal["wandb", "mlflow"],
    project: str | None = None,
    entity: str | None = None,
    mode: Literal["online", "offline"] | None = None,
    dir: str | Path | None = None,
    tracking_uri: str | None = None,
    experiment: str | None = None,
    samples: int = 1_000,
) -> list[str]:
    """Send stored runs to a program that tracks experiments; one that it has is updated.

    Args:
        *runs: Runs that were stored, their folders or result.json files, or models that were
            evaluated together.
        to: The program. Keys come from its own environment variables.
        project: W&B: project.
        entity: W&B: user or team.
        mode: W&B: `offline` keeps runs in `dir`, for `wandb sync`.
        dir: W&B: folder of offline runs.
        tracking_uri: MLflow: address, folder or database.
        experiment: MLflow: experiment.
        samples: Documents of each task.

    Returns:
        What the program has of each, in words: where it is to be seen.

    Raises:
        TenbinError: Anything the user can mend, with a hint.
    """
    from tenbin.errors import ConfigError
    from tenbin.report.tracking.settings import tracking_settings
    from tenbin.report.tracking.stored import track_stored
    from tenbin.results.read import read_run

    places: list[str | Path] = []
    for one in runs:
        found = one.evaluated.values() if isinstance(one, Models) else [one]
        for run in found:
            place = run.path if isinstance(run, Run) else run
            if place is None:
                raise ConfigError(
                    "a run that was not stored cannot be sent afterwards",
                    f"evaluate with write=True, or with export={to!r}",
                )
            places.append(place)
    if not places:
        raise ConfigError("no run to send", "name at least one run")
    given = {
        "project": project, "entity": entity, "mode": mode, "dir": dir,
        "tracking_uri": tracking_uri, "experiment": experiment, "samples": samples,
    }  # fmt: skip
    settings = tracking_settings({name: one for name, one in given.items() if one is not None})
    lines: list[str] = []
    track_stored([read_run(place) for place in places], to, settings, lines.append)
    return lines
