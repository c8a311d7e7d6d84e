"""What a scoring run and a generating run import: neither the other's engine, nor a compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RUN = """
import json, sys
from tenbin.cli import main
code = main(sys.argv[1:])
assert code == 0, code
print("IMPORTED", json.dumps(sorted(sys.modules)))
"""
COMPILER = {"torch._dynamo", "torch._inductor", "sympy"}
SPREAD = {"torch.distributed.tensor", "torch.distributed.fsdp", "torch.distributed.checkpoint"}
ENGINE = "tenbin.backends.hf"
SCORING = {f"{ENGINE}.scoring.{name}" for name in ("cache", "masked_rows", "probe", "tree")}
GENERATION = {f"{ENGINE}.generation.{name}" for name in ("decode", "probe", "scheduler")}


def imported(folder: Path, tmp_path: Path, *arguments: str) -> set[str]:
    given = ["run", "--model", "hf", "--model_args", f"pretrained={folder},max_length=2048"]
    given += [
        "--device",
        "cpu",
        "--sample_data",
        "--limit",
        "1",
        "--output_path",
        str(tmp_path / "r.json"),
    ]
    environment = {**os.environ, "TENBIN_CACHE": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        [sys.executable, "-c", RUN, *given, *arguments],
        capture_output=True, text=True, env=environment, timeout=600, cwd=tmp_path,
    )  # fmt: skip
    lines = [one for one in done.stdout.splitlines() if one.startswith("IMPORTED")]
    assert len(lines) == 1, done.stderr[-3000:]
    return set(json.loads(lines[0].partition(" ")[2]))


@pytest.mark.parametrize(
    ("task", "needed", "other"),
    [("jcommonsenseqa", SCORING, GENERATION), ("jsquad", GENERATION, SCORING)],
)
def test_a_run_imports_its_own_engine_and_no_compiler(
    llama_folder: Path, tmp_path: Path, task: str, needed: set[str], other: set[str]
) -> None:
    found = imported(llama_folder, tmp_path, "--tasks", task)
    assert needed & found, "the list is of modules that there are"
    assert not found & (COMPILER | SPREAD | other)
