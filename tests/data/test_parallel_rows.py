"""Rows of the parallel benchmarks: accepted spellings, fields, and rows that are left out."""

from __future__ import annotations

import pytest

from tenbin.data import DataChoice, load_documents
from tenbin.data.schemas.parallel import without_full_stop, xcopa_relations
from tenbin.errors import DataError
from tenbin.records import Dataset
from tests.data.written_rows import write_rows
from tests.oracle.rendering import read_rows


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


def xcopa_row(idx, **changes):
    texts = {"premise": "แก้วตก", "choice1": "แก้วแตก", "choice2": "แก้วอุ่น"}
    return {**texts, "question": "effect", "label": 0, "idx": idx, "changed": False, **changes}


def test_xcopa_relation_is_the_item_s_and_question_the_row_s(tmp_path, load):
    write_rows(tmp_path / "xcopa/th/test.jsonl", [xcopa_row(0), xcopa_row(1)])
    write_rows(tmp_path / "xcopa/th/validation.jsonl", [xcopa_row(0), xcopa_row(4)])
    test = load("xcopa", "test", "th").documents
    validation = load("xcopa", "validation", "th").documents
    assert [document.id for document in test] == ["0", "1"]
    assert [document.fields["question"] for document in test] == ["effect", "effect"]
    assert [document.fields["relation"] for document in test] == ["cause", "effect"]
    assert [document.fields["relation"] for document in validation] == ["effect", "cause"]


def test_xcopa_rows_beyond_the_published_ones_are_believed(tmp_path, load):
    write_rows(tmp_path / "xcopa/th/test.jsonl", [xcopa_row(500, question="cause")])
    assert load("xcopa", "test", "th").documents[0].fields["relation"] == "cause"


@pytest.mark.parametrize(
    ("field", "value"), [("question", "why"), ("idx", "7"), ("idx", -1), ("label", 2)]
)
def test_xcopa_refuses(tmp_path, load, field, value):
    write_rows(tmp_path / "xcopa/th/test.jsonl", [xcopa_row(0) | {field: value}])
    with pytest.raises(DataError, match=f"field `{field}`"):
        load("xcopa", "test", "th")


def test_xcopa_relations_are_as_many_as_items():
    counted = {split: (len(rs), rs.count("c")) for split, rs in xcopa_relations().items()}
    assert counted == {"test": (500, 250), "validation": (100, 52)}


@pytest.mark.real_data
@pytest.mark.parametrize("language", ["et", "ht", "qu", "ta", "vi", "zh"])
def test_xcopa_relations_are_those_of_the_languages_that_agree(language, real_data):
    for split, relations in xcopa_relations().items():
        rows = read_rows(real_data / "xcopa" / language / f"{split}.jsonl.gz")
        assert "".join(row["question"][0] for row in rows) == relations
        assert [row["idx"] for row in rows] == list(range(len(relations)))


def pawsx_row(first, second, label=0):
    return {"id": 90, "sentence1": first, "sentence2": second, "label": label}


def test_pawsx_drops_what_was_not_translated(tmp_path, load):
    rows = [
        pawsx_row("NS", "Ein Satz."),
        pawsx_row("Ein Satz.", "NS."),
        pawsx_row("", "Ein Satz."),
        pawsx_row("Ein NS Satz.", "Der Satz ."),
    ]
    write_rows(tmp_path / "pawsx/de/validation.jsonl", rows)
    loaded = load("pawsx", "validation", "de")
    assert [document.id for document in loaded.documents] == ["3"]
    assert "pawsx de validation: 2 rows left out: not translated (NS)" in loaded.notices
    assert "pawsx de validation: 1 row left out: a sentence is empty" in loaded.notices


def test_pawsx_fields(tmp_path, load):
    first, second = 'Er sagte : " Ja " ( oder nein ) , dann ging er ;', " It is n't big ."
    write_rows(tmp_path / "pawsx/de/validation.jsonl", [pawsx_row(first, second, "1")])
    (document,) = load("pawsx", "validation", "de").documents
    assert document.fields == {
        "id": "0",
        "sentence1": first,
        "sentence2": second,
        "prepared1": 'Er sagte :"Ja"(oder nein), dann ging er ',
        "prepared2": "it isn't big.",
        "first": 'Er sagte :"Ja"(oder nein), dann ging er ;',
        "second": "It isn't big.",
        "label": 1,
    }


def bmlama_row(candidates, **changes):
    row = {"Prompt": "Rom ist in <mask>.", "Subject": "Rom", "Candidate Ans": candidates}
    return {**row, "Ans": candidates.split(", ")[-1], **changes}


