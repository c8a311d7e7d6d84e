"""vLLM inside Ray's workers: the answers of one process, and an engine and a worker that die."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import tenbin
from tenbin.api import Silence
from tests.vllm.conftest import ENGINE

pytest.importorskip("ray", reason="Ray is not installed; `make test-vllm` installs it")

OPTIONS: dict[str, Any] = {
    "model": "vllm",
    "tasks": ["mlogiqa_mcq_en", "jnli-1.3-0.2", "mlogiqa_gen_en"],
    "sample_data": True,
    "limit": 6,
    "dtype": "float32",
    "gen_kwargs": "max_gen_toks=8",
}


@pytest.fixture(autouse=True, scope="module")
def quiet_neighbours() -> Iterator[None]:
    """Ray puts its workers behind everything else that a machine does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")
        yield


def evaluated(folder: Path, place: Path, **options: Any) -> tenbin.Run:
    arguments = {"pretrained": str(folder), **ENGINE}
    return tenbin.evaluate(
        **OPTIONS, model_args=arguments, cache_dir=str(place / "cache"), **options
    )


def named(words: str) -> list[psutil.Process]:
    """Processes below this one that are called so."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if " ".join(process.cmdline()).startswith(words):
                found.append(process)
        except psutil.Error:
            continue
    return found


class Killer(Silence):
    """Kills an engine with the first answers and a worker a while later."""

    def __init__(self) -> None:
        self.killed: list[str] = []
        self.engines: list[psutil.Process] = []

    def advance(self, work: float) -> None:
        if not self.killed:
            self.killed.append("engine")
            self._kill("VLLM::EngineCore")
            threading.Thread(target=self._kill_worker, daemon=True).start()

    def _kill_worker(self) -> None:
        time.sleep(1.0)
        self.killed.append("worker")
        self._kill("ray::Worker")

    def _kill(self, words: str) -> None:
        self.engines += named("VLLM::")
        os.kill(named(words)[-1].pid, signal.SIGKILL)


def test_workers_answer_as_one_process_does_and_may_die(folder: Path, tmp_path: Path) -> None:
    alone = evaluated(folder, tmp_path / "alone")
    killer = Killer()
    spread = evaluated(
        folder, tmp_path / "spread", workers=2, num_cpus=1, shard_size=2, listener=killer
    )
    assert killer.killed == ["engine", "worker"]
    assert spread.document["scale"]["workers"] == 2
    assert spread.document["scale"]["deaths"] >= 1
    assert spread.document["scale"]["requests_given_up"] == 0
    assert spread.document["engine"]["name"] == "vllm"
    assert spread.scores == alone.scores
    for one, other in zip(spread.samples, alone.samples, strict=True):
        assert (one["document"], one["generated"]) == (other["document"], other["generated"])
        # vLLM batches what it has at the moment, so that the last bits are its own.
        assert one["logprobs"] == pytest.approx(other["logprobs"], abs=1e-4)
    # Neither those that were ended nor those that were left behind.
    _, alive = psutil.wait_procs([*killer.engines, *named("VLLM::")], timeout=30)
    assert [process.pid for process in alive] == []
