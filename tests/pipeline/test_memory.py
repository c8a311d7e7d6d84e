"""A run's memory does not grow with its documents: rows, prompts, answers and outcomes are on disk.

Traced allocations of Python and numpy, stage by stage, not the process: what they say does not
depend on the machine. SQLite's own memory is not traced; it is bounded by the size of its cache.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.base import NONE_KNOWN
from tenbin.backends.scripted import ScriptedBackend
from tenbin.config import build_config
from tenbin.files import disk_list as shelf
from tenbin.pipeline import finish, judge, run
from tenbin.pipeline.progress import Listener
from tenbin.records import Request, Response

FEW, MANY, EXAMPLES = 2_100, 4_100, 300
"""Prompts and samples are made by the thousand: two of these are there at once."""
STAGES = {
    run: ("load_data", "_plan", "ask"),
    judge.Judge: ("judge_rest",),
    finish: ("summarise_cells", "record", "write_run"),
}
BYTES_A_DOCUMENT = 200
"""Most that a document may take at the peak of any stage: its position on shelves, and its numbers
while its score is worked out. A prompt alone would be 1,000."""


class Portions(ScriptedBackend):
    """Answers as workers do: a portion at a time, of requests that it reads as it needs them."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = replace(self.capabilities, request_order="prefix", resumable=True)

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        rest = iter(requests)
        while portion := list(islice(rest, 256)):
            yield from list(super().run(portion))
            self.asked.clear()


def write_rows(folder: Path) -> None:
    place = folder / "jglue_v1.1" / "jcommonsenseqa"
    place.mkdir(parents=True)
    for split, count in (("train", EXAMPLES), ("validation", MANY)):
        with (place / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for at in range(count):
                row = {"q_id": at, "question": f"{split}の問い{at}：" + "何を量る。" * 12}
                row |= {f"choice{one}": f"答え{at}-{one}" for one in range(5)}
                file.write(json.dumps({**row, "label": at % 5}, ensure_ascii=False) + "\n")


def peaks_of_a_run(folder: Path, documents: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Bytes at the peak of each stage, beyond what was there before the run."""
    peaks: dict[str, int] = {}

    def traced(name: str, stage: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            tracemalloc.reset_peak()
            try:
                return stage(*arguments, **options)
            finally:
                peaks[name] = tracemalloc.get_traced_memory()[1]

        return wrapped

    given = {
        "tasks": "jcommonsenseqa-1.1-0.2",
        "num_fewshot": 1,
        "limit": documents,
        "data_dir": str(folder),
        "cache_dir": str(folder / f"cache-{documents}"),
        "output_path": str(folder / f"{documents}.json"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(shelf, "_IN_MEMORY", 1)  # up to 1 MiB a shelf would be small runs' own
        for module, names in STAGES.items():
            for name in names:
                patch.setattr(module, name, traced(name, getattr(module, name)))
        gc.collect()
        tracemalloc.start()
        try:
            finished = run.execute(build_config(given), Listener(), Portions())
        finally:
            tracemalloc.stop()
    assert len(finished.judged) == documents
    return peaks


def test_memory_does_not_grow_with_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path)
    peaks_of_a_run(tmp_path, 50, monkeypatch)  # libraries, templates and caches
    few, many = (peaks_of_a_run(tmp_path, count, monkeypatch) for count in (FEW, MANY))
    grown = {
        name: (many[name] - few[name]) / (MANY - FEW) for names in STAGES.values() for name in names
    }
    assert max(grown.values()) < BYTES_A_DOCUMENT, grown