def test_bmlama_rotates_candidates_by_the_number_of_the_row(tmp_path, load):
    rows = [bmlama_row("Chile, Peru, Italien"), bmlama_row("Italien"), bmlama_row("Peru, Italien")]
    rows.append(bmlama_row("Peru, Chile, Kuba, Italien"))
    write_rows(tmp_path / "bmlama53/en/test.jsonl", rows)
    loaded = load("bmlama53", "test", "en")
    fields = [document.fields for document in loaded.documents]
    assert [one["id"] for one in fields] == ["0", "2", "3"]
    assert "bmlama53 en test: 1 row left out: its only candidate is the answer" in loaded.notices
    assert fields[0]["candidates"] == ["Chile", "Peru", "Italien"]
    assert fields[2]["candidates"] == ["Italien", "Peru", "Chile", "Kuba"]
    assert [one["candidates"][one["label"]] for one in fields] == ["Italien"] * 3
    assert fields[1]["sentences"] == ["Rom ist in Peru.", "Rom ist in Italien."]
    assert (fields[1]["gap"], fields[1]["letters"]) == ("Rom ist in ____.", ["A", "B"])
    assert fields[1]["lettered"] == "A. Peru\nB. Italien"


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("Prompt", {"Prompt": "Rom ist in Italien."}),
        ("Candidate Ans", {"Ans": "Kuba"}),
        ("Candidate Ans", {"Candidate Ans": "Peru, Peru", "Ans": "Peru"}),
    ],
)
def test_bmlama_refuses(tmp_path, load, field, changes):
    write_rows(tmp_path / "bmlama53/en/test.jsonl", [bmlama_row("Peru, Italien", **changes)])
    with pytest.raises(DataError, match=f"field `{field}`"):
        load("bmlama53", "test", "en")


def belebele_row(**changes):
    answers = {f"mc_answer{place}": f"answer {place}" for place in range(1, 5)}
    row = {"link": "https://example.org/a", "question_number": 2, "flores_passage": "It rains."}
    return {**row, **answers, "question": "Why?", "correct_answer_num": "4", **changes}


def test_belebele_fields(tmp_path, load):
    rows = [belebele_row(), belebele_row(question_number="1", correct_answer_num=1)]
    write_rows(tmp_path / "belebele/jpn_Jpan/test.jsonl", rows)
    first, second = load("belebele", "test", "jpn_Jpan").documents
    assert first.id == first.fields["id"] == "https://example.org/a#2"
    assert (second.id, second.fields["label"]) == ("https://example.org/a#1", 0)
    assert first.group == second.group == "https://example.org/a"
    assert first.fields["answers"] == ["answer 1", "answer 2", "answer 3", "answer 4"]
    assert first.fields["label"] == 3


@pytest.mark.parametrize("answer", ["0", "5", 0, "D"])
def test_belebele_answers_are_numbered_from_one(tmp_path, load, answer):
    rows = [belebele_row(correct_answer_num=answer)]
    write_rows(tmp_path / "belebele/jpn_Jpan/test.jsonl", rows)
    with pytest.raises(
        DataError, match=r"`correct_answer_num` .* accepted: an integer from 1 to 4"
    ):
        load("belebele", "test", "jpn_Jpan")


def test_global_mmlu_fields(tmp_path, load):
    row = {"sample_id": "law/test/1", "subject": "law", "subject_category": "Humanities"}
    row |= {"question": "Why?", **{f"option_{letter}": letter * 2 for letter in "abcd"}}
    row |= {"answer": "C", "cultural_sensitivity_label": "CS"}
    write_rows(tmp_path / "global_mmlu/ja/test.jsonl", [row])
    (document,) = load("global_mmlu", "test", "ja").documents
    assert document.fields == {
        "id": "law/test/1",
        "subject": "law",
        "category": "Humanities",
        "sensitivity": "CS",
        "question": "Why?",
        "options": ["aa", "bb", "cc", "dd"],
        "label": 2,
    }


def test_sample_rows_of_another_language_stand_in(tmp_path):
    loaded = load_documents(Dataset("belebele", "kac_Latn"), "test", DataChoice(sample_data=True))
    assert loaded.notices == (
        "belebele has no sample rows in kac_Latn: those in eng_Latn are read",
    )
    assert loaded.documents[0].fields["question"].startswith("At what time")
    own = load_documents(Dataset("belebele", "jpn_Jpan"), "test", DataChoice(sample_data=True))
    assert own.notices == ()


def test_rows_of_another_language_never_stand_in_for_the_user_s(tmp_path, load):
    write_rows(tmp_path / "belebele/eng_Latn/test.jsonl", [belebele_row()])
    with pytest.raises(DataError, match="Belebele test"):
        load("belebele", "test", "kac_Latn")
