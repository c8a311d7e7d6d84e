"""Trees, packs and attention over them, whatever the sequences are."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenbin.backends.hf.kernels.tiles import plan_tiles
from tenbin.backends.hf.kernels.tree_attention import block_mask, plan_blocks
from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.prefix_tree import Pack, distinct_tokens, make_packs
from tenbin.backends.hf.scoring.cache import CacheEngine
from tenbin.backends.hf.scoring.masked_rows import MaskedRowsEngine, tree_mask
from tenbin.backends.hf.scoring.plain import PlainEngine
from tenbin.backends.hf.scoring.tree import TreeEngine
from tenbin.backends.text.encoding import Row
from tests.backends.hf.test_families import alone, make

Ids = tuple[int, ...]
CPU = torch.device("cpu")
# The machine may be busy with other things: no deadline.
quietly = functools.partial(settings, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def sequences(draw: Any, most: int = 24) -> list[Ids]:
    """Distinct sequences that share beginnings: few letters, and stems that are cut and grown."""
    token = st.integers(0, 2)
    stems = draw(st.lists(st.lists(token, min_size=1, max_size=9), min_size=1, max_size=3))
    parts = st.tuples(st.sampled_from(stems), st.integers(1, 9), st.lists(token, max_size=6))
    found = draw(st.lists(parts, min_size=1, max_size=most))
    return list(dict.fromkeys((*stem[:cut], *more) for stem, cut, more in found))


def dense(pack: Pack) -> torch.Tensor:
    """Who reads whom, from the sequences alone."""
    mask = torch.zeros(len(pack), len(pack), dtype=torch.bool)
    for number, ids in enumerate(pack.sequences):
        places = [pack.place(number, position) for position in range(len(ids))]
        for at, place in enumerate(places):
            mask[place, places[: at + 1]] = True
    return mask


@quietly(max_examples=200)
@given(sequences(), st.integers(1, 40))
def test_packs_hold_every_sequence_and_each_prefix_once(found: list[Ids], budget: int) -> None:
    seen: list[Ids] = []
    for pack in make_packs(found, budget):
        assert len(pack) <= budget or len(pack.sequences) == 1
        seen += pack.sequences
        for number, ids in enumerate(pack.sequences):
            places = [pack.place(number, position) for position in range(len(ids))]
            assert tuple(pack.ids[place] for place in places) == ids
            assert [pack.positions[place] for place in places] == list(range(len(ids)))
        prefixes = {ids[:end] for ids in pack.sequences for end in range(1, len(ids) + 1)}
        assert len(prefixes) == len(pack)
    assert sorted(seen) == sorted(found)


@quietly(max_examples=100)
@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9).map(tuple), min_size=0))
def test_distinct_tokens_are_counted(found: list[Ids]) -> None:
    prefixes = {ids[:end] for ids in found for end in range(1, len(ids) + 1)}
    assert distinct_tokens(found) == len(prefixes)


@quietly(max_examples=60)
@given(sequences())
def test_a_mask_is_the_tree(found: list[Ids]) -> None:
    for pack in make_packs(found, 1000):
        assert torch.equal(tree_mask(pack), dense(pack))


@quietly(max_examples=60)
@given(sequences(), st.integers(1, 1000), st.one_of(st.none(), st.integers(1, 12)))
def test_blocks_are_the_tree_under_a_window(
    found: list[Ids], budget: int, window: int | None
) -> None:
    for pack in make_packs(found, budget):
        positions = torch.tensor(pack.positions)
        expected = dense(pack)
        if window is not None:
            expected &= positions[:, None] - positions[None, :] < window
        covered: list[int] = []
        for block in plan_blocks(pack):
            own = list(range(block.start, block.end))
            covered += own
            keys = [place for start, end in block.ancestors for place in range(start, end)] + own
            mask = block_mask(block, pack.positions, positions, window)
            if mask is None:
                mask = torch.ones(len(own), len(own), dtype=torch.bool).tril()
            whole = torch.zeros(len(own), len(pack), dtype=torch.bool)
            whole[:, keys] = mask
            assert torch.equal(whole, expected[own])
        assert sorted(covered) == list(range(len(pack)))


@quietly(max_examples=100)
@given(sequences(), st.integers(1, 1000), st.one_of(st.none(), st.integers(1, 12)))
def test_tiles_are_the_tree_under_a_window(
    found: list[Ids], budget: int, window: int | None
) -> None:
    rows, keys = 8, 4
    for pack in make_packs(found, budget):
        tiles = plan_tiles(pack, window, rows, keys, CPU)
        positions = torch.tensor(pack.positions)
        expected = dense(pack)
        place = torch.arange(len(pack))
        rule = (place <= place[:, None]) & (place[:, None] < tiles.ends)
        assert torch.equal(rule, expected)
        assert torch.equal(tiles.positions.long(), positions)
        if window is not None:
            expected &= positions[:, None] - positions < window
        borders = tiles.borders.tolist()
        assert len(borders) == 2 * -(-len(pack) // rows) + 1
        for number in range(len(borders) // 2):
            first, middle, last = borders[2 * number : 2 * number + 3]
            own = expected[number * rows : (number + 1) * rows]
            listed = tiles.listed[first:last].tolist()
            for at in range(-(-len(pack) // keys)):
                part = own[:, at * keys : (at + 1) * keys]
                # Whole tiles are read without a look at the rule, and none without need.
                assert (at in listed[: middle - first]) == (part.shape[1] == keys and part.all())
                assert (at in listed) >= bool(part.any())
                assert window is not None or (at in listed) == bool(part.any())
            assert len(set(listed)) == len(listed)


@st.composite
def requests(draw: Any) -> list[list[Row]]:
    """Groups of rows: nested and equal answers, contexts of one token and more, some cut."""
    stems = draw(sequences(4))
    groups = []
    for _ in range(draw(st.integers(1, 6))):
        context = draw(st.sampled_from(stems))[draw(st.integers(0, 2)) :] or (1,)
        answers = draw(sequences(4))
        answers += draw(st.lists(st.sampled_from(answers), max_size=2))
        groups.append([Row(context + answer, len(answer)) for answer in answers])
    return groups


@functools.cache
def forward(family: str) -> Forward:
    return Forward(make(family))


@functools.cache
def expected(family: str, row: Row) -> tuple[float, bool]:
    return alone(forward(family).model, row)


def make_engine(name: str, budget: int, narrow: bool) -> Any:
    model = forward({"rows": "gptj", "cache": "mamba2"}.get(name, "llama"))
    # A few rows of logits at a time: answers must not notice.
    model.positions = 3 if narrow else 1000
    if name == "plain":
        return PlainEngine(model, "auto", budget)
    return {"tree": TreeEngine, "rows": MaskedRowsEngine, "cache": CacheEngine}[name](model, budget)


def check(engine: Any, groups: list[list[Row]], family: str) -> None:
    answers = list(engine.score(groups))
    assert sorted(number for number, _ in answers) == list(range(len(groups)))
    for number, scores in answers:
        assert scores is not None
        for row, score in zip(groups[number], scores, strict=True):
            logprob, greedy = expected(family, row)
            assert score.logprob == pytest.approx(logprob, abs=1e-4)
            assert score.greedy == greedy


ENGINES = {"tree": "llama", "rows": "gptj", "cache": "mamba2", "plain": "llama"}


@pytest.mark.parametrize("name", ENGINES)
@quietly(max_examples=25)
@given(groups=requests(), budget=st.integers(1, 120), narrow=st.booleans())
def test_any_requests_under_any_budget(
    name: str, groups: list[list[Row]], budget: int, narrow: bool
) -> None:
    check(make_engine(name, budget, narrow), groups, ENGINES[name])


@pytest.mark.parametrize("name", ENGINES)
@quietly(max_examples=10)
@given(groups=requests(), most=st.integers(4, 60), failures=st.integers(1, 100))
def test_memory_that_ends_loses_nothing(
    name: str, groups: list[list[Row]], most: int, failures: int
) -> None:
    """More than `most` tokens do not fit, at least not before so many failures."""
    engine = make_engine(name, 200, False)
    model, left = engine.forward.model, [failures]
    honest = model.forward

    def cramped(*arguments: Any, **options: Any) -> Any:
        if left[0] and options["input_ids"].numel() > most:
            left[0] -= 1
            raise torch.OutOfMemoryError("CUDA out of memory")
        return honest(*arguments, **options)

    model.forward = cramped
    try:
        answers = dict(engine.score(groups))
    finally:
        del model.forward
    assert set(answers) == set(range(len(groups)))
    for number, scores in answers.items():
        if scores is None:
            assert any(len(row.ids) - 1 > most for row in groups[number])
            continue
        for row, score in zip(groups[number], scores, strict=True):
            assert score.logprob == pytest.approx(expected(ENGINES[name], row)[0], abs=1e-4)
