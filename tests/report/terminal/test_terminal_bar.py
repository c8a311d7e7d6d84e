"""The bar as a person sees it: in a pseudo-terminal, with a model whose answers come in bursts."""

from __future__ import annotations

import os
import pty
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def screen(arguments: list[str], folder: Path) -> list[str]:
    """Every state that the lines of a terminal were drawn in, as text."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm", "LINES": "40"}
        paths = {"PYTHONPATH": str(ROOT / "src"), "TENBIN_CACHE": str(folder / "cache")}
        command = [sys.executable, "-m", "tenbin", *arguments]
        os.execve(command[0], command, {**environment, **paths})
    written = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, written.decode()
    return re.split(r"[\r\n]+", CONTROL.sub("", written.decode("utf-8")))


def test_the_time_left_is_that_of_bursts(tmp_path: Path) -> None:
    """Six batches of three answers, 1.2 s each: after the first three, 3.6 s are left."""
    arguments = ["run", "--model", "scripted", "--model_args", "delay=0.4,burst=3"]
    arguments += ["--tasks", "jnli", "--sample_data", "--output_path", "r.json"]
    drawn = [line for line in screen(arguments, tmp_path) if "/18" in line]
    assert any("computing the first batch" in line and "0/18" in line for line in drawn)
    answered = [line for line in drawn if "running" in line]
    assert not any("first batch" in line for line in answered)
    left = {}
    for line in answered:
        found = re.search(r"(\d+)/18 .*about (\d+) s left", line)
        if found:
            left.setdefault(int(found[1]), set()).add(int(found[2]))
    # A busy machine makes bursts longer, never shorter: what is said is never far too short.
    assert 12 in left and min(left[12]) >= 2, left
    first = [line for line in answered if re.search(r"\b3/18", line)]
    assert first and not any("left" in line for line in first), "one burst shows no pace"
