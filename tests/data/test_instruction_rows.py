"""Rows of M-IFEval: as published, as copies of IFEval spell them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tenbin.data.load import load_documents
from tenbin.data.sources.choice import DataChoice
from tenbin.errors import DataError
from tenbin.records import Dataset, Document

ROW: dict[str, Any] = {
    "key": 7,
    "prompt": "Write without commas. ",
    "instruction_id_list": ["en:punctuation:no_comma", "en:startend:end_checker"],
    "kwargs": [{}, {"end_phrase": "Bye"}],
}


def read(folder: Path, **changes: Any) -> Document:
    path = folder / "m_ifeval" / "en" / "test.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    row = {name: value for name, value in {**ROW, **changes}.items() if value != "missing"}
    path.write_text(json.dumps(row), encoding="utf-8")
    choice = DataChoice(data_dir=folder)
    (found,) = load_documents(Dataset("m_ifeval", "en"), "test", choice).documents
    return found


def test_a_row_as_published(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert (found.id, found.group) == ("7", None)
    assert found.fields["prompt"] == "Write without commas. ", "byte for byte"
    assert [json.loads(one) for one in found.fields["instructions"]] == [
        {"id": "en:punctuation:no_comma", "kwargs": {}},
        {"id": "en:startend:end_checker", "kwargs": {"end_phrase": "Bye"}},
    ]


def test_a_row_of_the_hub_is_the_same_document(tmp_path: Path) -> None:
    """IFEval's ids lack the language, and the hub writes every argument."""
    arguments = [{"end_phrase": None, "num_words": None}, {"end_phrase": "Bye", "num_words": None}]
    hub = read(
        tmp_path,
        instruction_id_list=["punctuation:no_comma", "startend:end_checker"],
        kwargs=arguments,
    )
    assert hub.fields == read(tmp_path).fields
    written = read(tmp_path, kwargs=[json.dumps(one) for one in arguments])
    assert written.fields == hub.fields


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": " "}, "field `prompt`"),
        ({"instruction_id_list": "missing"}, "field `instruction_id_list` is missing"),
        ({"instruction_id_list": []}, "field `instruction_id_list`"),
        ({"instruction_id_list": "en:punctuation:no_comma"}, "field `instruction_id_list`"),
        ({"kwargs": [{}]}, "a list of 2 mappings"),
        ({"kwargs": [{}, 5]}, "field `kwargs`"),
        ({"kwargs": [{}, "{"]}, "field `kwargs`"),
        ({"key": 1.5}, "field `key`"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, **changes)
    assert message in error.value.message
    assert "test.jsonl" in error.value.message, "the row is named"


def test_the_languages_have_their_own_number_of_rows(tmp_path: Path) -> None:
    from tenbin.data.sources.pinned import describe_dataset

    sizes = {
        language: describe_dataset(Dataset("m_ifeval", language)).sizes["06f08ff"]["test"]
        for language in ("ja", "en", "es", "fr")
    }
    assert sizes == {"ja": 172, "en": 541, "es": 115, "fr": 235}
