"""A run on workers that is told to end: a partial result, and no process left behind."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

import tenbin
from tests.stopped import family, start, stop, wait_for, wait_for_end

pytest.importorskip("ray", reason="Ray is not installed: pip install 'tenbin[ray]'")


def _answered(folder: Path) -> int:
    try:
        return int(json.loads((folder / "r.run" / "progress.json").read_text())["answered"])
    except (OSError, ValueError):
        return 0


def test_a_stopped_run_ends_its_workers(tmp_path: Path) -> None:
    arguments = ["run", "--model", "scripted", "--model_args", "delay=0.3", "--workers", "2"]
    arguments += ["--shard_size", "2", "--tasks", "jnli,jcommonsenseqa", "--sample_data"]
    often = "import tenbin.pipeline.partial_scores as module\nmodule._SECONDS_BETWEEN = 0.0\n"
    process = start([*arguments, "--output_path", "r.json"], tmp_path, often)
    wait_for(lambda: _answered(tmp_path) >= 4, process)
    started = family(process)
    assert len(started) > 3, "a cluster of the run's own"
    _, said = stop(process, signal.SIGTERM)
    assert process.returncode == 143 and "ended by SIGTERM; a partial result of" in said, said
    wait_for_end(started)
    run = tenbin.load_run(tmp_path / "r.json")
    assert run.document["partial"] is True and len(run.samples) >= 4
