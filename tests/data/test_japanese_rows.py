"""Rows of Japanese sets beside JGLUE: accepted spellings, fields, and rows that are left out."""

from pathlib import Path

import pytest

from tenbin.data import DataChoice, load_documents
from tenbin.errors import ConfigError, DataError
from tenbin.records import Dataset
from tests.data.written_rows import JNLI, write_rows


def test_jmmlu_as_published_and_as_a_copy(tmp_path, load):
    clone = tmp_path / "JMMLU" / "JMMLU"
    clone.mkdir(parents=True)
    listed = [Path(file.path).stem for file in _split("jmmlu", "test").files]
    assert len(listed) == 53
    for subject in listed:
        (clone / f"{subject}.csv").write_text("\ufeff1は？,1, 2,3,4 ,C\n", encoding="utf-8")
    (clone / "other.csv").write_text("x\n", encoding="utf-8")
    loaded = load("jmmlu", "test")
    assert [document.fields["subject"] for document in loaded.documents] == listed
    assert loaded.documents[0].fields == {
        "subject": "abstract_algebra",
        "question": "1は？",
        "options": {"published": ["1", " 2", "3", "4 "], "stripped": ["1", "2", "3", "4"]},
        "label": 2,
    }
    row = {"subject": "anatomy", "question": "1は？", **dict.fromkeys("ABCD", "1"), "answer": "D"}
    write_rows(tmp_path / "jmmlu/test.jsonl", [row])
    (own,) = load("jmmlu", "test").documents
    assert (own.fields["subject"], own.fields["label"]) == ("anatomy", 3)


def _split(name, split):
    from tenbin.data.sources.pinned import pinned_sets

    return next(iter(pinned_sets()[name].versions.values()))[split]


@pytest.mark.parametrize(("label", "number"), [(0, 0), ("acceptable", 1), ("unacceptable", 0)])
def test_jcola(tmp_path, load, label, number):
    write_rows(
        tmp_path / "jcola/validation.jsonl", [{"uid": 7, "sentence": "文。", "label": label}]
    )
    (document,) = load("jcola").documents
    assert document.id == "7"
    assert document.fields == {"sentence": "文。", "label": number, "source": ""}


def test_jcommonsensemorality_as_published(tmp_path, load):
    file = tmp_path / "data/data_test.csv"
    file.parent.mkdir()
    file.write_text(",sent,label\n0,傘を盗んだ,1\n1,傘を返した,0\n", encoding="utf-8")
    documents = load("jcommonsensemorality", "test").documents
    assert [document.fields for document in documents] == [
        {"sent": "傘を盗んだ", "label": 1},
        {"sent": "傘を返した", "label": 0},
    ]


def test_jnli_neg_groups_the_pairs_of_one_row(tmp_path, load):
    row = {
        "id": 3,
        "jnli_sentence_pair_id": 5,
        "type": "p_neg",
        "sentence1": {"sentence": "犬がいない。", "neg": {}},
        "sentence2": {"sentence": "犬がいる。", "neg": None},
        "gold_label": "contradiction",
    }
    write_rows(tmp_path / "jnli_neg/validation.jsonl", [row])
    (document,) = load("jnli_neg").documents
    assert (document.id, document.group) == ("3", "5")
    assert document.fields["premise"] == "犬がいない。"
    assert document.fields["label"] == 1
    write_rows(tmp_path / "jnli_neg/validation.jsonl", [{**row, "sentence1": {"text": "犬"}}])
    with pytest.raises(DataError, match="field `sentence1`"):
        load("jnli_neg")


def test_janli_as_published_holds_both_splits(tmp_path, load):
    (tmp_path / "janli.tsv").write_text(
        "\tsentence_A_Ja\tsentence_B_Ja\tentailment_label_Ja\theuristics\tnumber_of_NPs\tsemtag\tsplit\n"
        "8\t犬が猫を見た\t猫を犬が見た\tentailment\toverlap-full\t2\tscrambling\ttrain\n"
        "9\t犬が猫を見た\t犬を猫が見た\tnon-entailment\toverlap-full\t2\tscrambling\ttest\n",
        encoding="utf-8",
    )
    (document,) = load("janli", "test").documents
    assert document.id == "9"
    assert document.fields == {
        "premise": "犬が猫を見た",
        "hypothesis": "犬を猫が見た",
        "label": 1,
        "heuristics": "overlap-full",
        "semtag": "scrambling",
    }
    assert [one.id for one in load("janli", "train").documents] == ["8"]


NIILC = """<questions>
<question id="Q1"><text>山は？</text>
<answers><answer>富士山</answer><answer></answer></answers></question>
<question id="Q2"><text>海は？</text><answers><answer>-</answer></answers></question>
<question id="Q3"><text>色は？</text>
<answers><answer>赤</answer><answer>青</answer></answers></question>
</questions>"""


def test_niilc_as_published_leaves_questions_without_an_answer_out(tmp_path, load):
    file = tmp_path / "data/NIILC-ECQA2015_test.xml"
    file.parent.mkdir()
    file.write_text(NIILC, encoding="utf-8")
    loaded = load("niilc", "test")
    assert [(one.id, one.fields["answers"]) for one in loaded.documents] == [
        ("Q1", ["富士山"]),
        ("Q3", ["赤", "青"]),
    ]
    assert loaded.documents[1].fields["joined"] == "赤,青"
    assert 'niilc test: 1 row left out: the answer is "-": the question has none' in loaded.notices


def test_jemhopqa_accepts_yes_in_both_languages(tmp_path, load):
    row = {
        "qid": "a",
        "question": "どちらも山ですか？",
        "answer": "YES",
        "derivations": [["富士山", "分類", ["山"]], ["北岳", "分類", ["山", "百名山"]]],
    }
    write_rows(
        tmp_path / "jemhopqa_v1.2/validation.jsonl", [row, {**row, "qid": "b", "answer": "山"}]
    )
    polar, open_ = load("jemhopqa").documents
    assert (polar.fields["answer"], polar.fields["answers"]) == ("YES", ["YES", "はい"])
    assert open_.fields["answers"] == ["山"]
    assert polar.fields["derivations"][1] == {
        "subject": "北岳",
        "relation": "分類",
        "objects": ["山", "百名山"],
    }
    write_rows(tmp_path / "jemhopqa_v1.2/validation.jsonl", [{**row, "derivations": [["富士山"]]}])
    with pytest.raises(DataError, match="field `derivations`"):
        load("jemhopqa")


def test_a_split_of_a_later_version_is_read_unless_the_user_wants_another(tmp_path):
    write_rows(tmp_path / "jglue_v1.3/jnli/test.jsonl", JNLI)
    dataset = Dataset("jglue/jnli")
    loaded = load_documents(dataset, "test", DataChoice(data_dir=tmp_path))
    assert loaded.files[0].version == "1.3"
    assert "jglue/jnli test is published from version 1.3 on, which is read" in loaded.notices
    earlier = DataChoice(data_dir=tmp_path, versions={"jglue": "1.1"})
    with pytest.raises((DataError, ConfigError), match=r"no test split in version 1\.1"):
        load_documents(dataset, "test", earlier)
