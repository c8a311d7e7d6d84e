import gzip
import json

import pytest

from tenbin.errors import DataError
from tests.data.written_rows import JCQA, JNLI, MARC, MLOGIQA, SQUAD, as_lines, write_rows

PATHS = {
    "jglue/jcommonsenseqa": ("jglue_v1.1/jcommonsenseqa/validation.jsonl", JCQA),
    "jglue/jnli": ("jglue_v1.1/jnli/validation.jsonl", JNLI),
    "jglue/marc_ja": ("jglue_v1.1/marc_ja/validation.jsonl", MARC),
    "jglue/jsquad": ("jglue_v1.1/jsquad/validation.jsonl", SQUAD),
    "mlogiqa": ("mlogiqa/ja/test.jsonl", MLOGIQA),
}
MISSING = object()


def load_changed(tmp_path, load, name, changes):
    path, rows = PATHS[name]
    changed = {**rows[1], **changes}
    changed = {key: value for key, value in changed.items() if value is not MISSING}
    write_rows(tmp_path / path, [rows[0], changed])
    config, split = ("ja", "test") if name == "mlogiqa" else (None, "validation")
    return load(name, split, config)


def test_jcommonsenseqa_fields(tmp_path, load):
    document = load_changed(tmp_path, load, "jglue/jcommonsenseqa", {"label": "4"}).documents[1]
    assert document.id == "8"
    assert document.fields["choices"] == ["答0", "答1", "答2", "答3", "答4"]
    assert (document.fields["choice3"], document.fields["label"]) == ("答3", 4)
    assert document.group is None


@pytest.mark.parametrize(
    ("label", "number"), [("entailment", 0), ("contradiction", 1), ("neutral", 2), ("2", 2), (1, 1)]
)
def test_jnli_labels(tmp_path, load, label, number):
    document = load_changed(tmp_path, load, "jglue/jnli", {"label": label}).documents[1]
    assert document.fields == {"premise": "前1", "hypothesis": "後1", "label": number}


@pytest.mark.parametrize(("label", "number"), [("positive", 0), ("negative", 1), (1, 1)])
def test_marc_ja_labels_and_ids(tmp_path, load, label, number):
    documents = load_changed(tmp_path, load, "jglue/marc_ja", {"label": label}).documents
    assert documents[1].fields == {"review": "評1", "label": number}
    assert documents[1].id == "row-1"


def test_squad_fields(tmp_path, load):
    loaded = load_changed(
        tmp_path, load, "jglue/jsquad", {"id": None, "context": "A[SEP]B [SEP] C "}
    )
    first, second = loaded.documents
    assert second.id == second.fields["id"] == "row-1"
    assert second.fields["context"] == "C"
    assert first.group != second.group
    assert first.group is not None and len(first.group) == 16


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({"answer": 3}, 3),
        ({"answer": "1"}, 1),
        ({"answer": "B"}, 1),
        ({"answer": MISSING, "label": "D"}, 3),
        ({"options": "['い', 'ろ', 'は', 'に']"}, 1),
        ({"options": '["い", "ろ", "は", "に"]'}, 1),
        (
            {"options": MISSING}
            | dict(zip(["option_1", "option_2", "option_3", "option_4"], "いろはに", strict=True)),
            1,
        ),
        (
            {"options": MISSING}
            | dict(zip(["option_a", "option_b", "option_c", "option_d"], "いろはに", strict=True)),
            1,
        ),
    ],
)
def test_mlogiqa_spellings(tmp_path, load, changes, label):
    document = load_changed(tmp_path, load, "mlogiqa", changes).documents[1]
    assert document.fields["label"] == label
    assert document.fields["options"] == ["い", "ろ", "は", "に"]
    assert document.fields["option3"] == "に"
    assert (document.fields["context"], document.fields["question"]) == ("文", "問")
    assert document.id == document.group == "row-1"


def test_mlogiqa_own_id_is_the_group(tmp_path, load):
    assert load_changed(tmp_path, load, "mlogiqa", {"id": 12}).documents[1].group == "12"


