"""The page tables of fused decode steps: who gets which page, who shares, who gives back."""

from __future__ import annotations

import random

import torch

from tenbin.backends.hf.generation.paged_cache import PAGE, PagedCache, pages_of

CPU = torch.device("cpu")


def made(rows: int = 4, length: int = 4 * PAGE, pages: int = 16, members: int = 3) -> PagedCache:
    return PagedCache(rows, length, pages, members, CPU)


def table(cache: PagedCache) -> list[list[int]]:
    cache.begin_decode(torch.zeros(cache.rows, dtype=torch.long), 1)
    found: list[list[int]] = cache.pages.table.tolist()
    return found


def test_a_row_gets_pages_for_its_own_length() -> None:
    cache = made()
    assert cache.enter(0, [(1, 2), (3,) * 100], [PAGE, 2 * PAGE + 1]) == 2
    first, second, *idle = table(cache)
    assert [page > 0 for page in first] == [True, False, False, False]
    assert [page > 0 for page in second] == [True, True, True, False]
    assert len({*first, *second} - {0}) == 4
    assert idle == [[0] * 4] * 2


def test_who_finds_no_page_waits() -> None:
    cache = made(pages=5)
    lengths = [2 * PAGE, 2 * PAGE, 2 * PAGE]
    assert cache.enter(0, [(1,), (2,), (3,)], lengths) == 2
    cache.release([0])
    cache.move([1], [0])
    assert cache.enter(1, [(3,)], lengths[:1]) == 1
    used = [page for row in table(cache) for page in row if page]
    assert len(used) == len(set(used)) == 4


def test_rows_share_the_whole_pages_of_their_common_prefix() -> None:
    prefix = tuple(range(2 * PAGE + 10))
    cache = made()
    assert cache.enter(0, [(*prefix, 1), (*prefix, 2), (*prefix, 3)], [3 * PAGE] * 3) == 3
    rows = table(cache)
    assert rows[0][:2] == rows[1][:2] == rows[2][:2]
    assert len({row[2] for row in rows[:3]}) == 3
    assert cache.has_groups
    assert cache.pages.shared.tolist() == [2 * PAGE] * 3 + [0]
    assert cache.pages.groups.tolist() == [[0, 1, 2], [-1, -1, -1]]
    # The first row writes the shared pages, the others what follows.
    assert [cache.first_slot(row) for row in range(3)] == [0, 2 * PAGE, 2 * PAGE]


def test_the_page_of_the_last_prompt_token_is_never_shared() -> None:
    # The first decode step of each row writes that token's key.
    prompt = tuple(range(PAGE))
    cache = made()
    cache.enter(0, [prompt, prompt], [2 * PAGE] * 2)
    first, second = table(cache)[:2]
    assert not {*first} & {*second} - {0}
    longer = tuple(range(PAGE + 1))
    cache = made()
    cache.enter(0, [longer, longer], [2 * PAGE] * 2)
    first, second = table(cache)[:2]
    assert first[0] == second[0] and first[1] != second[1]


def test_a_shared_page_is_free_when_the_last_row_has_left() -> None:
    prefix = tuple(range(2 * PAGE + 1))
    cache = made(pages=5)
    assert cache.enter(0, [prefix, prefix], [3 * PAGE] * 2) == 2
    kept = table(cache)[1]
    cache.release([0])
    cache.move([1], [0])
    assert table(cache)[0] == kept
    assert not cache.has_groups and cache.pages.shared.tolist() == [0] * 4
    # Two pages were never used, one has come back.
    assert cache.enter(1, [(7,)], [3 * PAGE + 1]) == 0
    assert cache.enter(1, [(7,)], [2 * PAGE]) == 1
    cache.release([0, 1])
    assert cache.enter(0, [(8,), (9,)], [4 * PAGE, PAGE]) == 2


def test_large_groups_are_divided_and_single_rows_read_alone() -> None:
    prefix = tuple(range(PAGE + 1))
    cache = made(rows=4, members=3)
    cache.enter(0, [prefix] * 4, [2 * PAGE] * 4)
    table(cache)
    assert cache.pages.groups.tolist() == [[0, 1, 2], [-1, -1, -1]]
    assert cache.pages.shared.tolist() == [PAGE] * 3 + [0]


def test_a_row_that_shares_less_than_its_group_stands_alone() -> None:
    long, short = tuple(range(3 * PAGE)), (*range(PAGE + 5), *[9] * (2 * PAGE))
    cache = made()
    cache.enter(0, [(*long, 1), (*long, 2), short], [4 * PAGE] * 3)
    rows = table(cache)
    assert rows[0][:3] == rows[1][:3] and not {*rows[2]} & {*rows[0], *rows[1]} - {0}


def test_random_histories_give_every_page_to_one_group_at_most() -> None:
    generator = random.Random(3)
    for _ in range(30):
        rows, cache, active = 6, made(rows=6, pages=14), 0
        for _ in range(40):
            if generator.random() < 0.5 and active < rows:
                prefix = tuple(generator.randrange(2) for _ in range(2)) * PAGE
                new = [(*prefix, n) for n in range(generator.randint(1, rows - active))]
                active += cache.enter(active, new, [generator.randint(130, 256) for _ in new])
            elif active:
                done = sorted(generator.sample(range(active), generator.randint(1, active)))
                cache.release(done)
                kept = [at for at in range(active) if at not in done]
                sources = [at for at in kept if at >= len(kept)]
                cache.move(sources, [at for at in range(len(kept)) if at in done])
                active = len(kept)
            held = [[page for page in row if page] for row in table(cache)]
            assert all(held[at] for at in range(active)) and not any(held[active:])
            groups = [[row for row in group if row >= 0] for group in cache.pages.groups.tolist()]
            shared = cache.pages.shared.tolist()
            for group in groups:
                for row in group:
                    count = shared[row] // PAGE
                    assert count and held[row][:count] == held[group[0]][:count]
            distinct = len({page for row in held for page in row})
            assert distinct + len(cache._free) == 14


def test_pages_of() -> None:
    assert [pages_of(length) for length in (1, PAGE, PAGE + 1)] == [1, 1, 2]
