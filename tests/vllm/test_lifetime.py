"""Engines that do not start, that die, and that are closed: no process is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tenbin.backends.registry import open_backend
from tenbin.backends.vllm.processes import remove_leftovers
from tenbin.errors import BackendError
from tenbin.records import Generate, Text
from tests.vllm.conftest import settings

PATIENCE = 60.0


def children(parent: int) -> set[int]:
    """All processes below one that still live."""
    found: set[int] = set()
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            if "resource_tracker" not in Path(f"/proc/{child}/cmdline").read_text():
                found |= {child} | children(child)
    return found


def names(pids: set[int]) -> set[str]:
    return {Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0] for pid in pids}


def wait_until_gone(pids: set[int]) -> None:
    end = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{pid}/cmdline").exists() and _lives(pid) for pid in pids):
        assert time.monotonic() < end, f"still there: {names(pids)}"
        time.sleep(0.2)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def started() -> Iterator[Callable[[], set[int]]]:
    """Processes that a test has started; none of them may outlive it."""
    before = children(os.getpid())

    def found() -> set[int]:
        return children(os.getpid()) - before

    yield found
    wait_until_gone(found())


def remove_log(error: BackendError) -> None:
    """Of an engine that failed the log is kept, and the error says where."""
    named = re.search(r"log: (\S+\.log)", error.hint)
    assert named is not None
    Path(named[1]).unlink()


@pytest.mark.usefixtures("started")
def test_an_engine_without_memory_says_so(folder: Path) -> None:
    opened = open_backend(settings(folder, kv_cache_memory_bytes=1024))
    with pytest.raises(BackendError) as caught:
        list(opened.run([Generate("k", "a", (), 3)]))
    opened.close()
    assert "vLLM does not start" in caught.value.message
    assert "No available memory for the cache blocks" in caught.value.message
    assert "max_model_len" in caught.value.hint
    remove_log(caught.value)


def test_an_engine_that_dies_is_an_error_and_answers_so_far_are_kept(
    folder: Path, started: Callable[[], set[int]]
) -> None:
    opened = open_backend(settings(folder))
    asked = [Generate(f"g{n}", f"{n} b", (), 2 + 4 * n) for n in range(40)]
    got: dict[str, object] = {}
    with pytest.raises(BackendError) as caught:
        for key, response in opened.run(asked):
            got[key] = response
            if len(got) == 3:
                for pid in started():
                    os.kill(pid, signal.SIGKILL)
    assert "vLLM's engine ended" in caught.value.message
    assert len(got) >= 3 and all(isinstance(response, Text) for response in got.values())
    opened.close()
    remove_log(caught.value)


def test_closing_ends_every_process(folder: Path, started: Callable[[], set[int]]) -> None:
    opened = open_backend(settings(folder))
    ((_, text),) = opened.run([Generate("k", "a", (), 3)])
    assert isinstance(text, Text)
    running = started()
    assert running
    opened.close()
    wait_until_gone(running)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a short name: vLLM's sockets, of at most 107 characters, go there too."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_a_killed_process_leaves_no_engine_behind(
    folder: Path, tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL gives a process no time to end anything."""
    monkeypatch.setenv("TMPDIR", str(place))
    code = (
        "from tests.vllm.conftest import settings\n"
        "from tenbin.backends.registry import open_backend\n"
        "from tenbin.records import Generate\n"
        "import sys, time\n"
        "if __name__ == '__main__':\n"
        "    opened = open_backend(settings(sys.argv[1]))\n"
        "    list(opened.run([Generate('k', 'a', (), 3)]))\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"src:.:{os.environ.get('PYTHONPATH', '')}"},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        engines = children(process.pid)
        assert any("VLLM" in name for name in names(engines))
    finally:
        process.kill()
        process.wait()
    wait_until_gone(engines)
    (log,) = place.glob("tenbin-vllm-*.log")
    monkeypatch.setattr("tempfile.tempdir", str(place))
    remove_leftovers()  # as the next start does
    assert not log.exists()
