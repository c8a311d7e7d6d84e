"""What the model's backend can answer: which metrics remain, and what the user has to know.

Runs before anything is asked. A server of chats names a choice and shows no log-likelihoods; a
thinking model may write its thinking where an answer is expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tenbin.backends.base import Backend
from tenbin.errors import ConfigError
from tenbin.metrics.registry import NO_CHOICE, used_metric
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.records import MetricUse, Task, Thinking


def suited_cells(
    setups: Sequence[CellSetup], backend: Backend
) -> tuple[list[CellSetup], list[str]]:
    """The cells as this backend can answer them, and what to say about what was left out.

    Raises:
        ConfigError: Nothing of a cell is left.
    """
    if backend.capabilities.likelihoods:
        return list(setups), []
    suited = [_suited(setup) for setup in setups]
    dropped: dict[str, list[str]] = {}
    for before, after in zip(setups, suited, strict=True):
        kept = {use.name for use in after.task.metrics}
        for use in before.task.metrics:
            if use.name not in kept:
                dropped.setdefault(use.name, []).append(before.cell.id)
    return suited, [
        f"{metric} is left out of {', '.join(cells)}: it needs likelihoods of texts, and this model"
        " names choices"
        for metric, cells in dropped.items()
    ]


def _suited(setup: CellSetup) -> CellSetup:
    task = setup.task
    if task.kind == "generate":
        return setup
    kept = [use for use in task.metrics if not used_metric(task, use).needs_likelihoods]
    if not kept:
        raise ConfigError(
            f"{setup.cell.id}: {', '.join(use.name for use in task.metrics)} need likelihoods of"
            " texts, and this model shows none",
            "leave the task out, or ask a server that shows log-probabilities of prompts"
            " (--model openai) or the model itself (--model hf)",
        )
    if NO_CHOICE not in {use.metric for use in kept}:
        kept.append(MetricUse(NO_CHOICE, NO_CHOICE))
    return replace(setup, task=replace(task, metrics=tuple(kept)))


def thinking_notices(
    thinking: Thinking | None, tasks: Sequence[Task], marks: tuple[str, str] | None
) -> list[str]:
    """What a user should know before the scores.

    Args:
        thinking: How generation tasks let the model think; None: not at all.
        tasks: Those that are asked.
        marks: What the model's files show around thinking; None where they show nothing.
    """
    writing = _names(task for task in tasks if task.kind == "generate")
    if thinking is None:
        if not (marks and writing):
            return []
        return [
            f"the model's files show {marks[0]} and {marks[1]} around thinking: without "
            "--thinking on, thinking counts as the answer, and limits and stop strings may end in "
            f"them ({writing})"
        ]
    notices = []
    if scored := _names(task for task in tasks if task.kind != "generate"):
        notices.append(
            "scored without thinking, because these tasks ask for log-likelihoods of given texts: "
            f"{scored}"
        )
    if marks and marks != (thinking.opening, thinking.closing):
        notices.append(
            f"thinking is looked for between {thinking.opening} and {thinking.closing}, but the "
            f"model's files show {marks[0]} and {marks[1]}"
        )
    return notices


def _names(tasks: Iterable[Task]) -> str:
    return ", ".join(dict.fromkeys(task.name for task in tasks))
