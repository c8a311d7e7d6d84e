"""The end of the command's process: nothing that others rely on is left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import atexit, sys, threading, time
from pathlib import Path

folder = Path(sys.argv.pop())

def late():
    time.sleep(0.3)
    (folder / "thread").touch()

atexit.register((folder / "exit").touch)
threading.Thread(target=late).start()
from tenbin.cli.process import run

run()
"""


@pytest.mark.parametrize(
    ("given", "code"),
    [([], 0), (["data", "list", "--no_such_flag"], 2), (["report", "nowhere.json"], 1)],
)
def test_handlers_threads_output_and_code(given: list[str], code: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, *given, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code
    assert sorted(one.name for one in tmp_path.iterdir()) == ["exit", "thread"]
    shown = done.stderr if code else done.stdout
    assert len(shown) > 40 and shown.endswith("\n")


def test_what_was_imported_is_not_taken_apart() -> None:
    class_ = "class Kept:\n    def __del__(self):\n        print('taken apart')\n"
    program = f"{class_}kept = Kept()\nfrom tenbin.cli.process import run\nrun()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("usage:")
    assert "taken apart" not in done.stdout


def test_a_reader_that_has_seen_enough() -> None:
    command = f"{sys.executable} -m tenbin tasks | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert len(done.stdout.splitlines()) == 1
    assert not done.stderr
