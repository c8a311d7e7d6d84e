"""The documented command with vLLM behind it: a whole run, and the same run from the journal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.vllm.conftest import WINDOW

TASKS = "mlogiqa_mcq_en,jnli-1.3-0.2,mlogiqa_gen_en"


def run(folder: Path, output: Path, model: str, arguments: str) -> tuple[dict[str, Any], str]:
    """The documented command in a process of its own, as a user starts it."""
    command = [
        *(sys.executable, "main.py", "--model", model, "--sample_data"),
        *("--model_args", f"pretrained={folder},{arguments}"),
        *("--tasks", TASKS, "--limit", "3", "--dtype", "float32"),
        *("--output_path", str(output), "--gen_kwargs", "max_gen_toks=8"),
        *("--cache_dir", str(output.parent / "cache")),
    ]
    environment = {**os.environ, "PYTHONPATH": "src", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=400, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(output.read_text()), done.stdout + done.stderr


@pytest.fixture(scope="module")
def arguments() -> str:
    return f"max_model_len={WINDOW},block_size=32,enforce_eager=True,kv_cache_memory_bytes=64M"


def values(document: dict[str, Any]) -> dict[str, Any]:
    return dict(document["results"])


def test_a_run_its_journal_and_the_hf_backend(folder: Path, tmp_path: Path, arguments: str) -> None:
    first, told = run(folder, tmp_path / "first.json", "vllm", arguments)
    assert first["engine"]["name"] == "vllm"
    assert first["engine"]["mode"] == "prefix_cache"
    assert first["answers_from_journal"] == 0
    assert "starting vLLM" in told
    assert "leaked" not in told and "Triton" not in told
    again, told = run(folder, tmp_path / "again.json", "vllm", arguments)
    assert again["engine"] == first["engine"]  # which gave the answers, though it was not started
    assert again["answers_from_journal"] > 0
    assert "starting vLLM" not in told
    assert values(again) == values(first)
    other, _ = run(folder, tmp_path / "hf.json", "hf", f"max_length={WINDOW}")
    assert values(other) == values(first)
