"""The forms in which Japanese texts are compared, and the metrics over characters, by hand."""

import pytest

from tenbin.metrics.japanese import (
    answer_exact_match,
    character_f1,
    fuzzy_char_f1,
    nfkc_exact_match,
)
from tenbin.metrics.normalisation import answer_form, nfkc, sorted_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ＡＢＣ１２３", "ABC123"),
        ("ｶﾞﾗｽ", "ガラス"),
        ("①㌔", "1キロ"),
        (" 東京\u3000", "東京"),
        ("か\u3099", "が"),
        ("～", "~"),
        ("時々", "時々"),
        ("髙﨑", "髙﨑"),
        ("スーーパー", "スーーパー"),
    ],
)
def test_nfkc(text, expected):
    assert nfkc(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("「東京タワー」。", "東京タワー"),
        ("ジョン・スミス", "ジョンスミス"),
        ("カリフォルニア州 クパチーノ", "カリフォルニア州クパチーノ"),
        ("ファイナルファンタジー XIII", "ファイナルファンタジーxiii"),
        ("３．５", "3.5"),
        ("1,200人", "1200人"),
        ("約40,075km", "約40075km"),
        ("-5度", "-5度"),
        ("A-B", "ab"),
        ("U.S.A.", "usa"),
        ("スーーーパー", "スーパー"),
        ("東京😀", "東京"),
        # Left as they are: iteration marks, kanji numerals and the last long vowel mark.
        ("時々", "時々"),
        ("十二", "十二"),
        ("コンピューター", "コンピューター"),
        ("", ""),
    ],
)
def test_answer_form(text, expected):
    assert answer_form(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tokyo Tower", "tokyo tower"),
        ("tower, TOKYO!", "tokyo tower"),
        ("HiCAP,TACS", "hicap tacs"),
        ("青、赤・緑", "緑 赤 青"),
        # Letters of Latin-1 beyond ASCII are lost, the low line is kept.
        ("café", "caf"),
        ("a_b", "a_b"),
        ("。、", ""),
    ],
)
def test_sorted_words(text, expected):
    assert sorted_words(text) == expected


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("東京", "東京", 1.0),
        # 2 of 2 + 3 characters match twice: 4/5.
        ("東京", "東京都", 0.8),
        ("大阪", "東京", 0.0),
        # One block: 北 and 京 do not match, 海道 does: 2·2/(3+3) = 0.667.
        ("北海道", "東海道", 0.67),
        # difflib takes the longest block first: 上海 against 海上 has one character in common.
        ("上海", "海上", 0.5),
        # Words in another order are equal, signs are blanks.
        ("赤 青", "青,赤", 1.0),
        ("Ｔｏｋｙｏ", "tokyo", 1.0),
        # An eighth of a percent above a half is rounded to the even number: 2·1/(3+13) = 0.125.
        ("東アイ", "東" + "ウ" * 12, 0.12),
        ("", "東京", 0.0),
        ("。", "東京", 0.0),
        # Less than half a percent, without looking.
        ("あ" * 100_000, "あいう", 0.0),
    ],
)
def test_fuzzy_char_f1(answer, reference, expected):
    assert fuzzy_char_f1(answer, [reference]) == expected


def test_fuzzy_char_f1_of_several_answers():
    answers = ["TACS", "PDC", "LTE"]
    assert fuzzy_char_f1("PDC", answers) == 1.0
    # "pdc" against "lte pdc tacs": 2·3/(3+12).
    assert fuzzy_char_f1("PDC", answers, joined=True) == 0.4
    assert fuzzy_char_f1("LTE,PDC,TACS", answers, joined=True) == 1.0


@pytest.mark.parametrize(
    ("answer", "references", "expected"),
    [
        ("東京", ["東京"], 1.0),
        # 東京都 against 東京: precision 2/3, recall 1.
        ("東京都", ["東京"], 0.8),
        # Wherever they stand: this one is not difflib's.
        ("海上", ["上海"], 1.0),
        ("「１２」", ["12"], 1.0),
        ("大阪", ["東京", "大阪府"], 0.8),
        ("", ["東京"], 0.0),
        ("ああ", ["あ"], 2 / 3),
    ],
)
def test_character_f1(answer, references, expected):
    assert character_f1(answer, references) == pytest.approx(expected)


def test_exact_matches():
    assert nfkc_exact_match(" １ ", ["1"]) == 1.0
    assert nfkc_exact_match("東京。", ["東京"]) == 0.0
    assert answer_exact_match("東京。", ["大阪", "東京"]) == 1.0
    assert answer_exact_match("コンピュータ", ["コンピューター"]) == 0.0
    assert answer_exact_match("はい", ["YES", "はい"]) == 1.0
