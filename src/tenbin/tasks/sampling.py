"""What lm-eval's words about sampling mean: the greedy answer, or draws with which settings.

Knows the words of `generation_kwargs` and of `--gen_kwargs`; knows no file, no flag and no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.errors import TaskError
from tenbin.records import Sampling, Task

SAMPLING_WORDS = ("do_sample", "temperature", "top_p", "top_k")
_ALL = {"top_p": 1, "top_k": 0}
"""The values that leave every token in."""


def sampling_of(words: Mapping[str, Any]) -> Sampling | None:
    """The sampling that a task file asks for; None: greedy.

    `do_sample: false` and a temperature of 0 are greedy, whatever stands beside them. A temperature
    above 0 draws by itself; `do_sample: true` alone draws at temperature 1.

    Args:
        words: Some of `SAMPLING_WORDS`; what is None was not said.
    """
    said = _said(words)
    temperature = float(said.get("temperature", 1.0 if said.get("do_sample") else 0.0))
    if said.get("do_sample") is False or temperature == 0:
        return None
    return Sampling(temperature, float(said.get("top_p", 1.0)), int(said.get("top_k", 0)))


def overridden(sampling: Sampling | None, words: Mapping[str, Any]) -> Sampling | None:
    """The sampling when a user's words are laid over a task's own.

    What a user writes for one run is meant, so words that would have no effect are refused.

    Raises:
        ValueError: The words contradict each other, or would change nothing.
    """
    said = _said(words)
    cut = [f"{name}={said[name]}" for name, all in _ALL.items() if said.get(name, all) != all]
    warm = said.get("temperature", 0) > 0
    if said.get("do_sample") is False and warm:
        raise ValueError(f"do_sample=false is greedy, temperature={said['temperature']} draws")
    if said.get("do_sample") and said.get("temperature") == 0:
        raise ValueError("do_sample=true draws, temperature=0 is greedy")
    greedy = said.get("do_sample") is False or said.get("temperature") == 0
    if greedy or (sampling is None and not warm and not said.get("do_sample")):
        if cut:
            raise ValueError(f"{', '.join(cut)} has no effect while decoding is greedy")
        return None
    known = sampling or Sampling(1.0)
    return Sampling(
        float(said.get("temperature", known.temperature)),
        float(said.get("top_p", known.top_p)),
        int(said.get("top_k", known.top_k)),
    )


def check_repeats(task: Task) -> None:
    """Refuse answers that would all be the same.

    Raises:
        TaskError: Greedy answers are to be repeated.
    """
    if task.repeats > 1 and task.sampling is None:
        raise TaskError(
            f"{task.name}: {task.repeats} repeats of a greedy answer are one answer",
            "draw answers with a temperature above 0, such as --gen_kwargs temperature=0.8, or set "
            "repeats to 1",
        )


def _said(words: Mapping[str, Any]) -> dict[str, Any]:
    return {name: words[name] for name in SAMPLING_WORDS if words.get(name) is not None}
