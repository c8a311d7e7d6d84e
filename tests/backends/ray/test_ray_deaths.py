"""Workers that are killed, a request that kills, a node that goes: nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import tenbin
from tenbin.errors import BackendError
from tenbin.pipeline.progress import Listener
from tests.backends.ray.runs import lasting, run, samples

_KILLS = 20


class _Counter(Listener):
    """Counts answers, so that others know when work has begun."""

    def __init__(self) -> None:
        self.answers = 0

    def advance(self, work: float) -> None:
        self.answers += 1


def _workers(ancestor: int | None = None) -> list[psutil.Process]:
    """Worker processes of the cluster that this process started, none else; or of one node."""
    found = []
    for process in psutil.Process(ancestor).children(recursive=True):
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
            time.sleep(generator.uniform(0.0, 0.3))
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


def test_a_node_is_removed_in_the_middle(cluster: Any, tmp_path: Path, undisturbed: Path) -> None:
    node = cluster.add_node(num_cpus=2, object_store_memory=100 << 20, include_dashboard=False)
    cluster.wait_for_nodes()
    counter = _Counter()
    (raylet,) = node.all_processes["raylet"]
    gone: list[int] = []

    def remove() -> None:
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            time.sleep(0.05)
            if counter.answers and (there := _workers(raylet.process.pid)):
                gone.extend(process.pid for process in there)
                break
        cluster.remove_node(node, allow_graceful=False)

    with _meanwhile(remove):
        # Seven CPUs, then five: one of those who worked there finds no place any more.
        document = run(
            cluster,
            tmp_path,
            model="scripted",
            model_args="delay=0.4",
            workers=6,
            listener=counter,
        )
    _same(tmp_path, document, undisturbed)
    assert gone
    # Ray may take a while to say that a node is gone: idle workers may have taken over by then.
    scale = document["scale"]
    assert scale["deaths"] <= 2
    assert scale["deaths"] or scale["shards_sent_again"]


def test_a_document_that_kills_workers_is_found(cluster: Any, tmp_path: Path) -> None:
    options = {"model": "scripted", "tasks": ["jcommonsenseqa-1.1-0.2"], "workers": 3}
    whole = run(cluster, tmp_path / "whole", **options)
    (victim, *others) = samples(tmp_path / "whole")
    words = victim["prompt"][-60:]
    assert sum(words in row["prompt"] for row in others) == 0
    document = run(cluster, tmp_path / "poisoned", model_args={"poison": words}, **options)
    found = samples(tmp_path / "poisoned")
    failed = [row for row in found if row["failure_kind"]]
    assert [row["document"] for row in failed] == [victim["document"]]
    assert failed[0]["failure_kind"] == "worker_died"
    assert "every worker that was asked this died" in failed[0]["failure_message"]
    kept = {row["document"]: row["logprobs"] for row in found if not row["failure_kind"]}
    assert kept == {row["document"]: row["logprobs"] for row in others}
    assert document["scale"]["requests_given_up"] == 1
    assert whole["scale"]["deaths"] == 0 < document["scale"]["deaths"] <= 7
    # A rerun asks that one again, and nothing else.
    again = run(cluster, tmp_path / "poisoned", **options)
    assert lasting(again)["results"] == lasting(whole)["results"]
    assert again["answers_from_journal"] == len(others)


_DRIVER = """
import sys, tenbin
from tests.backends.ray.runs import run
from types import SimpleNamespace
from pathlib import Path
run(SimpleNamespace(address=sys.argv[1]), Path(sys.argv[2]), model="scripted",
    model_args="delay=0.1", workers=4)
"""


def _journal_rows(folder: Path) -> int:
    for file in (folder / "cache" / "journal").glob("*.sqlite"):
        connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        with closing(connection), suppress(sqlite3.OperationalError):
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    return 0


def test_the_driver_is_killed_and_started_again(
    cluster: Any, tmp_path: Path, undisturbed: Path
) -> None:
    driver = subprocess.Popen([sys.executable, "-c", _DRIVER, cluster.address, str(tmp_path)])
    try:
        deadline = time.monotonic() + 60
        while _journal_rows(tmp_path) < 20:
            assert driver.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        driver.kill()
        driver.wait()
    assert not (tmp_path / "result.json").exists()
    known = _journal_rows(tmp_path)
    document = run(cluster, tmp_path, model="scripted", workers=2)
    assert 0 < document["answers_from_journal"] == known
    _same(tmp_path, document, undisturbed)
    # What was known were whole shards, so the others were cut as before.
    shards = tenbin.load_run(undisturbed / "result.json").document["scale"]["shards_answered"]
    assert 0 < document["scale"]["shards_answered"] < shards


def test_weights_that_cannot_be_loaded_end_the_run_at_once(
    cluster: Any, tmp_path: Path, small_model: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(small_model, broken)
    # Whole files, which opening finds nothing wrong with: only a worker sees that they do not fit.
    settings = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps({**settings, "hidden_size": 48, "head_dim": 12}))
    with pytest.raises(BackendError, match=r"(?s)broken.*worker on"):
        run(cluster, tmp_path, model="hf", model_args={"pretrained": str(broken)}, workers=1)
