"""Run evaluations, sweeps and diagnoses: the options are those of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tenbin.api.analyses import Diagnosis, Sweep
from tenbin.api.progress import choose_listener, listener_of
from tenbin.api.run import Run, Samples
from tenbin.backends.base import Backend, check_backend
from tenbin.config import AUTO, OPTIONS, RunConfig, build_config, show_in_signature
from tenbin.config.run_options import RunOptions
from tenbin.errors import ConfigError
from tenbin.pipeline.progress import Listener

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tenbin.pipeline.finish import CompletedRun


@show_in_signature(OPTIONS)
def evaluate(
    model: str | Backend = "hf",
    tasks: str | Sequence[str] = (),
    *,
    write: bool = False,
    listener: Listener | None = None,
    progress: bool | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Evaluate a model; options are the command line's flags, with underscores.

    Args:
        model: A backend's name (`hf`), or a backend that is open already.
        tasks: Ids, patterns, groups or bare names.
        write: Whether to write a run folder; given `output_path`, it is written anyway.
        listener: Receives the progress, instead of a progress bar.
        progress: Whether to show a progress bar; by default in notebooks and on terminals.
        **options: `model_args`, `num_fewshot`, `limit`, `sample_data`, `data_dir`, …

    Raises:
        TenbinError: Anything the user can mend, with a hint.
    """
    config = build_config(_given(model, tasks, options))
    _check_open_backend(model, config)
    if config.template == AUTO:
        from tenbin.pipeline.sweep import execute_auto as execute
    else:
        from tenbin.pipeline.run import execute
    finished = execute(
        config,
        listener_of(config, choose_listener(listener, progress)),
        backend=None if isinstance(model, str) else model,
        write=write or config.output_path is not None,
    )
    return _run(finished)


@show_in_signature(OPTIONS)
def sweep(
    model: str | Backend = "hf",
    tasks: str | Sequence[str] = (),
    *,
    metric: str | None = None,
    write: bool = False,
    listener: Listener | None = None,
    progress: bool | None = None,
    **options: Unpack[RunOptions],
) -> Sweep:
    """Run all templates of each task and choose among them; options as for `evaluate`.

    Args:
        model: A backend's name, or a backend that is open already.
        tasks: Names without templates.
        metric: The metric to choose by; by default each task's first.
        write: Whether to write a run folder; given `output_path`, it is written anyway.
        listener: Receives the progress, instead of a progress bar.
        progress: Whether to show a progress bar; by default in notebooks and on terminals.
        **options: Also `templates`, `num_fewshot_sweep`, `seeds`, `select_on`; `budget` asks each
            document under some prompts only, and `then` runs the leading ones in full.
    """
    from tenbin.pipeline.sweep import execute_sweep

    config = build_config(_given(model, tasks, options))
    _check_open_backend(model, config)
    finished = execute_sweep(
        config,
        listener_of(config, choose_listener(listener, progress)),
        metric,
        backend=None if isinstance(model, str) else model,
        write=write or config.output_path is not None,
    )
    return Sweep(_run(finished.run), finished.report)


@show_in_signature(OPTIONS)
def doctor(
    model: str = "hf",
    tasks: str | Sequence[str] = (),
    *,
    listener: Listener | None = None,
    progress: bool | None = None,
    **options: Unpack[RunOptions],
) -> Diagnosis:
    """Look at what a model's tokenizer makes of tasks and templates; no weights are loaded.

    Args:
        model: A backend's name.
        tasks: Ids, patterns, groups, or bare names for all templates of a task.
        listener: Receives the progress, instead of a progress bar.
        progress: Whether to show a progress bar; by default in notebooks and on terminals.
        **options: As for `evaluate`; `templates` names some of them. `limit` is 100 documents of a
            task by default; `"all"` looks at every one.

    Returns:
        A table of findings; as a mapping, what `tenbin doctor --format json` prints.

    Raises:
        TenbinError: Anything the user can mend, with a hint.
    """
    from tenbin.pipeline.doctor import examination_config, examine, report_of

    config = examination_config(_given(model, tasks, options))
    return Diagnosis(report_of(examine(config, choose_listener(listener, progress))))


def _given(
    model: str | Backend, tasks: str | Sequence[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options with the model's name and the tasks among them."""
    name = model if isinstance(model, str) else type(model).__name__
    return {**options, "model": name, "tasks": tasks if isinstance(tasks, str) else list(tasks)}


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


def _run(finished: CompletedRun) -> Run:
    path = finished.folder.path if finished.folder else None
    samples = Samples(finished.sample_rows, lambda: len(finished.judged), finished.samples)
    return Run(finished.result, samples, path)
