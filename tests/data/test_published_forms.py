"""Published files that are no JSON: CSV without a heading, TSV of several splits, XML."""

from dataclasses import replace
from pathlib import Path

import pytest

from tenbin.data.readers.formats import RowFile
from tenbin.data.sources.pinned import PublishedFile, Split, find_files, pinned_sets
from tenbin.errors import DataError

SPLIT = Split(
    name="test",
    schema="text",
    version="1.0",
    rows=None,
    files=(PublishedFile("QUIZ/birds.csv", None), PublishedFile("QUIZ/fish.csv", None)),
    otherwise=(),
    local=(),
    folder="quiz",
    host="github",
    repository="someone/quiz",
    revision="1",
    columns=("question", "A", "answer"),
    field_from_name="subject",
)


def rows(file: RowFile) -> list[dict]:
    return [dict(row.values) for row in file.rows()]


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding=encoding)
    return path


def test_csv_without_a_heading_keeps_numbers_as_text_and_drops_the_byte_order_mark(tmp_path):
    path = written(
        tmp_path / "QUIZ/birds.csv", '翼は何枚？,2,A\n"数は, 「"")」",10,B\n', "utf-8-sig"
    )
    assert rows(SPLIT.row_file(path)) == [
        {"subject": "birds", "question": "翼は何枚？", "A": "2", "answer": "A"},
        {"subject": "birds", "question": '数は, 「")」', "A": "10", "answer": "B"},
    ]


def test_a_row_with_another_number_of_cells_is_refused(tmp_path):
    path = written(tmp_path / "birds.csv", "翼は？,2,A\n尾は？,1\n")
    with pytest.raises(DataError, match=r"line 2: 2 columns, but column_names names 3"):
        rows(SPLIT.row_file(path))


def test_rows_that_name_their_subject_keep_it(tmp_path):
    path = written(tmp_path / "quiz/test.jsonl", '{"subject": "insects", "question": "足は？"}\n')
    assert rows(SPLIT.row_file(path)) == [{"subject": "insects", "question": "足は？"}]


def test_tsv_with_a_heading_holds_two_splits(tmp_path):
    split = replace(SPLIT, columns=None, field_from_name=None, where={"split": "test"})
    text = '\tsentence\tsplit\n0\t鳥が飛ぶ\ttrain\n1\t"魚"が泳ぐ\ttest\n'
    path = written(tmp_path / "pairs.tsv", text)
    assert rows(replace(split, quoted=False).row_file(path)) == [
        {"": "1", "sentence": '"魚"が泳ぐ', "split": "test"}
    ]
    copy = written(tmp_path / "test.jsonl", '{"sentence": "鳥が飛ぶ"}\n')
    assert rows(split.row_file(copy)) == [{"sentence": "鳥が飛ぶ"}]


def test_quotation_marks_are_text_where_the_set_says_so(tmp_path):
    split = replace(SPLIT, columns=("question", "answer"), field_from_name=None, quoted=False)
    path = written(tmp_path / "a.tsv", '"何個？" と聞いた\t1,200\n')
    assert rows(split.row_file(path)) == [{"question": '"何個？" と聞いた', "answer": "1,200"}]


def test_only_the_listed_files_of_a_clone_are_read(tmp_path):
    pinned = next(iter(pinned_sets().values()))
    listed = [written(tmp_path / f"quiz/QUIZ/{name}.csv", "a,b,A\n") for name in ("birds", "fish")]
    written(tmp_path / "quiz/QUIZ/other.csv", "a,b,A\n")
    assert find_files(pinned, (SPLIT,), tmp_path) == tuple(listed)
    own = written(tmp_path / "quiz/test.jsonl", "{}\n")
    assert find_files(pinned, (SPLIT,), tmp_path) == (own,)


def test_own_copy_may_have_the_published_form(tmp_path):
    pinned = next(iter(pinned_sets().values()))
    split = replace(SPLIT, files=SPLIT.files[:1])
    own = written(tmp_path / "quiz/test.csv", "a,b,A\n")
    assert find_files(pinned, (split,), tmp_path) == (own,)


XML = """<?xml version='1.0' encoding="UTF-8"?>
<questions>
<question id="Q-1">
  <text>日本一高い山は？</text>
  <answers>
    <answer>富士山</answer>
  </answers>
  <meta><A.3></A.3><B1>は &amp; が</B1></meta>
</question>
<question id="Q-2">
  <text>三原色とは？</text>
  <answers><answer>赤</answer><answer>青</answer><answer>緑</answer></answers>
</question>
</questions>
"""


def test_xml_rows_are_the_elements_below_the_root(tmp_path):
    assert rows(RowFile(written(tmp_path / "q.xml", XML))) == [
        {
            "id": "Q-1",
            "text": "日本一高い山は？",
            "answers": ["富士山"],
            "meta": {"A.3": "", "B1": "は & が"},
        },
        {"id": "Q-2", "text": "三原色とは？", "answers": ["赤", "青", "緑"]},
    ]


BOMB = """<!DOCTYPE q [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<q><row><text>&b;</text></row></q>"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BOMB, "line 1: a document type is declared"),
        (XML[:-20], "broken XML"),
        ("<a><b></a>", "line 1: broken XML: mismatched tag"),
        ("<a><b><c><d><e>1</e></d></c></b></a>", "`e` is nested more than 4 elements deep"),
        ("<a></a>", "has no rows"),
        ("<a>&x;</a>", "broken XML: undefined entity"),
        ("<a><b>\0</b></a>", "broken XML"),
        ("<a><b>&#xD800;</b></a>", "broken XML"),
    ],
)
def test_xml_that_is_refused(tmp_path, text, problem):
    with pytest.raises(DataError, match=problem):
        rows(RowFile(written(tmp_path / "q.xml", text)))


@pytest.mark.parametrize("declared", ["UTF-8", "UTF-16", "no-such-encoding", "cp932"])
def test_xml_is_utf_8_whatever_it_declares(tmp_path, declared):
    text = f"<?xml version='1.0' encoding='{declared}'?><q><row><text>山</text></row></q>"
    assert rows(RowFile(written(tmp_path / "q.xml", text))) == [{"text": "山"}]


def test_a_row_of_xml_has_a_largest_size(tmp_path, monkeypatch):
    monkeypatch.setattr("tenbin.data.readers.xml.LONGEST_LINE", 200)
    rows(RowFile(written(tmp_path / "small.xml", XML)))
    long = XML.replace("富士山", "富士山" * 100)
    with pytest.raises(DataError, match="one row is longer than 200 characters"):
        rows(RowFile(written(tmp_path / "q.xml", long)))
