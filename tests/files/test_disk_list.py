"""Records on disk behave as a list of them does."""

from __future__ import annotations

import gc
import random
import sys
from pathlib import Path

import pytest

from tenbin.errors import StorageError
from tenbin.files import disk_list as shelf
from tenbin.files.disk_list import DiskList, scratch_folder
from tenbin.records import Document


@pytest.fixture(params=["in memory", "in a file"])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "in a file":
        monkeypatch.setattr(shelf, "_IN_MEMORY", 1)
    return str(request.param)


def documents(count: int) -> list[Document]:
    return [Document(f"d{at}", {"問": "天秤" * at}, None, f"line {at}", at) for at in range(count)]


@pytest.mark.usefixtures("kept")
def test_records_come_back_in_order() -> None:
    records = documents(50)
    assert list(DiskList(records)) == records
    assert len(DiskList(records)) == 50


@pytest.mark.usefixtures("kept")
def test_positions_are_those_of_a_list() -> None:
    records = documents(10)
    held = DiskList(records)
    assert [held[at] for at in (3, 0, -1, -10, 9)] == [records[at] for at in (3, 0, -1, -10, 9)]
    assert held[2:8:3] == records[2:8:3]
    assert list(held.between(4, 7)) == records[4:7]
    for outside in (10, -11):
        with pytest.raises(IndexError):
            held[outside]


@pytest.mark.usefixtures("kept")
def test_a_shelf_grows_while_it_is_read() -> None:
    records = documents(20)
    held: DiskList[Document] = DiskList()
    for at, record in enumerate(records):
        held.append(record)
        assert held[at // 2] == records[at // 2]
    assert list(held) == records


def test_two_walks_at_once_do_not_disturb_each_other() -> None:
    held = DiskList(range(100))
    assert list(zip(held, held, strict=True)) == [(at, at) for at in range(100)]


def test_a_sample_is_the_one_that_a_list_gives() -> None:
    records = documents(200)
    drawn = random.Random(3).sample(DiskList(records), 7)
    assert drawn == random.Random(3).sample(records, 7)


def test_a_chosen_folder_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert scratch_folder() == str(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_a_full_disk_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    held: DiskList[str] = DiskList()
    held._file.rollover()
    held._file._file = Path("/dev/full").open("wb")  # type: ignore[attr-defined]  # noqa: SIM115
    with pytest.raises(StorageError, match=f"no space is left .*{scratch_folder()}"):
        for _ in range(100):
            held.append("天秤" * 100)
    del held
    gc.collect()
    assert ignored == []
