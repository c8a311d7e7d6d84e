"""The reader of short free answers, on answers as models write them."""

import pytest

from tenbin.metrics import filters
from tenbin.metrics.extraction.short_answer import read_short_answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京", "東京"),
        (" 東京。\n", "東京"),
        ("「東京」", "東京"),
        ("**東京タワー**", "東京タワー"),
        ("YES", "YES"),
        ("はい。", "はい"),
        ("答えは東京です。", "東京"),
        ("答えは「東京」です。", "東京"),
        ("したがって、正解は1964年である。", "1964年"),
        ("答え：東京", "東京"),
        ("回答: $\\boxed{ファイナルファンタジーXIII}$", "ファイナルファンタジーXIII"),
        ("まず\\boxed{A}を考え、次に\\boxed{B}とする。", "B"),
        ("\\boxed{\\text{カリフォルニア州}}", "カリフォルニア州"),
        ('{"answer": "東芝"}', "東芝"),
        ("{'回答': '東芝'}", "東芝"),
        ("### 回答\n東芝\n\n### 理由\n1985年に発売したため。", "東芝"),
        ("考えます。\n\n回答: NO", "NO"),
        ("【答え】富士山", "富士山"),
        ("東京\n\n質問：大阪は？\n回答：大阪", "東京"),
        ("<think>大阪かな</think>東京", "東京"),
        ("<think>大阪", None),
        ("", None),
        ("。", None),
        ("The answer is Tokyo.", "Tokyo"),
        ("Answer: Tokyo", "Tokyo"),
        ("東京\n首都だからです。", "東京"),
        ("「東京」と「大阪」", "「東京」と「大阪」"),
        ("答えは東京です。いや、答えは大阪です。", "大阪"),
        ("青,赤,緑", "青,赤,緑"),
        ("3.5", "3.5"),
        ("＃最終回答：１２個", "12個"),
    ],
)
def test_reads_as_a_human_reader(text, expected):
    assert read_short_answer(text) == expected


def test_as_a_filter_step():
    steps = (("short_answer", {}),)
    filters.check(steps)
    assert filters.apply(steps, ["答えは東京です。", "<think>"], "ja") == ["東京", None]
