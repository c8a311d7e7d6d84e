"""Tokens to compute, beside a count of distinct beginnings and the engine's own packs."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tenbin.analysis.doctor.cost import Cost, _pack, count_distinct, measure_cost, pack_rows
from tenbin.backends.hf.model.prefix_tree import make_packs
from tests.analysis.doctor.written import prompt, reader

ROWS = st.lists(st.lists(st.integers(0, 70_000) | st.integers(0, 2), max_size=8), max_size=8)


@given(ROWS)
@settings(deadline=None)
def test_distinct_tokens_are_the_distinct_beginnings(rows: list[list[int]]) -> None:
    beginnings = {tuple(row[: at + 1]) for row in rows for at in range(len(row))}
    assert count_distinct(map(_pack, rows)) == len(beginnings)


@given(ROWS)
@settings(deadline=None)
def test_it_is_what_the_engine_packs(rows: list[list[int]]) -> None:
    distinct = sorted({tuple(row) for row in rows if row})
    packed = sum(len(pack) for pack in make_packs(distinct, 10**6))
    assert count_distinct(map(_pack, distinct)) == packed


def test_a_cell_worked_out_by_hand() -> None:
    opened = reader()
    readings = opened.tokenize([prompt("abc", "de", "df"), prompt("abx", "d", document="d1")])
    rows = pack_rows(readings)
    found = measure_cost(readings, rows, len(readings), 20)
    # abcd twice and abx: the last token of each row is predicted only. a·b·c·d and x are distinct.
    assert found == Cost(2, 20, 3, 11, 5, 0)
    assert found.scaled(found.tokens) == 110


def test_generation_and_what_fails() -> None:
    opened = reader(max_length=8, merges=["bc"])
    readings = opened.tokenize([prompt("abd", max_gen_toks=4), prompt("ab", "c", document="lost")])
    assert readings[1].failure == "empty_continuation"
    found = measure_cost(readings, pack_rows(readings), len(readings), 2)
    assert (found.rows, found.tokens, found.distinct, found.written) == (1, 3, 3, 4)
