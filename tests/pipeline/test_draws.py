"""Content keys stay what they were, and draws are requests of their own."""

from __future__ import annotations

from dataclasses import replace

from tenbin.pipeline.plan import Plan
from tenbin.pipeline.requests import generate_request, sample_request, score_request
from tenbin.records import Generate, Prompt, Sampling
from tests.metrics.samples import CELL, make_prompt

WARM = Sampling(0.8, 0.95)


def test_keys_of_greedy_answers_and_scores_never_change() -> None:
    # Journals of users hold answers under these keys.
    greedy = generate_request("日本の首都は", ("\n", "。"), 32)
    assert greedy == Generate("08d510eb5ea42b798518e155f166ec3f", "日本の首都は", ("\n", "。"), 32)
    assert score_request("a", (" b", " c")).key == "4ffc254c7f57746ce1c907d1ced3383e"


def test_keys_and_seeds_of_draws_never_change() -> None:
    drawn = sample_request("日本の首都は", ("。",), 32, WARM, 1234, 1)
    assert (drawn.key, drawn.seed) == ("7078f25471f9cb5ec660ff5127e79265", 979423937146456937)


def plan_of(*prompts: Prompt) -> Plan:
    plan = Plan()
    plan.add(prompts[0].cell, prompts, unconditional=False)
    return plan


def keys_of(*prompts: Prompt) -> list[str]:
    return [one.key for one in plan_of(*prompts).queue.open()]


def test_each_draw_is_a_request() -> None:
    plan = plan_of(make_prompt(sampling=WARM, repeats=3))
    ((planned,),) = plan.planned(CELL)
    requests = [r for r in plan.queue.open() if isinstance(r, Generate)]
    assert [planned.key, *planned.further_keys] == [r.key for r in requests]
    assert [r.sample for r in requests] == [0, 1, 2]
    assert len({r.seed for r in requests}) == 3
    assert all(0 <= r.seed < 1 << 63 and r.sampling == WARM for r in requests)
    greedy = plan_of(make_prompt())
    ((planned,),) = greedy.planned(CELL)
    assert planned.further_keys == () and len(greedy.queue) == 1


def test_more_repeats_keep_the_first_and_prompts_that_read_the_same_share() -> None:
    few = keys_of(make_prompt(sampling=WARM, repeats=2))
    many = keys_of(
        make_prompt(sampling=WARM, repeats=5),
        make_prompt(sampling=WARM, repeats=3, document="2"),
    )
    assert len(many) == 5
    assert many[:2] == few


def test_what_a_draws_seed_and_key_rest_on() -> None:
    first = sample_request("p", (), 8, WARM, 1, 0)
    same_numbers = [
        sample_request("p", ("x",), 8, WARM, 1, 0),
        sample_request("p", (), 9, WARM, 1, 0),
        sample_request("p", (), 8, replace(WARM, temperature=0.9), 1, 0),
    ]
    other_numbers = [
        sample_request("p", (), 8, WARM, 2, 0),
        sample_request("p", (), 8, WARM, 1, 1),
        sample_request("q", (), 8, WARM, 1, 0),
    ]
    assert {r.seed for r in same_numbers} == {first.seed}
    assert first.seed not in {r.seed for r in other_numbers}
    keys = {r.key for r in (first, *same_numbers, *other_numbers)}
    assert len(keys) == 7


def test_the_runs_seed_is_that_of_the_cell() -> None:
    moved = make_prompt(sampling=WARM, cell=replace(CELL, seed=CELL.seed + 1))
    assert not set(keys_of(moved)) & set(keys_of(make_prompt(sampling=WARM)))
