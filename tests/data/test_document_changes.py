"""The recorded checksum is of the bytes that were read, whatever happens to the file meanwhile."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenbin.data import DataChoice
from tenbin.data.readers.formats import RowFile
from tenbin.data.rows import Row
from tenbin.errors import DataError
from tenbin.pipeline.prepare import Data
from tenbin.records import Dataset
from tests.data.test_document_streaming import write

SUFFIXES = [".jsonl", ".jsonl.gz", ".json", ".list.json", ".parquet", ".csv", ".tsv"]
ROWS = [{"id": f"q{at}", "text": f"文{at} " * 60, "number": at} for at in range(3000)]
OTHERS = [{"id": f"z{at}", "text": f"他{at} " * 60, "number": -at} for at in range(3000)]


def written(folder: Path, suffix: str, rows: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    return write(folder, suffix, rows)


def begun(path: Path) -> tuple[RowFile, Iterator[Row], list[Row]]:
    file = RowFile(path)
    rows = file.rows()
    return file, rows, [next(rows)]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_replaced_meanwhile_is_read_to_its_end(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / "a", suffix, ROWS)
    content = path.read_bytes()
    file, rows, seen = begun(path)
    written(tmp_path / "b", suffix, OTHERS).replace(path)
    seen += rows
    assert [row.values["id"] for row in seen] == [row["id"] for row in ROWS]
    assert file.identity.sha256 == hashlib.sha256(content).hexdigest()
    assert file.identity.sha256 != hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet", ".csv"])
def test_a_file_that_grows_meanwhile_is_refused(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / "a", suffix, ROWS)
    _, rows, _ = begun(path)
    with path.open("ab") as file:
        file.write(b"\n")
        os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="changed while it was read") as caught:
        list(rows)
    assert str(path) in caught.value.message


def test_bytes_changed_in_place_are_hashed_as_they_were_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a", ".jsonl", ROWS)
    before = path.read_bytes()
    file, rows, seen = begun(path)
    after = before.replace(b'"q2999"', b'"Q2999"').replace(b'"q0"', b'"Q0"')
    with path.open("r+b") as raw:
        raw.write(after)
    seen += rows
    # The first line was read before, the last one after.
    assert (seen[0].values["id"], seen[-1].values["id"]) == ("q0", "Q2999")
    mixed = before.replace(b'"q2999"', b'"Q2999"')
    assert file.identity.sha256 == hashlib.sha256(mixed).hexdigest()


def test_a_csv_file_that_changes_between_its_two_readings_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a", ".csv", ROWS)
    _, rows, _ = begun(path)
    with path.open("r+b") as raw:
        raw.write(path.read_bytes().replace(b"q2999", b"Q2999"))
    with pytest.raises(DataError, match="changed while it was read"):
        list(rows)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_and_checksum_are_those_of_the_file(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / "a", suffix, ROWS)
    file = RowFile(path)
    assert [dict(row.values) for row in file.rows()] == ROWS
    assert file.identity.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_swapped_between_two_splits_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a", ".jsonl", ROWS[:9])
    dataset = Dataset("json", None, False, {"data_files": {"train": str(path), "test": str(path)}})
    data = Data(DataChoice())
    data.load(dataset, "test")
    written(tmp_path / "b", ".jsonl", OTHERS[:9]).replace(path)
    with pytest.raises(DataError, match="changed while the run read its data"):
        data.load(dataset, "train")


def test_an_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenbin.data.readers.data_file.LONGEST_LINE", 1000)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": "' + "x" * 2000 + '"}\n')
    with pytest.raises(DataError, match=r"rows.jsonl, line 2: longer than 1,000 bytes"):
        list(RowFile(path).rows())


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet", "rows.csv"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match="not a regular file"):
        list(RowFile(tmp_path / name).rows())
