"""Sampling settings as lm-eval names them: `generation_kwargs` of a task, and `--gen_kwargs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.errors import TaskError
from tenbin.records import Sampling, Task

SAMPLING_SETTINGS = ("do_sample", "temperature", "top_p", "top_k")
_ALL = {"top_p": 1, "top_k": 0}
"""The values that exclude no token."""


def sampling_of(settings: Mapping[str, Any]) -> Sampling | None:
    """The sampling that a task file asks for; None for greedy decoding.

    `do_sample: false` and a temperature of 0 mean greedy, whatever the other settings. A
    temperature above 0 means sampling; `do_sample: true` alone means temperature 1.

    Args:
        settings: Some of `SAMPLING_SETTINGS`; None stands for one that is not given.
    """
    given = _given(settings)
    temperature = float(given.get("temperature", 1.0 if given.get("do_sample") else 0.0))
    if given.get("do_sample") is False or temperature == 0:
        return None
    top_p, top_k = float(given.get("top_p", 1.0)), int(given.get("top_k", 0))
    return Sampling(temperature, top_p, top_k, "top_k" in given)


def overridden(sampling: Sampling | None, settings: Mapping[str, Any]) -> Sampling | None:
    """A task's sampling, overridden by a user's settings; None for greedy decoding.

    Raises:
        ValueError: The settings contradict each other, or would have no effect.
    """
    given = _given(settings)
    cut = [f"{name}={given[name]}" for name, all in _ALL.items() if given.get(name, all) != all]
    warm = given.get("temperature", 0) > 0
    if given.get("do_sample") is False and warm:
        raise ValueError(f"do_sample=false is greedy, temperature={given['temperature']} samples")
    if given.get("do_sample") and given.get("temperature") == 0:
        raise ValueError("do_sample=true samples, temperature=0 is greedy")
    greedy = given.get("do_sample") is False or given.get("temperature") == 0
    if greedy or (sampling is None and not warm and not given.get("do_sample")):
        if cut:
            raise ValueError(f"{', '.join(cut)} has no effect while decoding is greedy")
        return None
    known = sampling or Sampling(1.0)
    return Sampling(
        float(given.get("temperature", known.temperature)),
        float(given.get("top_p", known.top_p)),
        int(given.get("top_k", known.top_k)),
        known.states_top_k or "top_k" in given,
    )


def check_repeats(task: Task) -> None:
    """Refuse repeated answers that would all be the same.

    Raises:
        TaskError: Greedy answers are to be repeated.
    """
    if task.repeats > 1 and task.sampling is None:
        raise TaskError(
            f"{task.name}: all {task.repeats} repeats of a greedy answer would be the same",
            "sample with a temperature above 0, such as --gen_kwargs temperature=0.8, or set "
            "repeats to 1",
        )


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: settings[name] for name in SAMPLING_SETTINGS if settings.get(name) is not None}
