"""Workers that are killed, a request that kills, a node that goes: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.backends.ray.runs import lasting, run, samples

import tenbin
from tenbin.api import Silence

_KILLS = 20


class _Counter(Silence):
    """Counts answers, so that others know when work has begun."""

    def __init__(self) -> None:
        self.answers = 0

    def advance(self, work: float) -> None:
        self.answers += 1


def _workers() -> list[psutil.Process]:
    """Worker processes of the cluster that this process started, none else."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::Worker"):
                found.append(process)
        except psutil.Error:
            continue
    return found


@contextmanager
def _meanwhile(action: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    yield
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def undisturbed(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that all others must equal."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run(cluster, folder, model="scripted", workers=2)
    return folder


def _same(folder: Path, document: dict[str, Any], undisturbed: Path) -> None:
    expected = lasting(dict(tenbin.load_run(undisturbed / "result.json").document))
    found = lasting(document)
    for one in (expected, found):
        one["config"].pop("model_args")  # the delay
    assert found == expected
    assert samples(folder) == samples(undisturbed)


def test_twenty_workers_killed_at_random_moments(
    cluster: Any, tmp_path: Path, undisturbed: Path
) -> None:
    generator = random.Random(20)
    counter, killed = _Counter(), []

    def kill() -> None:
        while len(killed) < _KILLS:
            time.sleep(generator.uniform(0.0, 0.8))
            alive = [process for process in _workers() if process.pid not in killed]
            if alive and counter.answers:
                victim = generator.choice(alive)
                os.kill(victim.pid, signal.SIGKILL)
                killed.append(victim.pid)

    with _meanwhile(kill):
        document = run(
            cluster,
            tmp_path,
            model="scripted",
            model_args="delay=0.2",
            workers=4,
            listener=counter,
        )
    _same(tmp_path, document, undisturbed)
    assert len(killed) == _KILLS
    # One that is killed as the last answers come in may go unnoticed.
    assert document["scale"]["deaths"] >= _KILLS - 4
    assert document["scale"]["requests_given_up"] == 0