@pytest.mark.parametrize(
    ("name", "changes", "field", "found"),
    [
        ("jglue/jcommonsenseqa", {"label": 5}, "label", "5"),
        ("jglue/jcommonsenseqa", {"label": True}, "label", "true"),
        ("jglue/jcommonsenseqa", {"label": "２"}, "label", "２"),
        ("jglue/jcommonsenseqa", {"label": 1.0}, "label", "1.0"),
        ("jglue/jcommonsenseqa", {"label": -1}, "label", "-1"),
        ("jglue/jcommonsenseqa", {"choice4": MISSING}, "choice4", "missing"),
        ("jglue/jcommonsenseqa", {"choice4": ""}, "choice4", '""'),
        ("jglue/jcommonsenseqa", {"question": None}, "question", "null"),
        ("jglue/jcommonsenseqa", {"q_id": 1.5}, "q_id", "1.5"),
        ("jglue/jnli", {"label": "yes"}, "label", "yes"),
        ("jglue/jnli", {"label": 3}, "label", "3"),
        ("jglue/jnli", {"label": None}, "label", "null"),
        ("jglue/jnli", {"sentence2": 4}, "sentence2", "4"),
        ("jglue/marc_ja", {"label": 2}, "label", "2"),
        ("jglue/marc_ja", {"sentence": " "}, "sentence", '" "'),
        ("jglue/jsquad", {"is_impossible": True}, "is_impossible", "true"),
        ("jglue/jsquad", {"answers": {"text": []}}, "answers", "[]"),
        ("jglue/jsquad", {"answers": {"text": [""]}}, "answers", '""'),
        ("jglue/jsquad", {"answers": ["雨季"]}, "answers", "雨季"),
        ("jglue/jsquad", {"answers": {"text": ["a"], "answer_start": []}}, "answers", "[]"),
        ("jglue/jsquad", {"answers": MISSING}, "answers", "missing"),
        ("jglue/jsquad", {"context": "梅雨 [SEP] "}, "context", "[SEP]"),
        ("mlogiqa", {"options": ["い", "ろ", "は"]}, "options", "は"),
        ("mlogiqa", {"options": ["い", "ろ", "は", ""]}, "options", '""'),
        ("mlogiqa", {"options": "い, ろ, は, に"}, "options", "い, ろ"),
        ("mlogiqa", {"options": "__import__('os')"}, "options", "__import__"),
        ("mlogiqa", {"options": MISSING}, "options", "missing"),
        ("mlogiqa", {"options": MISSING, "option_1": "い"}, "option_2", "missing"),
        ("mlogiqa", {"answer": "E"}, "answer", "E"),
        ("mlogiqa", {"answer": 4}, "answer", "4"),
        ("mlogiqa", {"answer": ""}, "answer", '""'),
        ("mlogiqa", {"answer": "AB"}, "answer", "AB"),
        ("mlogiqa", {"answer": [1]}, "answer", "1"),
        ("mlogiqa", {"answer": MISSING}, "answer", "missing"),
    ],
)
def test_bad_rows_name_file_line_field_and_finding(tmp_path, load, name, changes, field, found):
    with pytest.raises(DataError) as caught:
        load_changed(tmp_path, load, name, changes)
    message = caught.value.message
    assert f"{tmp_path / PATHS[name][0]}, line 2: field `{field}`" in message
    assert found in message
    assert "accepted: " in message


def test_repeated_id_names_both_lines(tmp_path, load):
    with pytest.raises(DataError) as caught:
        load_changed(tmp_path, load, "jglue/jnli", {"sentence_pair_id": "0"})
    assert "line 2: the id `0` was already used" in caught.value.message
    assert "line 1)" in caught.value.message


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("validation.jsonl", as_lines(JNLI[:1]) + b'{"label": \n', "line 2: broken JSON"),
        ("validation.jsonl", as_lines(JNLI[:2]) + b"[1]\n", "line 3: the row is [1]"),
        ("validation.jsonl", as_lines(JNLI[:1]) + b'"\xff"\n', "line 2: not UTF-8 (byte 0xff)"),
        ("validation.jsonl", b"\n", "has no rows"),
        ("validation.jsonl", b"[" * 100_000, "line 1: broken JSON"),
        ("validation.json", b'[{"label": 1},\n {"label"]', "line 2: broken JSON"),
        ("validation.json", b"[1]", "record 1: the row is 1"),
        ("validation.json", b"3", "holds 3; accepted: a list"),
        ("validation.jsonl", b'{"sentence1": "\\ud800"}', "half of a surrogate pair"),
        ("validation.json", b'{"data": [{"paragraphs": 5}]}', "record 1: `paragraphs` is 5"),
        (
            "validation.jsonl.gz",
            gzip.compress(as_lines(JNLI), mtime=0)[:-12],
            "not a complete gzip file",
        ),
        ("validation.jsonl.gz", b"plain text", "not a complete gzip file"),
        ("validation.parquet", b"PAR1 and no more", "not a complete Parquet file"),
    ],
)
def test_damaged_files(tmp_path, load, name, content, expected):
    path = tmp_path / "jglue_v1.1/jnli" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load("jglue/jnli")
    assert str(path) in caught.value.message
    assert expected in caught.value.message


def test_bad_row_of_a_nested_file_names_its_question(tmp_path, load):
    path = tmp_path / "jaquad/validation.json"
    path.parent.mkdir(parents=True)
    question = {"id": "a", "question": "問", "answers": []}
    article = {"title": "題", "paragraphs": [{"context": "文", "qas": [question]}]}
    path.write_text(json.dumps({"data": [article]}))
    with pytest.raises(DataError, match="record 1, paragraph 1, question 1: field `answers`"):
        load("jaquad")


def test_rows_are_numbered_and_only_an_id_of_the_data_names_an_item(tmp_path, load):
    first, second = load_changed(tmp_path, load, "mlogiqa", {"id": "q7"}).documents
    assert (first.row, second.row) == (0, 1)
    assert "id" not in first.fields and first.id == "row-0"
    assert second.fields["id"] == second.id == "q7"
