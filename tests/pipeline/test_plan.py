"""Requests of each kind, each asked once; prompts and requests come back as they were planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tenbin.files import disk_list as shelf
from tenbin.pipeline import plan as plan_module
from tenbin.pipeline import requests as queue
from tenbin.pipeline.plan import Plan, Planned
from tenbin.pipeline.requests import requests_of, work_of
from tenbin.records import Generate, Prompt, Request, Rolling, Sampling, Score, Thinking
from tests.metrics.samples import CELL, make_choice_prompt, make_prompt

OTHER = replace(CELL, template="0.9")
WARM = Sampling(0.7)


def planned_in(plan: Plan) -> list[Planned]:
    return [one for cell in plan.spans for chunk in plan.planned(cell) for one in chunk]


def many_prompts() -> list[Prompt]:
    """More than are written at once, of all kinds, some of them alike."""
    made: list[Prompt] = []
    for at in range(40):
        text = f"問い{at * 7 % 31:02d}"
        made += [
            make_prompt(text=text, document=f"g{at}", thinking=Thinking(budget=9)),
            make_prompt(text=text, document=f"d{at}", sampling=WARM, repeats=3),
            replace(make_choice_prompt("はい", "いいえ"), text=text, document=f"c{at}"),
            make_prompt(kind="perplexity", text=text, document=f"r{at}", target=None),
        ]
    return made


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    for module in (shelf, queue, plan_module):
        monkeypatch.setattr(module, "CHUNK", 7)
    made = Plan()
    made.add(CELL, many_prompts(), unconditional=True)
    return made


def test_every_kind_becomes_its_request() -> None:
    plan = Plan()
    plan.add(CELL, [make_prompt(text="t"), make_choice_prompt("a", "b")], False)
    plan.add(OTHER, [make_prompt(kind="perplexity", text="t", target=None, cell=OTHER)], False)
    requests = list(plan.queue.open())
    kinds = [type(request) for request in requests]
    assert kinds == [Generate, Score, Rolling], "the same text is another question as a roll"
    assert [one.key for one in planned_in(plan)] == [request.key for request in requests]
    assert {cell: list(span) for cell, span in plan.spans.items()} == {CELL: [0, 1], OTHER: [2]}


def test_a_text_that_occurs_twice_is_weighed_once() -> None:
    plan = Plan()
    plan.add(
        CELL, [make_prompt(kind="perplexity", text=text, document=text) for text in "aba"], False
    )
    assert [request.place[1] for request in plan.queue.open()] == ["a", "b"]
    planned = planned_in(plan)
    assert len(planned) == len(plan) == 3
    assert planned[0].key == planned[2].key


def test_prompts_come_back_as_they_were(plan: Plan) -> None:
    assert [one.prompt for one in planned_in(plan)] == many_prompts()


def test_half_a_surrogate_pair_comes_back_too() -> None:
    plan = Plan()
    odd = make_prompt(text="a\ud83d")
    plan.add(CELL, [odd], False)
    assert [one.prompt for one in planned_in(plan)] == [odd]
    assert next(plan.queue.open(by_prefix=True)).place[1] == "a\ud83d"


def distinct_requests() -> list[Request]:
    found: dict[str, Request] = {}
    for prompt in many_prompts():
        for request in requests_of(prompt):
            found.setdefault(request.key, request)
        if prompt.continuations is not None:
            (bare,) = requests_of(replace(prompt, text=""))
            found.setdefault(bare.key, bare)
    return list(found.values())


def test_requests_come_back_in_order_of_first_use(plan: Plan) -> None:
    assert list(plan.queue.open()) == distinct_requests()


def test_a_walk_goes_by_kind_text_and_key(plan: Plan) -> None:
    expected = sorted(distinct_requests(), key=lambda request: request.place)
    assert list(plan.queue.open(by_prefix=True)) == expected
    assert list(plan.queue.open(by_prefix=True)) == expected, "again"


@pytest.mark.parametrize("texts", ["ab", "aあ𠮷﨑", "\ud7ff\ud800\ue000\U00010000"])
def test_texts_sort_as_in_memory(texts: str) -> None:
    plan = Plan()
    written = [one + other for one in texts for other in texts] + list(texts)
    prompts = [
        make_prompt(kind="perplexity", text=t, document=str(n)) for n, t in enumerate(written)
    ]
    plan.add(CELL, prompts, False)
    assert [request.place[1] for request in plan.queue.open(by_prefix=True)] == sorted(set(written))


def test_a_request_is_settled_once(plan: Plan) -> None:
    requests = distinct_requests()
    count, work = plan.queue.left()
    assert count == len(plan.queue) == len(requests)
    assert work == sum(map(work_of, requests))
    half = {request.key: work_of(request) for request in requests[::2]}
    assert plan.queue.settle([*half, "nobody's"]) == half
    assert plan.queue.settle(list(half)) == {}
    assert list(plan.queue.open()) == requests[1::2]
    assert plan.queue.left()[0] == len(requests) - len(half)
    assert requests[0].key in plan.queue and "nobody's" not in plan.queue


def test_settling_on_the_way_disturbs_no_walk(plan: Plan) -> None:
    walked = []
    for request in plan.queue.open(by_prefix=True):
        walked.append(request)
        plan.queue.settle([request.key])
    assert walked == sorted(distinct_requests(), key=lambda request: request.place)
    assert plan.queue.left() == (0, 0.0)


def test_a_prompt_is_complete_once_with_the_last_of_its_answers(plan: Plan) -> None:
    expected = {one.prompt.document: set(one.keys) for one in planned_in(plan)}
    arrived: set[str] = set()
    given: list[str] = []
    for request in plan.queue.open(by_prefix=True):
        arrived.add(request.key)
        plan.queue.settle([request.key])
        for one in plan.completed_by([request.key]):
            assert expected[one.prompt.document] <= arrived
            assert request.key in one.keys
            given.append(one.prompt.document)
    assert sorted(given) == sorted(expected)


def test_pairs_of_documents_and_keys_are_sorted(plan: Plan) -> None:
    pairs = [
        (one.prompt.document, key)
        for one in planned_in(plan)
        for key in (one.key, *one.further_keys)
    ]
    found = [(document, key) for _, document, key in plan.keys_by_document(CELL)]
    assert found == sorted(pairs)


def test_work_grows_with_the_text() -> None:
    assert work_of(Rolling("k", "x" * 300)) == 10 * work_of(Rolling("k", "x" * 30))
