"""Rows go onto a shelf one by one: what comes off it, and how little stays in memory."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import random
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tenbin.data import DataChoice, DocumentSet, ids, load_documents
from tenbin.data import load as loading
from tenbin.errors import DataError
from tenbin.files import disk_list as shelf
from tenbin.files.disk_list import DiskList
from tenbin.records import Dataset
from tests.data.written_rows import as_lines, as_squad, write_rows

FORMATS = [".jsonl", ".jsonl.gz", ".json", ".json.gz", ".list.json", ".parquet", ".csv", ".tsv"]
PLACE = "jglue_v1.1/jcommonsenseqa/validation.jsonl"


def made_rows(count: int) -> list[dict[str, Any]]:
    """Rows whose texts hold what readers stumble over."""
    generator = random.Random(0)
    pieces = ["天秤", "\u2028", '"', ",", "\t", "a\nb", "é", "𠮷", " ", "\\u3042", "'"]
    return [
        {
            "id": f"q{at}",
            "text": "問" + "".join(generator.choices(pieces, k=generator.randrange(1, 20))) + ".",
            "number": generator.randrange(-5, 1000),
            "share": generator.random(),
        }
        for at in range(count)
    ]


def jcqa_rows(count: int) -> list[dict[str, Any]]:
    choices = {f"choice{at}": f"答え{at}" for at in range(5)}
    return [
        {"q_id": at, "question": f"{at} 番目の問い", **choices, "label": at % 5}
        for at in range(count)
    ]


def write(folder: Path, suffix: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"rows{suffix}"
    if suffix in (".csv", ".tsv"):
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, rows[0], delimiter="," if suffix == ".csv" else "\t")
        table.writeheader()
        table.writerows(rows)
        path.write_bytes(text.getvalue().encode())
    elif suffix == ".list.json":
        path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    else:
        write_rows(path, rows)
    return path


def load(path: Path, kind: str = "json", **options: Any) -> DocumentSet:
    files = {"data_files": {"test": str(path)}}
    return load_documents(Dataset(kind, None, False, files | options), "test", DataChoice())


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_was_written_is_read(tmp_path: Path, suffix: str) -> None:
    rows = made_rows(2500)
    path = write(tmp_path, suffix, rows)
    loaded = load(path)
    assert isinstance(loaded.documents, DiskList)
    assert [document.fields for document in loaded.documents] == rows
    assert [document.id for document in loaded.documents] == [row["id"] for row in rows]
    assert [document.row for document in loaded.documents] == list(range(len(rows)))
    (file,) = loaded.files
    assert file.rows == len(rows)
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_questions_of_one_value_are_read_in_order(tmp_path: Path) -> None:
    questions = [
        {"id": f"a{at}", "question": f"問{at}", "title": "梅雨", "context": "梅雨は雨季。"}
        | {"answers": {"text": ["雨季"], "answer_start": [3]}}
        for at in range(1200)
    ]
    path = tmp_path / "jaquad/validation.json"
    path.parent.mkdir()
    path.write_bytes(as_squad(questions))
    loaded = load_documents(Dataset("jaquad"), "validation", DataChoice(data_dir=tmp_path))
    assert [document.id for document in loaded.documents] == [f"a{at}" for at in range(1200)]
    assert loaded.documents[1199].origin.endswith("record 1, paragraph 1, question 1200")


def test_lines_of_a_text_are_documents(tmp_path: Path) -> None:
    lines = [f"行 {at}\u2028続き\u3000" for at in range(2500)]
    path = tmp_path / "rows.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\n".join(lines).encode())
    loaded = load(path, "text")
    assert [document.fields["text"] for document in loaded.documents] == lines
    assert loaded.documents[-1].origin.endswith("line 4999")


def test_rows_of_several_files_are_counted_file_by_file(tmp_path: Path) -> None:
    rows = made_rows(30)
    write_rows(tmp_path / "a.jsonl", rows[:20])
    write_rows(tmp_path / "b.parquet", rows[20:])
    files = {"test": [str(tmp_path / "a.jsonl"), str(tmp_path / "b.parquet")]}
    dataset = Dataset("json", None, pinned=False, options={"data_files": files})
    loaded = load_documents(dataset, "test", DataChoice())
    assert [document.fields for document in loaded.documents] == rows
    assert [file.rows for file in loaded.files] == [20, 10]
    write_rows(tmp_path / "b.parquet", [])
    with pytest.raises(DataError, match=r"b\.parquet has no rows"):
        load_documents(dataset, "test", DataChoice())


def test_a_column_is_what_its_last_cell_lets_it_be(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    cells = [(at, at, at) for at in range(2000)]
    # Carriage returns alone end lines too, as spreadsheets of old wrote them.
    for end in ("\n", "\r\n", "\r"):
        lines = ["a,b,c", *(",".join(map(str, row)) for row in cells), "7,0.5,x", ",,"]
        path.write_bytes(end.join(lines).encode())
        documents = load(path, "csv").documents
        assert documents[3].fields == {"a": 3, "b": 3.0, "c": "3"}
        assert [type(value) for value in documents[3].fields.values()] == [int, float, str]
        assert documents[2001].fields == {"a": None, "b": None, "c": None}
        assert documents[2000].origin.endswith("line 2002")


def test_a_fault_far_into_a_file_names_its_line(tmp_path: Path) -> None:
    lines = as_lines(made_rows(3000)).split(b"\n")
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join([*lines[:2500], b'{"id": "\xe3\x81"}', *lines[2500:]]))
    with pytest.raises(DataError, match=r"rows\.jsonl, line 2501: not UTF-8 \(byte 0xe3\)"):
        load(path)
    path.write_bytes(b"\n".join([*lines[:2500], b'{"id": 1', *lines[2500:]]))
    with pytest.raises(DataError) as caught:
        load(path)
    expected = "broken JSON: Expecting ',' delimiter: line 1 column 9 (char 8)"
    assert caught.value.message == f"{path}, line 2501: {expected}"
    path.write_bytes(b'\xef\xbb\xbf{"id": "\xff"}\n')
    with pytest.raises(DataError, match=r"line 1: not UTF-8 \(byte 0xff\)"):
        load(path)
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(b"\n".join(lines))[:-2000])
    with pytest.raises(DataError, match="is not a complete gzip file: Compressed file ended"):
        load(packed)


@pytest.fixture(params=["hashes differ", "all hashes are the same"])
def hashing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "all hashes are the same":
        for module in (ids, loading):
            monkeypatch.setattr(module, "hash", lambda _: 7, raising=False)


@pytest.mark.usefixtures("hashing")
def test_an_id_used_again_far_away_names_both_rows(tmp_path: Path) -> None:
    rows = jcqa_rows(3000)
    choice = DataChoice(data_dir=tmp_path)
    path = write_rows(tmp_path / PLACE, rows)
    loaded = load_documents(Dataset("jglue/jcommonsenseqa"), "validation", choice)
    assert [document.id for document in loaded.documents] == [str(at) for at in range(3000)]
    rows[2800]["q_id"] = rows[2990]["q_id"] = 3
    write_rows(tmp_path / PLACE, rows)
    with pytest.raises(DataError) as caught:
        load_documents(Dataset("jglue/jcommonsenseqa"), "validation", choice)
    assert caught.value.message == (
        f"{path}, line 2801: the id `3` was already used ({path}, line 4)"
    )


@pytest.mark.usefixtures("hashing")
def test_the_first_field_that_is_unique_to_the_end_gives_the_ids(tmp_path: Path) -> None:
    rows = [{"id": at, "idx": f"x{at}", "q_id": f"y{at}"} for at in range(2500)]
    ids = {
        field: [str(row[field]) for row in rows]  # type: ignore[literal-required]
        for field in ("id", "idx", "q_id")
    }

    def named() -> list[str]:
        path = write_rows(tmp_path / "rows.jsonl", rows)  # type: ignore[arg-type]
        return [document.id for document in load(path).documents]

    assert named() == ids["id"]
    rows[2499]["id"] = 5
    assert named() == ids["idx"]
    rows[2498]["idx"] = ""
    assert named() == ids["q_id"]
    rows[2400]["q_id"] = "y1"
    assert named() == [f"row-{at}" for at in range(2500)]


class Values(dict[str, Any]):
    """A row that can be watched."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def test_rows_of_the_hub_are_not_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: weakref.WeakSet[Values] = weakref.WeakSet()
    most = 0

    def published() -> Iterator[Values]:
        nonlocal most
        for at in range(300):
            row = Values(id=at, text=f"文{at}")
            alive.add(row)
            most = max(most, len(alive))
            yield row

    library = SimpleNamespace(load_dataset=lambda *_, **__: published())
    monkeypatch.setitem(sys.modules, "datasets", library)
    loaded = load_documents(Dataset("owner/set", pinned=False), "test", DataChoice())
    assert [document.id for document in loaded.documents] == [str(at) for at in range(300)]
    assert loaded.files[0].rows == 300
    lines = [f'{{"id": {at}, "text": "文{at}"}}\n' for at in range(300)]
    assert loaded.files[0].sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert most <= 3


