"""A model that is loaded beside the main thread: the same answers, errors in their place, no end
that waits for it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.base import BackendSettings
from tenbin.backends.hf import background_load
from tenbin.backends.hf.backend import HfBackend, open_hf
from tenbin.backends.hf.background_load import BackgroundLoad
from tenbin.errors import BackendError
from tenbin.pipeline.requests import generate_request, roll_request, score_request
from tenbin.records import Request
from tenbin.timing import timed

REQUESTS: list[Request] = [
    score_request("日本の首都は", ("東京です。", "海です。")),
    score_request("The answer is", (" a b", " blue", "")),
    roll_request("a b c d e f g"),
    generate_request("The quick brown", ("\n",), 6),
]


def opened(folder: Path, tmp_path: Path, **arguments: Any) -> HfBackend:
    settings = BackendSettings(
        "hf", {"pretrained": str(folder), **arguments}, device="cpu", cache_dir=str(tmp_path)
    )
    backend = open_hf(settings)
    assert isinstance(backend, HfBackend)
    return backend


class Gate:
    """Holds a load up until it is opened."""

    def __init__(self, backend: HfBackend) -> None:
        self.begun, self.opened, self.thread = threading.Event(), threading.Event(), ""
        self._load = backend._load
        backend._load = self.load

    def load(self) -> Any:
        self.thread = threading.current_thread().name
        self.begun.set()
        assert self.opened.wait(60)
        return self._load()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    for one in list(background_load._running):
        one.wait()


def test_answers_are_those_of_a_load_in_the_main_thread(llama_folder: Path, tmp_path: Path) -> None:
    plain = opened(llama_folder, tmp_path)
    expected = list(plain.run(REQUESTS))
    early = opened(llama_folder, tmp_path)
    gate = Gate(early)
    early.prepare()
    early.prepare()  # once is enough
    assert gate.begun.wait(60)
    run = early.run(REQUESTS)
    threading.Timer(0.2, gate.opened.set).start()
    with timed() as timing:
        assert list(run) == expected, "to the last bit, in the same order"
    assert gate.thread == "tenbin-load"
    assert timing.seconds["model load"] > 0, "what is waited for is counted"
    assert early.fingerprint == plain.fingerprint


def test_an_error_of_the_load_is_raised_by_the_run(llama_folder: Path, tmp_path: Path) -> None:
    backend = opened(llama_folder, tmp_path)
    load = backend._load
    backend._load = lambda: (_ for _ in ()).throw(BackendError("no such weights"))
    backend.prepare()
    assert backend._loading is not None
    backend._loading.wait()
    with pytest.raises(BackendError, match="no such weights"):
        list(backend.run(REQUESTS))
    # As without a thread, the next run tries again.
    backend._load = load
    assert len(list(backend.run(REQUESTS))) == len(REQUESTS)


def test_closing_waits_for_nothing_and_keeps_nothing(llama_folder: Path, tmp_path: Path) -> None:
    backend = opened(llama_folder, tmp_path)
    gate = Gate(backend)
    backend.prepare()
    load = backend._loading
    assert load is not None and gate.begun.wait(60)
    backend.close()
    assert not load.is_over(), "it goes on, and nobody waits"
    gate.opened.set()
    load.wait()
    assert load.take() is None, "its model is dropped"
    with pytest.raises(BackendError, match="closed"):
        list(backend.run(REQUESTS))


def test_no_model_is_opened_beside_one_that_was_abandoned(
    llama_folder: Path, tmp_path: Path
) -> None:
    """A load changes settings of transformers for the whole process."""
    backend = opened(llama_folder, tmp_path)
    gate = Gate(backend)
    backend.prepare()
    load = backend._loading
    assert load is not None and gate.begun.wait(60)
    backend.close()
    threading.Timer(0.2, gate.opened.set).start()
    opened(llama_folder, tmp_path)
    assert load.is_over()


def test_a_model_that_came_before_it_was_abandoned_is_dropped(llama: tuple[Any, Any]) -> None:
    load = BackgroundLoad(lambda: llama[0])
    load.wait()
    load.abandon()
    assert load.take() is None


ENDING = """
import sys, threading, time
from tenbin.backends.hf.background_load import BackgroundLoad
begun = threading.Event()
def load():
    begun.set()
    while True:
        time.sleep(0.01)
one = BackgroundLoad(load)
begun.wait()
one.abandon()
print("ended")
sys.exit(7)
"""


def test_the_process_ends_while_a_load_goes_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (7, "ended", "")
