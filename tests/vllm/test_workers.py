"""vLLM inside Ray's workers: the answers of one process, and an engine and a worker that die."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import tenbin
from tenbin.pipeline.progress import Listener
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


def named(words: str, but: Collection[int] = ()) -> list[psutil.Process]:
    """Processes below this one that are called so, except some."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if " ".join(process.cmdline()).startswith(words) and process.pid not in but:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.fixture
def others() -> list[int]:
    """Engines that were there before: that of all other tests is one."""
    return [process.pid for process in named("VLLM::")]


class Killer(Listener):
    """Kills the engine of the only worker once it has answered, then the worker that follows it."""

    def __init__(self, others: Collection[int]) -> None:
        self.others = others
        self.killed: list[int] = []
        self.engines: list[psutil.Process] = []

    def advance(self, work: float) -> None:
        (worker,) = named("ray::Worker") or (None,)
        if worker is None or worker.pid in self.killed or len(self.killed) == 2:
            return
        self.engines += named("VLLM::", self.others)
        if self.killed:
            os.kill(worker.pid, signal.SIGKILL)
        else:
            os.kill(named("VLLM::EngineCore", self.others)[0].pid, signal.SIGKILL)
        self.killed.append(worker.pid)


@pytest.fixture(scope="module")
def alone(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tenbin.Run:
    """What one process without Ray answers."""
    return evaluated(folder, tmp_path_factory.mktemp("alone"))


def same(found: tenbin.Run, alone: tenbin.Run) -> None:
    assert found.document["engine"]["name"] == "vllm"
    assert found.document["scale"]["requests_given_up"] == 0
    assert found.scores == alone.scores
    for one, other in zip(found.samples, alone.samples, strict=True):
        assert (one["document"], one["generated"]) == (other["document"], other["generated"])
        # vLLM batches what it has at the moment, so that the last bits are its own.
        assert one["logprobs"] == pytest.approx(other["logprobs"], abs=1e-4)


def test_two_workers_answer_as_one_process_does(
    folder: Path, tmp_path: Path, alone: tenbin.Run, others: list[int]
) -> None:
    found = evaluated(folder, tmp_path, workers=2, num_cpus=1, shard_size=2)
    assert found.document["scale"]["workers"] == 2
    same(found, alone)
    assert named("VLLM::", others) == []  # closed, not left to be killed


def test_an_engine_and_a_worker_that_die_lose_nothing(
    folder: Path, tmp_path: Path, alone: tenbin.Run, others: list[int]
) -> None:
    killer = Killer(others)
    found = evaluated(folder, tmp_path, workers=1, num_cpus=1, shard_size=2, listener=killer)
    assert len(killer.killed) == 2
    assert found.document["scale"]["deaths"] == 2
    same(found, alone)
    _, alive = psutil.wait_procs(killer.engines, timeout=30)
    assert [process.pid for process in alive] == []