def test_a_value_that_cannot_be_written_is_refused_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"sound": 1}, {"sound": threading.Lock()}]
    library = SimpleNamespace(load_dataset=lambda *_, **__: rows)
    monkeypatch.setitem(sys.modules, "datasets", library)
    with pytest.raises(DataError, match="owner/set test, row 2: a field holds what cannot be"):
        load_documents(Dataset("owner/set", pinned=False), "test", DataChoice())


def traced(read: Callable[[], DocumentSet]) -> tuple[int, int]:
    """Bytes that stay when a set is loaded, and the most there were meanwhile."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        held = read()
        after, peak = tracemalloc.get_traced_memory()
        assert held.documents
    finally:
        tracemalloc.stop()
    return after - before, peak - before


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".csv", ".parquet"])
def test_memory_does_not_grow_with_rows(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "_IN_MEMORY", 1)  # both on disk, so that one is like the other
    few, many = 2000, 20_000
    measured = {}
    for count in (few, many):
        folder = tmp_path / str(count)
        folder.mkdir()
        path = write(folder, suffix, made_rows(count))
        load(path)  # what is imported and cached on the way
        measured[count] = traced(lambda path=path: load(path))  # type: ignore[misc]
    stays, peak = (
        (big - small) / (many - few) for small, big in zip(*measured.values(), strict=True)
    )
    assert stays < 30, "bytes a row: eight of them say where it stands"
    assert peak < 60, "bytes a row: as many again say which ids were seen"


def test_memory_of_a_pinned_set_does_not_grow_with_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "_IN_MEMORY", 1)
    choice = DataChoice(data_dir=tmp_path)

    def read() -> DocumentSet:
        return load_documents(Dataset("jglue/jcommonsenseqa"), "validation", choice)

    measured = []
    for count in (2000, 20_000):
        write_rows(tmp_path / PLACE, jcqa_rows(count))
        read()
        measured.append(traced(read))
    stays, peak = ((big - small) / 18_000 for small, big in zip(*measured, strict=True))
    assert stays < 30
    assert peak < 60
