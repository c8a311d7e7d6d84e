"""Tasks with what the user changes of them: split, metrics, settings of generation."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from tenbin.config import RunConfig
from tenbin.errors import ConfigError
from tenbin.metrics.registry import find_metric
from tenbin.records import MetricUse, Task
from tenbin.tasks.sampling import overridden


def adjusted(task: Task, config: RunConfig) -> Task:
    """The task with the user's split, extra metrics and settings of generation."""
    extra = tuple(
        MetricUse(metric, metric)
        for pattern, metric in _extra_metrics(config)
        if fnmatchcase(task.name, pattern)
        and find_metric(metric, task.kind).kind == task.kind
        and metric not in {use.metric for use in task.metrics}
    )
    task = replace(task, metrics=task.metrics + extra, split=config.split or task.split)
    if config.profile_settings.sampler == "lm-eval":
        # 0.4.13 reads `fewshot_indices` and takes examples from all rows all the same.
        task = replace(task, fewshot=replace(task.fewshot, indices=None))
    return _generating(task, config) if task.kind == "generate" else task


def _generating(task: Task, config: RunConfig) -> Task:
    """A generation task whose own settings `--gen_kwargs` and `--repeats` override."""
    try:
        sampling = overridden(task.sampling, config.gen_kwargs)
    except ValueError as error:
        raise ConfigError(
            f"--gen_kwargs: {task.name}: {error}",
            "to sample answers give a temperature above 0; for greedy ones temperature=0 alone",
        ) from None
    if sampling is not None and not sampling.states_top_k:
        sampling = replace(sampling, top_k=config.profile_settings.top_k)
    # lm-eval judges the first answer alone unless the file's filters say otherwise.
    first = config.profile_settings.first_answer and not task.filters
    return replace(
        task,
        sampling=sampling,
        repeats=config.repeats or (1 if first else task.repeats),
        max_gen_toks=config.gen_kwargs.get("max_gen_toks", task.max_gen_toks),
        thinking=config.thinking_settings,
    )


def _extra_metrics(config: RunConfig) -> list[tuple[str, str]]:
    pairs = []
    for written in config.extra_metrics:
        pattern, colon, metric = written.rpartition(":")
        pairs.append((pattern if colon else "*", metric))
    return pairs


def check_extra_metrics(config: RunConfig, tasks: list[Task]) -> None:
    """Refuse metrics that no asked task can use."""
    for pattern, metric in _extra_metrics(config):
        used = [t for t in tasks if metric in {use.metric for use in t.metrics}]
        if not used:
            raise ConfigError(
                f"--extra_metrics {metric}: no chosen task can use it",
                f"it is for {find_metric(metric).kind} tasks"
                + (f" matching {pattern!r}" if pattern != "*" else ""),
            )


def check_generation(config: RunConfig, tasks: list[Task]) -> None:
    """Refuse settings of generation where no asked task generates text."""
    for flag in ("gen_kwargs", "repeats", "thinking"):
        if getattr(config, flag) and not any(task.kind == "generate" for task in tasks):
            raise ConfigError(
                f"--{flag} changes nothing: no chosen task generates text",
                "leave it out, or name generation tasks; `tenbin tasks` lists what there is",
            )
