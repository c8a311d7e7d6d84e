"""Requests of each kind, each asked once."""

from __future__ import annotations

from tenbin.asking import work_of
from tenbin.planning.plan import Plan
from tenbin.records import Generate, Roll, Score
from tests.metrics.samples import make_choice_prompt, make_prompt


def test_every_kind_becomes_its_request() -> None:
    plan = Plan()
    plan.add([make_prompt(text="t"), make_choice_prompt("a", "b")], False)
    plan.add([make_prompt(kind="roll", text="t", target=None)], False)
    kinds = [type(request) for request in plan.requests.values()]
    assert kinds == [Generate, Score, Roll], "the same text is another question as a roll"
    assert [one.key for one in plan.planned] == list(plan.requests)


def test_a_text_that_occurs_twice_is_weighed_once() -> None:
    plan = Plan()
    plan.add([make_prompt(kind="roll", text=text, document=text) for text in "aba"], False)
    assert [request.text for request in plan.requests.values()] == ["a", "b"]
    assert len(plan.planned) == 3
    assert plan.planned[0].key == plan.planned[2].key


def test_work_grows_with_the_text() -> None:
    assert work_of(Roll("k", "x" * 300)) == 10 * work_of(Roll("k", "x" * 30))
