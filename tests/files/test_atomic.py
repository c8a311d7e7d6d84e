"""Files that appear whole, and what a killed writer leaves: gone with the next that writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tenbin.files.atomic import atomic_file, work_folder, write_atomically

_WRITER = """
import sys, time
from pathlib import Path
from tenbin.files.atomic import atomic_file, work_folder
made = atomic_file(Path(sys.argv[2])) if sys.argv[1] == "file" else work_folder(Path(sys.argv[2]), "w-")
with made as place:
    if sys.argv[1] == "file":
        place.write_text("half")
    else:
        (place / "inside").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""  # noqa: E501


def start_writer(kind: str, place: Path) -> subprocess.Popen[str]:
    """A process that is in the middle of writing."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, kind, str(place)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_writer_left_goes_with_the_next_and_a_living_one_stays(
    tmp_path: Path,
) -> None:
    path = tmp_path / "result[1].json"  # brackets mean something in a pattern
    dead, living = start_writer("file", path), start_writer("file", path)
    try:
        kill(dead)
        assert len(names(tmp_path)) == 2
        write_atomically(path, "whole")
        assert names(tmp_path) == [f".{path.name}.{living.pid}.partial", path.name]
        assert path.read_text() == "whole"
    finally:
        kill(living)
    write_atomically(path, "again")
    assert names(tmp_path) == [path.name]


def test_a_folder_of_a_killed_process_goes_with_the_next(tmp_path: Path) -> None:
    dead, living = start_writer("folder", tmp_path), start_writer("folder", tmp_path)
    try:
        kill(dead)
        assert len(names(tmp_path)) == 2
        with work_folder(tmp_path, "w-") as work:
            left = set(names(tmp_path)) - {work.name}
            assert len(left) == 1
            work.rename(tmp_path / "done")
    finally:
        kill(living)
    assert names(tmp_path) == sorted({"done", *left})
    with work_folder(tmp_path, "w-"):
        pass
    assert names(tmp_path) == ["done"]


def test_an_error_leaves_the_old_file_and_no_partial_one(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_atomically(path, "old")
    with pytest.raises(ZeroDivisionError), atomic_file(path) as partial:
        partial.write_text("new")
        raise ZeroDivisionError
    assert names(tmp_path) == ["result.json"]
    assert path.read_text() == "old"


def test_many_writers_of_one_file_never_lose_theirs(tmp_path: Path) -> None:
    path, errors = tmp_path / "progress.json", []

    def write(number: int) -> None:
        try:
            for _ in range(40):
                write_atomically(path, f"{number}" * 100)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert names(tmp_path) == ["progress.json"]
    assert len(set(path.read_text())) == 1
