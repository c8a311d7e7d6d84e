"""P-MMEval's rows: the hub's files and spellings, and which rows are the same item."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tenbin.data.load import DocumentSet, load_documents
from tenbin.data.sources.choice import DataChoice
from tenbin.errors import DataError
from tenbin.records import Dataset

QUESTION = {"Question": "1 + 1 = ", "A": "1", "B": "2", "C": "3", "D": "4", "Answer": "B"}
ENDINGS = ["a", "b", "c", "d"]


def load(folder: Path, subset: str, language: str = "ko") -> DocumentSet:
    choice = DataChoice(data_dir=folder)
    return load_documents(Dataset(f"pmmeval/{subset}", language), "test", choice)


def write(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def test_the_hubs_two_files_of_mmmlu_are_one_split(tmp_path: Path) -> None:
    for difficulty in ("hard", "easy"):
        row = {**QUESTION, "Question": difficulty, "Subject": "mathematics"}
        write(tmp_path / f"mmmlu/{difficulty}/test/mmlu_KO-KR.jsonl", row)
        write(tmp_path / f"mmmlu/{difficulty}/test/mmlu_EN-US.jsonl", row, row, row)
    documents = list(load(tmp_path, "mmmlu").documents)
    assert [document.fields["question"] for document in documents] == ["easy", "hard"]
    assert documents[0].fields["label"] == 1
    assert documents[0].fields["choices"] == ["1", "2", "3", "4"]


def test_half_of_mmmlu_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    row = {**QUESTION, "Subject": "mathematics"}
    write(tmp_path / "mmmlu/easy/test/mmlu_KO-KR.jsonl", row)
    write(tmp_path / "mmmlu/easy/test/mmlu_EN-US.jsonl", row)
    with pytest.raises(DataError, match="is not in"):
        load(tmp_path, "mmmlu")


def test_row_numbers_name_the_items_of_mmmlu_but_for_one_subject(tmp_path: Path) -> None:
    for language, question in (("ko", "x"), ("zh", "y")):
        rows = [
            {**QUESTION, "Question": question, "Subject": subject}
            for subject in ("anatomy", "high_school_world_history")
        ]
        write(tmp_path / f"pmmeval/mmmlu/{language}/test.jsonl", *rows)
    korean, chinese = (
        [document.fields["id"] for document in load(tmp_path, "mmmlu", language).documents]
        for language in ("ko", "zh")
    )
    assert korean[0] == chinese[0] == "row-0"
    assert korean[1] != chinese[1]


@pytest.mark.parametrize(
    "spelled",
    [{"endings": ENDINGS}, {f"option_{at}": text for at, text in enumerate(ENDINGS, start=1)}],
)
@pytest.mark.parametrize("label", [2, "2", "C"])
def test_endings_in_both_spellings(tmp_path: Path, spelled: Any, label: Any) -> None:
    row = {"ctx": "He runs. ", "label": label, **spelled}
    write(tmp_path / "mhellaswag/test/ko.jsonl", row)
    (document,) = load(tmp_path, "mhellaswag").documents
    assert document.fields["context"] == "He runs. "
    assert document.fields["endings"] == ENDINGS
    assert document.fields["label"] == 2
    assert "id" not in document.fields, "nothing says which item it is"


def test_three_endings_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "mhellaswag/test/ko.jsonl", {"ctx": "x", "endings": ENDINGS[:3], "label": 0})
    with pytest.raises(DataError, match=r"line 1: field `endings`"):
        load(tmp_path, "mhellaswag")


def test_d_is_no_answer_of_xnli(tmp_path: Path) -> None:
    row = {"premise": "x", "statement": "y", "answer": "C"}
    write(tmp_path / "xnli/test/ko.jsonl", row)
    (document,) = load(tmp_path, "xnli").documents
    assert document.fields["label"] == 2
    write(tmp_path / "xnli/test/ko.jsonl", {**row, "answer": "D"})
    with pytest.raises(DataError, match="field `answer`"):
        load(tmp_path, "xnli")


def test_numbers_lose_their_commas_and_rows_without_a_question_are_counted(tmp_path: Path) -> None:
    rows = [
        {"id": "7", "question": "?", "answer": "2,125"},
        {"id": "9", "question": "", "answer": "3"},
        {"id": "8", "question": "?", "answer": 18},
    ]
    write(tmp_path / "mgsm/test/ko.jsonl", *rows)
    loaded = load(tmp_path, "mgsm")
    found = {document.id: document.fields for document in loaded.documents}
    assert {name: fields["number"] for name, fields in found.items()} == {"7": "2125", "8": "18"}
    assert found["7"]["answer"] == "2,125"
    assert any("1 row left out: the question is empty" in notice for notice in loaded.notices)


@pytest.mark.parametrize("answer", ["twelve", "", True, None])
def test_an_answer_that_is_no_number_is_refused(tmp_path: Path, answer: Any) -> None:
    write(tmp_path / "mgsm/test/ko.jsonl", {"id": "1", "question": "?", "answer": answer})
    with pytest.raises(DataError, match="field `answer`"):
        load(tmp_path, "mgsm")


@pytest.mark.real_data
def test_items_of_the_real_rows(real_data: Path) -> None:
    items = [
        {d.fields["id"]: d.fields["label"] for d in load(real_data, "mmmlu", language).documents}
        for language in ("en", "ko", "zh")
    ]
    shared = set.intersection(*map(set, items))
    assert len(shared) == 391
    assert all(len({one[item] for one in items}) == 1 for item in shared)
