"""A run's memory does not grow with its documents: rows, prompts, answers and outcomes are on disk.

Traced allocations of Python and numpy, not the process: what they say does not depend on the
machine. SQLite's own memory is not traced; it is bounded by the size of its cache.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest

from tenbin.api import Silence
from tenbin.backends.scripted import ScriptedBackend
from tenbin.config import build_config
from tenbin.records import Request, Response
from tenbin.run import execute

FEW, MANY = 2_000, 8_000
BYTES_A_DOCUMENT = 400
"""Most that a document may take at the peak: its name and its value while its score is worked out.
A prompt alone would be 1,500."""


class Portions(ScriptedBackend):
    """Answers as workers do: a portion at a time, of requests that it reads as it needs them."""

    def run_portions(self, requests: Iterable[Request]) -> Iterator[Sequence[tuple[str, Response]]]:
        rest = iter(requests)
        while portion := list(islice(rest, 256)):
            yield list(self.run(portion))
            self.asked.clear()


def write_rows(folder: Path, count: int) -> None:
    place = folder / "jglue_v1.1" / "jcommonsenseqa"
    place.mkdir(parents=True)
    for split in ("train", "validation"):
        with (place / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for at in range(count):
                row = {
                    "q_id": at,
                    "question": f"{split}の問い{at}：" + "天秤が量るものは何か。" * 6,
                }
                row |= {f"choice{one}": f"答え{at}-{one}" for one in range(5)}
                file.write(json.dumps({**row, "label": at % 5}, ensure_ascii=False) + "\n")


def peak_of_a_run(folder: Path, documents: int) -> int:
    given = {
        "tasks": "jcommonsenseqa-1.1-0.2",
        "num_fewshot": 3,
        "limit": documents,
        "data_dir": str(folder),
        "cache_dir": str(folder / f"cache-{documents}"),
        "output_path": str(folder / f"{documents}.json"),
    }
    gc.collect()
    tracemalloc.start()
    try:
        finished = execute(build_config(given), Silence(), Portions())
        assert len(finished.judged) == documents
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    write_rows(folder, MANY)
    return folder


def test_memory_does_not_grow_with_documents(rows: Path) -> None:
    peak_of_a_run(rows, 50)  # libraries, templates and caches
    few, many = peak_of_a_run(rows, FEW), peak_of_a_run(rows, MANY)
    assert (many - few) / (MANY - FEW) < BYTES_A_DOCUMENT
