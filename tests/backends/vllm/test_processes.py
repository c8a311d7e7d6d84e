"""What the vllm backend does about processes and their output; needs no vLLM."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tenbin.backends.vllm.processes import Guard, Log, cause_of, children_write_to

LOG = """\
(EngineCore pid=7) ERROR 01-02 03:04:05 [core.py:9] EngineCore failed to start.
Traceback (most recent call last):
  File "core.py", line 2, in make
    raise ValueError("No available memory for the cache blocks.")
ValueError: No available memory for the cache blocks.
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
PATIENCE = 30.0


def test_the_cause_is_read_from_the_log_where_the_error_names_none(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(LOG)
    empty = RuntimeError("Engine core initialization failed. See root cause above.")
    assert cause_of(empty, log) == "ValueError: No available memory for the cache blocks."


def test_an_error_that_says_something_is_believed(tmp_path: Path) -> None:
    said = "1 validation error for X\n  Value error, too long [type=value_error, input_value=…]"
    assert cause_of(ValueError(said), tmp_path / "absent") == "too long"
    assert cause_of(ValueError("first\nsecond"), tmp_path / "absent") == "first"
    assert cause_of(MemoryError(), tmp_path / "absent") == "MemoryError"


def test_children_write_into_the_log_and_this_process_does_not(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    with children_write_to(log):
        subprocess.run(["/bin/sh", "-c", "echo child; echo wrong >&2"], check=True)
        print("parent")
    subprocess.run(["/bin/sh", "-c", "echo later"], check=True)
    assert log.read_text() == "child\nwrong\n"
    shown = capfd.readouterr().out
    assert "later" in shown and "child" not in shown


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, in this process and in those that it starts."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def left_by_a_killed_process(word: str = "") -> Path:
    """The log of a process that could not remove it."""
    code = (
        "import os\n"
        "from tenbin.backends.vllm.processes import Log\n"
        f"log = Log(){word}\n"
        "print(getattr(log, 'path', log), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    return Path(done.stdout.strip())


def test_logs_of_killed_processes_are_removed_and_those_in_use_are_not(place: Path) -> None:
    used, left = Log(), left_by_a_killed_process()
    kept = left_by_a_killed_process(".keep()")
    other = place / "tenbin-vllm-elsewhere.log"
    other.symlink_to(place / "absent")
    # Each start removes what those before it left.
    assert used.path.exists() and kept.exists() and not left.exists()
    last = left_by_a_killed_process()
    assert last.exists()
    new = Log()
    assert set(place.iterdir()) == {used.path, kept, other, new.path}
    used.close()
    new.close()
    assert set(place.iterdir()) == {kept, other}


def test_a_log_is_kept_once_and_not_removed_by_its_end(place: Path) -> None:
    log = Log()
    log.path.write_text(LOG)
    first = log.keep()
    assert log.keep() == first == log.path and first.read_text() == LOG
    log.close()
    Log().close()
    assert list(place.iterdir()) == [first]


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_that_ends_without_a_word_takes_its_children_along(tmp_path: Path) -> None:
    code = (
        "import os, subprocess\n"
        "from tenbin.backends.vllm.processes import Guard\n"
        "child = subprocess.Popen(['/bin/sleep', '600'], stdout=subprocess.DEVNULL)\n"
        "Guard([child.pid])\n"
        "print(child.pid, flush=True)\n"
        "os._exit(9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 9, done.stderr
    pid = int(done.stdout)
    end = time.monotonic() + PATIENCE
    while is_there(pid):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_guard_that_is_dismissed_ends_nothing() -> None:
    child = subprocess.Popen(["/bin/sleep", "600"])
    try:
        Guard([child.pid]).dismiss()
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()
