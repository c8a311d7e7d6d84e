"""tenbin's side: the prompts of a task, and a run of it on given answers or with a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tenbin
from tenbin.backends.base import BaseBackend
from tenbin.config import build_config
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
from tenbin.records import Failure, Generate, Prompt, Response, Rolled, Rolling, Score, Scores, Text


class Answered(BaseBackend):
    """Answers with what the oracle wrote down; what it was not asked is a failure."""

    fingerprint = "parity-1"

    def __init__(self, table: Mapping[str, Any]) -> None:
        super().__init__()
        self._scored = {(row[0], row[1]): (row[2], row[3]) for row in table["scored"]}
        self._written = dict(table["written"])
        self._rolled = dict(table["rolled"])

    def score(self, request: Score) -> Response:
        """The log-likelihoods that lm-eval got for the same texts."""
        found = [self._scored.get((request.prompt, text)) for text in request.continuations]
        if None in found:
            return _not_asked(request.prompt)
        values = [one for one in found if one is not None]
        return Scores(
            tuple(value for value, _ in values),
            tuple(max(1, len(text)) for text in request.continuations),
            tuple(bool(greedy) for _, greedy in values),
        )

    def generate(self, request: Generate) -> Response:
        """The text that lm-eval got after the same prompt."""
        text = self._written.get(request.prompt)
        return _not_asked(request.prompt) if text is None else Text(text, "stop", 1)

    def rolling(self, request: Rolling) -> Response:
        """The log-likelihood that lm-eval got for the same text."""
        value = self._rolled.get(request.text)
        return _not_asked(request.text) if value is None else Rolled(value, 1)


def _not_asked(text: str) -> Failure:
    return Failure("not_asked", f"lm-eval did not ask this: {text[-60:]!r}")


@dataclass(frozen=True, slots=True)
class Ours:
    """How tenbin is called: everything but the name and the shots."""

    data: Path
    include: Sequence[str]
    cache: Path

    def options(self, name: str, shots: int, **more: Any) -> dict[str, Any]:
        return {
            "tasks": [name],
            "num_fewshot": shots,
            "include_path": list(self.include),
            "trust_tasks": True,
            "profile": "lm-eval",
            "data_dir": str(self.data),
            "cache_dir": str(self.cache),
            "offline": True,
            **more,
        }

    def prompts(self, name: str, shots: int) -> dict[str, list[Prompt]]:
        """The prompts of each task that a name stands for, in the order of its rows."""
        config = build_config({"model": "scripted", **self.options(name, shots)})
        setups = choose_cells(config)
        data, settings = load_data(config, setups), prompt_settings(config)
        found: dict[str, list[Prompt]] = {}
        for setup in setups:
            found[setup.task.name] = list(prompts_of(setup, data, settings, None))
        return found

    def run(self, name: str, shots: int, backend: Any, **more: Any) -> tenbin.Run:
        options = self.options(name, shots, **more)
        return tenbin.evaluate(backend, options.pop("tasks"), progress=False, **options)


def requests_of(prompt: Prompt) -> list[dict[str, Any]]:
    """What a prompt asks, in the form of the oracle's requests."""
    if prompt.kind == "perplexity":
        return [{"text": prompt.text}]
    if prompt.continuations is not None:
        contexts = prompt.contexts or (prompt.text,)
        return [
            {"context": context, "continuation": text}
            for context in contexts
            for text in prompt.continuations
        ]
    return [
        {
            "context": prompt.text,
            "until": list(prompt.stop),
            "max_gen_toks": prompt.max_gen_toks,
            "temperature": prompt.sampling.temperature if prompt.sampling else 0.0,
        }
    ]
