"""Programs that are sent real signals: started as users start them, watched until they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LIBRARIES = "pandas, pyarrow.parquet, scipy.special, yaml"
"""Loaded before the clock runs, as in a run that has gone on for a while."""
_PATIENT = """
import tenbin.pipeline.many_models.run, tenbin.pipeline.interrupt
tenbin.pipeline.interrupt.LIMIT_SECONDS = tenbin.pipeline.interrupt.SECONDS_TO_SAVE = 60.0
tenbin.pipeline.many_models.run._SECONDS_TO_END = 60.0
"""
_HEARD = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""
"""Under nohup or in the background of a shell, these tests' children would ignore signals too."""
GUARD_SECONDS = 120
"""Against a hang; nothing here takes so long."""


def start(
    arguments: list[str], folder: Path, code: str = "", patient: bool = True
) -> subprocess.Popen[str]:
    """`tenbin …` in a process and a session of its own.

    Args:
        arguments: Of the command.
        folder: Where it works, with a cache of its own.
        code: Run before it, to make a stage slow.
        patient: Whether saving may take longer than five seconds, on a machine that is busy: for
            tests of what is saved.
    """
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "TENBIN_CACHE": str(folder / "cache")}
    program = f"import sys, {_LIBRARIES}\n{_HEARD}{_PATIENT if patient else ''}{code}\n"
    program += "from tenbin.cli import main\nif __name__ == '__main__':\n"
    script = folder / "program.py"
    script.write_text(f"{program}    sys.exit(main({arguments!r}))\n", encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, str(script)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(seen: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Wait until something is seen; the process must not end before."""
    until = time.monotonic() + GUARD_SECONDS
    while not seen():
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            raise AssertionError(process.communicate())
        time.sleep(0.02)


def stop(process: subprocess.Popen[str], *signals: signal.Signals) -> tuple[float, str]:
    """Send signals, half a second apart; how long it took to end, and what was said."""
    began = time.monotonic()
    for at, one in enumerate(signals):
        if at:
            time.sleep(0.5)
        process.send_signal(one)
    try:
        _, said = process.communicate(timeout=GUARD_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return time.monotonic() - began, said


def family(process: subprocess.Popen[str]) -> set[int]:
    """A program and all processes that it has started, and they."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    found = {process.pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def wait_for_end(processes: set[int]) -> None:
    """Wait until none of these processes is left."""
    until = time.monotonic() + GUARD_SECONDS
    while left := {one for one in processes if _lives(one)}:
        assert time.monotonic() < until, f"left behind: {left}"
        time.sleep(0.05)


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
