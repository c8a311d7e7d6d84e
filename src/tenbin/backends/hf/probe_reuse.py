"""Verdicts put to use: what is known of a model is taken, what is not is found out and kept.

Joins the store of verdicts with the two questions that a model is asked: how it can be scored, and
whether it can write in rows of tenbin's own. Knows no request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from tenbin.backends.hf.generation.generate import Generator, Way
from tenbin.backends.hf.model.forward import Forward, Head
from tenbin.backends.hf.model.memory import input_device
from tenbin.backends.hf.probe_cache import Verdicts
from tenbin.backends.hf.scoring.engine_selection import Choice, Finding

NOT_RUN = "not run"
_NOW = "made at this start"


def recalled_choice(
    model: Any, verdicts: Verdicts, choose: Callable[[Forward, Finding | None], Choice]
) -> tuple[Choice, str]:
    """A scoring core, and where the verdict on it comes from.

    Args:
        model: A transformers causal language model in eval mode.
        verdicts: What is known of it.
        choose: The ladder; given a finding, it asks nothing.
    """
    device = input_device(model)
    if kept := verdicts.recall("scoring", device):
        known = kept.values["finding"]
        finding = Finding(**{**known, "passed_over": tuple(known["passed_over"])})
        return choose(Forward(model, Head(**kept.values["head"])), finding), _from(kept.date)
    forward = Forward(model)
    choice = choose(forward, None)
    if choice.finding.is_settled:
        values = {"head": asdict(forward.head), "finding": asdict(choice.finding)}
        verdicts.keep("scoring", device, values)
    return choice, _NOW


def recalled_generator(
    model: Any, verdicts: Verdicts, make: Callable[[Way | None], Generator]
) -> tuple[Generator, str]:
    """A writer, and where the verdict on it comes from.

    Args:
        model: A transformers causal language model in eval mode.
        verdicts: What is known of it.
        make: Makes the writer; given a way, it asks nothing.
    """
    device = input_device(model)
    if kept := verdicts.recall("generation", device):
        return make(Way(**kept.values)), _from(kept.date)
    generator = make(None)
    verdicts.keep("generation", device, asdict(generator.way))
    return generator, _NOW


def _from(date: str) -> str:
    return f"remembered from {date}"
