"""Rows of the parallel benchmarks: accepted spellings, fields, and rows that are left out."""

from __future__ import annotations

import pytest

from tenbin.data.schemas.parallel import without_full_stop
from tenbin.errors import DataError
from tests.data.written_rows import write_rows


def xnli_row(**changes):
    return {"premise": "It rains. ", "hypothesis": "It is wet.", "label": 1, **changes}


@pytest.mark.parametrize(
    ("label", "number"), [("entailment", 0), ("neutral", 1), ("contradiction", 2), ("2", 2), (0, 0)]
)
def test_xnli_fields(tmp_path, load, label, number):
    write_rows(tmp_path / "xnli/en/validation.jsonl", [xnli_row(), xnli_row(label=label)])
    first, second = load("xnli", "validation", "en").documents
    assert (first.id, second.id) == ("0", "1")
    assert second.fields == {
        "id": "1",
        "premise": "It rains. ",
        "premise_unstopped": "It rains",
        "hypothesis": "It is wet.",
        "label": number,
    }


def test_xnli_label_beyond_three(tmp_path, load):
    write_rows(tmp_path / "xnli/en/validation.jsonl", [xnli_row(label=-1)])
    with pytest.raises(DataError, match=r"validation.jsonl, line 1: field `label`"):
        load("xnli", "validation", "en")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Es regnet.", "Es regnet"),
        (" 下雨了。 ", "下雨了"),
        ("बारिश हो रही है।", "बारिश हो रही है"),
        ("بارش ہو رہی ہے۔", "بارش ہو رہی ہے"),
        ("ฝนตก", "ฝนตก"),
        ("Regnet es?", "Regnet es?"),
        ("Warte...", "Warte.."),
    ],
)
def test_one_full_stop_is_dropped(sentence, expected):
    assert without_full_stop(sentence) == expected
