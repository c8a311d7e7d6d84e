"""Which rows hold the same item: keys, then gold answers row for row, then what a file says."""

from __future__ import annotations

import itertools
import math

import pytest

from tenbin.errors import ResultError
from tenbin.statistics.alignment import AskedRow, Source, align, natural_order

GOLD = "ABCDABCD"


def source(
    language: str,
    gold: str = GOLD,
    items: list[str] | None = None,
    rows: list[int] | None = None,
    size: int | None = None,
) -> Source:
    numbers = rows or list(range(len(gold)))
    names: list[str | None] = list(items) if items else [None] * len(gold)
    asked = tuple(AskedRow(*one) for one in zip(numbers, names, gold, strict=True))
    return Source(language, asked, size or len(gold))


def test_a_key_decides_whatever_the_order_of_rows() -> None:
    names = [f"q{at}" for at in range(8)]
    found = align([source("en", items=names), source("ko", GOLD[::-1], names[::-1])], "id")
    assert found.method == "id"
    assert found.shared == tuple(names)
    assert found.items["ko"][0] == "q7"
    assert found.gold["q1"] == "B"


def test_rows_serve_where_gold_answers_agree() -> None:
    found = align([source("en"), source("zh"), source("ko")], "id")
    assert found.method == "row"
    assert found.shared == tuple(f"row-{at}" for at in range(8))
    assert found.partial == 0


def test_rows_that_disagree_are_refused_and_shown() -> None:
    with pytest.raises(ResultError) as caught:
        align([source("en"), source("ko", "ABDCABCD"), source("zh")], "id")
    text = str(caught.value)
    assert "gold answers differ in 2 of 8 rows" in text
    assert "row-2    C    D    C" in text and "row-3    D    C    D" in text
    assert "row-1 " not in text, "rows that agree are not shown"
    assert "--alignment FILE" in text and "null" in text


def test_many_rows_that_disagree_are_counted() -> None:
    gold = "AB" * 20
    with pytest.raises(ResultError) as caught:
        align([source("en", gold), source("ko", gold[::-1])], "id")
    text = str(caught.value)
    assert "differ in 40 of 40 rows" in text and "… and 30 more" in text
    assert text.count("row-") == 10


def test_files_of_different_length_are_refused_without_a_key() -> None:
    with pytest.raises(ResultError, match=r"en 8, zh 7 rows"):
        align([source("en"), source("zh", GOLD[:7])], "id")
    # A limit may cut them to the same number: what counts is the file.
    with pytest.raises(ResultError, match="differ in length"):
        align([source("en", "AB", size=120), source("zh", "AB", size=114)], "id")


def test_a_key_in_one_language_only_does_not_serve() -> None:
    names = [f"q{at}" for at in range(8)]
    assert align([source("en", items=names), source("ko")], "id").method == "row"
    with pytest.raises(ResultError, match="rows have no `id`"):
        align([source("en", items=names), source("ko", GOLD[::-1])], "id")


def test_a_key_used_twice_or_with_other_gold_is_refused() -> None:
    names = [f"q{at}" for at in range(8)]
    with pytest.raises(ResultError, match=r"en: 1 values of `id` stand in more than one row: q0"):
        align([source("en", items=["q0", *names[:-1]]), source("ko", items=names)], "id")
    with pytest.raises(ResultError, match="gold answers of the same `id` differ in 2 of 8 items"):
        align([source("en", items=names), source("ko", "BACDABCD", names)], "id")


def test_items_asked_in_some_languages_only_are_left_out_and_counted() -> None:
    names = [f"q{at}" for at in range(8)]
    few = source("ko", GOLD[:5], names[:5])
    found = align([source("en", items=names), few], "id")
    assert found.shared == tuple(names[:5]) and found.partial == 3
    with pytest.raises(ResultError, match="no item was asked in all of en, ko"):
        align([source("en", GOLD[:4], names[:4]), source("ko", GOLD[4:], names[4:])], "id")


MOVED = [0, 2, 3, 4, 5, 6, 7, 1]
"""One row taken out and put at the end."""


def moved(values: str) -> str:
    return "".join(values[at] for at in MOVED)


def given(**languages: list[int | None]) -> dict[str, list[str | None]]:
    return {
        language: [None if row is None else f"row-{row}" for row in rows]
        for language, rows in languages.items()
    }


def test_a_file_says_what_the_data_do_not() -> None:
    plain: list[int | None] = list(range(8))
    sources = [source("en"), source("ko", moved(GOLD))]
    with pytest.raises(ResultError):
        align(sources, "id")
    found = align(sources, "id", given(en=plain, ko=list(MOVED), zh=plain), "en")
    assert found.method == "file"
    assert found.items["ko"][7] == "row-1"
    assert found.shared == tuple(f"row-{at}" for at in range(8))


def test_a_file_is_checked() -> None:
    plain: list[int | None] = list(range(8))
    sources = [source("en"), source("ko", moved(GOLD))]
    cases: list[tuple[dict[str, list[str | None]], str]] = [
        (given(en=plain), "says nothing of ko"),
        (given(en=plain, ko=list(MOVED[:7])), "ko has 7 entries, its file 8 rows"),
        (given(en=plain, ko=[0, *MOVED[:-1]]), r"ko names 1 items more than once: row-0"),
        (given(en=plain, ko=[*MOVED[:-1], 80]), r"ko names 1 items that en does not have: row-80"),
        (given(en=plain, ko=plain), "gold answers still differ in 7 of 8 items"),
    ]
    for file, message in cases:
        with pytest.raises(ResultError, match=message):
            align(sources, "id", file, "en")


def test_null_leaves_a_row_out() -> None:
    file = given(en=list(range(8)), ko=[None, *MOVED[1:]])
    found = align([source("en"), source("ko", "D" + moved(GOLD)[1:])], "id", file, "en")
    assert len(found.shared) == 7 and found.partial == 1 and "row-0" not in found.shared


@pytest.mark.parametrize("gold", ["AABBC", "AAAA", "ABCD"])
def test_strength_of_the_evidence_by_counting_all_orders(gold: str) -> None:
    orders = list(itertools.permutations(gold))
    unchanged = sum("".join(order) == gold for order in orders)
    found = align([source("en", gold), source("ko", gold)], "id")
    assert found.chance_of_agreement == pytest.approx(unchanged / len(orders))
    pairs = list(itertools.combinations(gold, 2))
    assert found.unseen_swaps == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))


def test_eighty_rows_are_strong_evidence() -> None:
    found = align([source("en", "ABCD" * 20), source("ko", "ABCD" * 20)], "id")
    exact = math.factorial(20) ** 4 / math.factorial(80)
    assert found.chance_of_agreement == pytest.approx(exact, rel=1e-6)
    assert found.unseen_swaps == pytest.approx(4 * 190 / 3160)


def test_natural_order_counts() -> None:
    names = ["row-10", "row-9", "q", "10", "9", ""]
    assert sorted(names, key=natural_order) == ["", "9", "10", "q", "row-9", "row-10"]
