"""A small stored run of every kind of task, made once a process by the scripted backend."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import tenbin
from tenbin.api import Run, evaluate, load_run

TASKS = (
    "mlogiqa_mcq_en",
    "mlogiqa_mcq_ja",
    "mlogiqa_gen_en",
    "jnli-1.3-0.2",
    "jnli-1.3-0.3",
    "plain_text_ja",
)


@dataclass(frozen=True, slots=True)
class SeedRun:
    """A run that nothing is wrong with."""

    run: Run
    result: bytes
    """result.json."""
    samples: bytes
    """samples.parquet."""

    def tree(self, digest: bool = True) -> dict[str, Any]:
        """A copy of result.json as a tree.

        Args:
            digest: Whether it names the digest of its samples; runs of earlier shapes do not, and
                only their samples are looked at when they are damaged.
        """
        tree: dict[str, Any] = json.loads(self.result)
        if not digest:
            tree.pop("samples", None)
        return tree


@lru_cache(maxsize=1)
def seed_run() -> SeedRun:
    """The run, without anything of this moment and this machine."""
    folder = Path(tempfile.mkdtemp(prefix="tenbin-fuzz-seed-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["TENBIN_CACHE"] = str(folder / "cache")
    path = evaluate(
        "scripted",
        list(TASKS),
        sample_data=True,
        limit=2,
        num_fewshot=0,
        no_cache=True,
        output_path=str(folder / "seed.json"),
    ).path
    assert path is not None
    written = (path / "result.json").read_text(encoding="utf-8")
    for place in (str(folder), str(Path(tenbin.__file__).parent)):
        written = written.replace(place, "folder")
    tree = json.loads(written)
    tree.update(_SETTLED)
    (path / "result.json").write_text(json.dumps(tree, ensure_ascii=False), encoding="utf-8")
    (folder / "seed.json").unlink(missing_ok=True)
    return SeedRun(
        load_run(path), (path / "result.json").read_bytes(), (path / "samples.parquet").read_bytes()
    )


_SETTLED: Mapping[str, Any] = {
    "date": "2026-01-02T03:04:05+00:00",
    "total_evaluation_time_seconds": 1.5,
    "git_hash": None,
    "libraries": {},
}


def put_run(folder: Path, result: bytes, samples: bytes) -> Path:
    """A stored run with these files."""
    (folder / "result.json").write_bytes(result)
    (folder / "samples.parquet").write_bytes(samples)
    return folder
