"""A model that is as good as a test wants it, and runs of it that may stop early."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tenbin.backends.base import NONE_KNOWN
from tenbin.backends.scripted import ScriptedBackend
from tenbin.config import build_config
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.records import Request, Response
from tenbin.results.schema import RunResult

ID = "jcommonsenseqa-1.1-0.2"
ROWS = 700


def interrupt() -> None:
    raise KeyboardInterrupt


class Model(ScriptedBackend):
    """Right on a share of the documents, always the same ones; may break off after some answers."""

    def __init__(self, share: float, name: str = "model", stop_after: int = 10**9) -> None:
        super().__init__(score=self._of, fingerprint=name)
        self.capabilities = replace(self.capabilities, request_order="prefix", resumable=True)
        self._share, self._stop_after = share, stop_after
        self.rounds: list[int] = []
        self.stop: Callable[[], None] = interrupt

    def _of(self, prompt: str, continuation: str) -> float:
        question = prompt.split("問い")[1].split("）")[0]
        number, right = question.split("（")
        luck = int(hashlib.sha256(number.encode()).hexdigest()[:8], 16) / 16**8
        wanted = right if luck < self._share else str((int(right) + 1) % 5)
        return -1.0 if continuation.strip() == wanted else -2.0

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        given = list(requests)
        self.rounds.append(len(given))
        for key, response in super().run(one for one in given if one.key not in known):
            if self._stop_after == 0:
                self.stop()
            self._stop_after -= 1
            yield key, response


class Heard(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)


def evaluated(data: Path, model: Model, heard: Listener | None = None, **options: Any) -> RunResult:
    given = {"model": "scripted", "tasks": "jcommonsenseqa", "data_dir": str(data), **options}
    finished = execute(
        build_config(given), heard or Heard(), model, bool(options.get("output_path"))
    )
    return finished.result


def without_clock(result: RunResult) -> dict[str, Any]:
    left_out = ("date", "total_evaluation_time_seconds", "timing", "answers_from_journal", "config")
    return {name: value for name, value in result.to_json().items() if name not in left_out}
