"""Run commands on disks that are really full or read-only; for a mount namespace of its own.

`unshare -rm python -m tests.small_disks FOLDER` mounts small disks below FOLDER, runs the same
command on each before and after there is room, and prints what came out, a line of JSON a case.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tenbin.cli import main

ROWS = 300
TASK = """
task: filling
output_type: multiple_choice
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
doc_to_text: "{{text}}"
doc_to_choice: ["yes", "no"]
doc_to_target: "{{answer}}"
"""
KIB = {"out": 16, "cache": 48, "scratch": 512}
"""Room on each disk, less than the command needs there."""


def make_task(folder: Path) -> Path:
    """A task whose rows do not fit into the memory that a run allows them."""
    rows, task = folder / "rows.jsonl", folder / "filling.yaml"
    with rows.open("w", encoding="utf-8") as file:
        for number in range(ROWS):
            row = {"text": f"{number} " + "weighs " * 900, "answer": number % 2}
            file.write(json.dumps(row) + "\n")
    task.write_text(TASK % rows, encoding="utf-8")
    return task


def run(arguments: list[str]) -> dict[str, Any]:
    """A command in this process: its exit code and what it says."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(arguments)
    return {"code": code, "said": said.getvalue()}


def mount(place: Path, options: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    subprocess.run(command, check=True, capture_output=True)


def case(task: Path, folder: Path, disk: str, state: str) -> dict[str, Any]:
    """One disk full or read-only, then not."""
    for name in ("out", "cache", "scratch"):
        (folder / name).mkdir(parents=True)
    os.environ["TMPDIR"], tempfile.tempdir = str(folder / "scratch"), None
    result = folder / "out" / "result.json"
    arguments = ["run", "--model", "scripted", "--tasks", str(task), "--cache_dir"]
    arguments += [str(folder / "cache"), "--output_path", str(result)]
    small = f"size={KIB[disk]}k" if state == "full" else "ro"
    mount(folder / disk, small)
    first = run(arguments)
    left = [str(path) for path in folder.rglob("*") if ".partial" in path.name]
    mount(folder / disk, "remount,rw,size=64m")
    second = run(arguments)
    document = json.loads(result.read_text(encoding="utf-8")) if not second["code"] else {}
    return {
        "disk": disk,
        "state": state,
        "place": str(folder / disk),
        "first": first,
        "left": left,
        "second": second,
        "results": document.get("results"),
        "prompts": document.get("prompts"),
    }


def all_cases(folder: Path) -> None:
    task = make_task(folder)
    for state in ("full", "read-only"):
        for disk in KIB:
            print(json.dumps(case(task, folder / f"{disk}-{state}", disk, state)), flush=True)


if __name__ == "__main__":
    all_cases(Path(sys.argv[1]))
