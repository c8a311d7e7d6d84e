"""MGSM's rows: the hub's form, the published TSV and the examples in a Python file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.data.readers.formats import RowFile
from tenbin.data.rows import Row
from tenbin.data.schemas.mgsm import mgsm_document
from tenbin.data.sources.pinned import find_pinned_set, find_split
from tenbin.errors import DataError
from tenbin.records import Dataset

EXAMPLES = '''"""Prompts."""
import os
NUMBERS = [8, 24]
os.remove("rows.py")
EXEMPLAR_NUMBER_ANSWERS = [8, 24]
PARTS = {
    "ja": {
        "1": {"q": "問題：3本と"
                   "5本で何本？", "a": "ステップごとの答え：3+5=8。答えは8です。"},
        "2": {"q": "問題：4段に6冊で何冊？", "a": "ステップごとの答え：4*6=24。答えは24です。"},
    },
    "te": {
        "1": {"q": "ప్రశ్న: ఎన్ని?ఎన్నిఎన్ని", "a": "దశలవారీగా సమాధానం: 3 + 5 = 8. సమాధానం 8.బంతులు"},
    },
}
'''


def read(values: dict[str, object]) -> dict[str, object]:
    document = mgsm_document(Row(values, "rows.jsonl, line 1"), 3)
    assert document.id == "3"
    return dict(document.fields)


def test_a_row_of_the_hub() -> None:
    row = {"question": "何本？", "answer": None, "answer_number": 8, "equation_solution": None}
    assert read(row) == {
        "id": "3",
        "question": "何本？",
        "problem": "何本？",
        "answer": None,
        "steps": "",
        "answer_number": 8,
    }


def test_a_cell_of_the_published_file_has_its_number_as_text(tmp_path: Path) -> None:
    split = find_split(find_pinned_set(Dataset("mgsm", "de")), "main", "test", "de")
    (tmp_path / "mgsm_de.tsv").write_text('Er sagt "3".\t2,125\n', encoding="utf-8")
    (row,) = split.row_file(tmp_path / "mgsm_de.tsv").rows()
    fields = mgsm_document(row, 0).fields
    assert fields["problem"] == 'Er sagt "3".'
    assert fields["answer_number"] == 2125


def test_examples_are_read_out_of_python_and_nothing_is_executed(tmp_path: Path) -> None:
    path = tmp_path / "exemplars.py"
    path.write_text(EXAMPLES, encoding="utf-8")
    split = find_split(find_pinned_set(Dataset("mgsm", "ja")), "main", "train", "ja")
    documents = [mgsm_document(row, at) for at, row in enumerate(split.row_file(path).rows())]
    assert path.is_file()
    assert [document.fields["answer_number"] for document in documents] == [8, 24]
    assert documents[0].fields["problem"] == "3本と5本で何本？"
    assert documents[0].fields["steps"] == "3+5=8。答えは8です。"
    telugu = find_split(find_pinned_set(Dataset("mgsm", "te")), "main", "train", "te")
    (row,) = telugu.row_file(path).rows()
    fields = mgsm_document(row, 0).fields
    assert fields["problem"] == "ఎన్ని?", "words after the end are dropped"
    assert fields["steps"] == "3 + 5 = 8. సమాధానం 8."
    assert str(fields["answer"]).endswith("బంతులు"), "and kept as published"


@pytest.mark.parametrize(
    ("text", "problem"),
    [("def (", "is not Python"), ("A = [1]\n", "no mapping"), ("A = open('x')\n", "no mapping")],
)
def test_a_python_file_without_rows_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "exemplars.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        list(RowFile(path).rows())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"answer_number": "1.5"}, "answer_number"),
        ({"answer_number": True}, "answer_number"),
        ({"answer_number": "9" * 30}, "answer_number"),
        ({"answer": 5}, "answer"),
        ({"answer": " "}, "answer"),
        ({"question": ""}, "question"),
    ],
)
def test_wrong_fields_are_named(change: dict[str, object], field: str) -> None:
    row = {"question": "何本？", "answer": None, "answer_number": 8, **change}
    with pytest.raises(DataError, match=f"`{field}`"):
        read(row)
    row.pop(field)
    if field != "answer":
        with pytest.raises(DataError, match=f"`{field}` is missing"):
            read(row)
