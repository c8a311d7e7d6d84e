"""Plain texts as rows: `.txt` files, by document or by line, and the set of one's own texts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tenbin.data import DataChoice, DocumentSet, load_documents
from tenbin.errors import DataError
from tenbin.records import Dataset


def text_set(data_dir: Path, **options: Any) -> DocumentSet:
    dataset = Dataset("text", None, pinned=False, options=options)
    return load_documents(dataset, "test", DataChoice(data_dir=data_dir))


def own_texts(data_dir: Path, language: str = "ja") -> DocumentSet:
    return load_documents(Dataset("plain_text", language), "test", DataChoice(data_dir=data_dir))


def test_lines_are_documents_and_blank_ones_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeff一行目\r\n\r\n  二行目 \n\u3000\n三".encode())
    loaded = text_set(tmp_path, data_files={"test": "a.txt"})
    assert [d.fields for d in loaded.documents] == [
        {"text": "一行目"},
        {"text": "  二行目 "},
        {"text": "三"},
    ]
    assert loaded.documents[1].origin.endswith("a.txt, line 3")
    assert [d.id for d in loaded.documents] == ["row-0", "row-1", "row-2"]


def test_a_file_is_a_document_where_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.txt").write_text("two\n\nparagraphs\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("one", encoding="utf-8")
    loaded = text_set(tmp_path, data_files={"test": "*.txt"}, sample_by="document")
    assert [(d.id, d.fields["text"]) for d in loaded.documents] == [
        ("a.txt", "one"),
        ("b.txt", "two\n\nparagraphs\n"),
    ]
    assert [file.rows for file in loaded.files] == [1, 1]
    with pytest.raises(DataError, match=r"sample_by is .word.; accepted: line or document"):
        text_set(tmp_path, data_files={"test": "*.txt"}, sample_by="word")


def test_a_file_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "plain_text" / "ja"
    folder.mkdir(parents=True)
    try:
        (folder / os.fsdecode(b"\xff.txt")).write_text("text")
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    with pytest.raises(DataError, match="the name of the file is not UTF-8") as refused:
        own_texts(tmp_path)
    assert refused.value.hint == "rename it"


def test_faults_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good\n\xff\n")
    with pytest.raises(DataError, match=r"a\.txt, line 2: not UTF-8"):
        text_set(tmp_path, data_files={"test": "a.txt"})
    (tmp_path / "b.txt").write_text(" \n")
    with pytest.raises(DataError, match=r"b\.txt has no rows"):
        text_set(tmp_path, data_files={"test": "b.txt"}, sample_by="document")
    with pytest.raises(DataError, match="needs its files named"):
        text_set(tmp_path)


def test_own_texts_one_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "plain_text" / "ja"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("二", encoding="utf-8")
    (folder / "a.txt").write_text("一\n", encoding="utf-8")
    loaded = own_texts(tmp_path)
    assert [(d.id, d.fields) for d in loaded.documents] == [
        ("a.txt", {"text": "一\n"}),
        ("b.txt", {"text": "二"}),
    ]
    assert loaded.notices == (), "there is no published file to differ from"
    assert {(file.source, file.version, file.verified) for file in loaded.files} == {
        ("data_dir", None, False)
    }


def test_own_texts_as_json_lines_come_first(tmp_path: Path) -> None:
    folder = tmp_path / "plain_text" / "en"
    folder.mkdir(parents=True)
    (folder / "ignored.txt").write_text("x")
    rows = [{"id": "p", "text": "a"}, {"text": "b", "title": "B"}]
    (folder / "test.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert [(d.id, d.fields) for d in own_texts(tmp_path, "en").documents] == [
        ("p", {"text": "a"}),
        ("row-1", {"text": "b"}),
    ]
    (folder / "test.jsonl").write_text('{"text": "a"}\n{"text": " "}\n')
    with pytest.raises(DataError, match=r"test\.jsonl, line 2: field `text`"):
        own_texts(tmp_path, "en")


def test_nothing_is_fetched_and_the_way_is_shown(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not published") as caught:
        load_documents(Dataset("plain_text", "ja"), "test", DataChoice(cache_dir=tmp_path))
    assert caught.value.hint is not None
    assert "plain_text/ja/test.jsonl" in caught.value.hint and "--sample_data" in caught.value.hint
    with pytest.raises(DataError, match=r"looked for:(.|\n)*plain_text/ja/\*\.txt"):
        own_texts(tmp_path)


def test_sample_texts() -> None:
    for language in ("en", "ja"):
        choice = DataChoice(sample_data=True)
        loaded = load_documents(Dataset("plain_text", language), "test", choice)
        assert len(loaded.documents) == 6 and loaded.notices == ()
        assert all(len(d.fields["text"]) > 100 for d in loaded.documents)
