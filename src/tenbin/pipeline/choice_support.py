"""Choice tasks with a model that names a choice and shows no likelihoods of texts.

Settled before anything is asked: which metrics remain, and that whole texts cannot be weighed.
After the run: how the choices were named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tenbin.backends.base import Backend
from tenbin.errors import ConfigError
from tenbin.metrics.registry import NO_CHOICE, find_metric
from tenbin.pipeline.prepare import CellSetup
from tenbin.pipeline.tally import Tally
from tenbin.records import Cell, MetricUse

LIKELIHOODS = "likelihoods of their texts"
_WAYS = {
    "letter_logprobs": "letter (first-token log-probabilities)",
    "generated": "letter (read out of generated text)",
}
_LITTLE = 0.5
"""Share of the first token below which the letters are not what the model would say."""


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
    kept = [use for use in task.metrics if not find_metric(use.metric).needs_likelihoods]
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


def choices_by(tally: Tally) -> str | None:
    """How the choices of a cell were made, in words; None where it has none."""
    named = [_WAYS[way] for way in sorted(tally.named)]
    if tally.weighed:
        named.insert(0, LIKELIHOODS)
    return " and ".join(named) or None


def naming_notices(tallies: Mapping[Cell, Tally]) -> list[str]:
    """One line a cell whose letters are hardly what the model would have said."""
    notices = []
    for cell, tally in tallies.items():
        share = tally.letter_share
        if share is not None and share < _LITTLE:
            notices.append(
                f"{cell.id}: the labels of the choices hold {share:.0%} of the first token's"
                " probability on average; this model would rather begin otherwise"
            )
    return notices
