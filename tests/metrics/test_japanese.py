"""Japanese exact match and F1, worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenbin.metrics.japanese import japanese_exact_match, japanese_f1, normalise, tokenise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京😀", "東京"),
        ("✈東京🗼", "東京"),
        ("🇯🇵日本", "日本"),
        ("ＡＢＣ１２３", "ABC123"),
        ("ｶﾞｷﾞｸﾞ", "ガギグ"),
        ("  東京\n", "東京"),
        ("New  \t York", "New York"),
        ("スーーーパー", "スーパー"),
        ("😀", ""),
        ("", ""),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("prediction", "references", "expected"),
    [
        ("東京", ["東京"], 100.0),
        ("東京都", ["東京"], 0.0),
        ("１９９４年", ["1994年"], 100.0),
        ("東京😀", ["大阪", "東京"], 100.0),
        (" 東京 ", ["東京"], 100.0),
        # Punctuation is kept by exact match, and dropped by F1 only.
        ("東京。", ["東京"], 0.0),
        ("", ["東京"], 0.0),
    ],
)
def test_exact_match(prediction: str, references: list[str], expected: float) -> None:
    assert japanese_exact_match(prediction, references) == expected


@pytest.mark.parametrize(
    ("prediction", "references", "expected"),
    [
        ("東京", ["東京"], 100.0),
        ("東京。", ["「東京」"], 100.0),
        # 東京 都 against 東京: precision 1/2, recall 1.
        ("東京都", ["東京"], 200 / 3),
        # 1994 年 3 月 10 日 against 1994 年: precision 2/6, recall 1.
        ("1994年3月10日", ["1994年"], 50.0),
        # The best reference counts: 2/3 for the first, 1 for the second.
        ("東京都", ["東京", "東京都"], 100.0),
        ("大阪", ["東京"], 0.0),
        ("", ["東京"], 0.0),
        # Punctuation alone shares nothing, though the strings are equal.
        ("。", ["。"], 0.0),
        # Words are a bag: 東京 twice shares only once with 東京 once.
        ("東京 東京", ["東京"], 200 / 3),
    ],
)
def test_f1(prediction: str, references: list[str], expected: float) -> None:
    assert japanese_f1(prediction, references) == pytest.approx(expected)


def test_tokens_leave_punctuation_out() -> None:
    assert tokenise("東京都に住んでいる。") == ["東京", "都", "に", "住ん", "で", "いる"]
    assert tokenise("ＡＢＣ！") == ["ABC"]


_TEXT = st.text(alphabet="東京都大阪府の年月日。、「」A1９ 😀", max_size=12)


@settings(max_examples=50)
@given(_TEXT, st.lists(_TEXT, min_size=1, max_size=3))
def test_bounds_and_order(prediction: str, references: list[str]) -> None:
    f1 = japanese_f1(prediction, references)
    assert 0 <= f1 <= 100 + 1e-9
    assert f1 == japanese_f1(prediction, references[::-1])
    assert japanese_exact_match(prediction, references) in {0.0, 100.0}
    if japanese_exact_match(prediction, references) and tokenise(prediction):
        assert f1 == pytest.approx(100)
