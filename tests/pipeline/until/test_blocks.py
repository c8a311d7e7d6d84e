"""Blocks of the plan: whole clusters in random order."""

from __future__ import annotations

from dataclasses import replace

from tenbin.pipeline.plan import Plan
from tenbin.pipeline.until.blocks import blocks_in_random_order, looks_in_random_order
from tests.metrics.samples import CELL, make_choice_prompt


def clustered_plan(sizes: list[int]) -> Plan:
    plan = Plan()
    prompts = [
        replace(
            make_choice_prompt("a", "b"), document=f"d{at}-{one}", text=f"{at} {one}", group=group
        )
        for at, size in enumerate(sizes)
        for group in [f"p{at}" if size > 1 else None]
        for one in range(size)
    ]
    plan.add(CELL, prompts, False)
    return plan


def test_clusters_stay_together_in_blocks_and_looks() -> None:
    plan = clustered_plan([1, 3, 5, 2] * 25)
    clusters = {
        one.number: one.prompt.group or one.prompt.document
        for chunk in plan.planned(CELL)
        for one in chunk
    }
    names = {one.prompt.document: 1.0 for chunk in plan.planned(CELL) for one in chunk}
    blocks = blocks_in_random_order(plan, CELL, 1, 40)
    looks = looks_in_random_order(plan, CELL, 1, names)
    for parts in (blocks, looks):
        assert sorted(number for part in parts for number in part) == list(range(len(plan)))
        of_parts = [{clusters[number] for number in part} for part in parts]
        assert sum(map(len, of_parts)) == len(set(clusters.values())), "no cluster is in two"
    assert all(40 <= len(block) < 45 for block in blocks[:-1])
    assert len(looks) == 5 and all(abs(len(look) - 55) <= 5 for look in looks)


def test_held_prompts_are_neither_asked_nor_complete() -> None:
    plan = clustered_plan([1, 1, 1])
    plan.hold_back()
    assert plan.queue.left()[0] == len(plan.queue) == 0 and plan.held == 3
    plan.release([1])
    (request,) = plan.queue.open()
    assert request.place[1] == "1 0" and plan.held == 2
    assert [plan.holds(number) for number in range(3)] == [True, False, True]
    plan.queue.settle([request.key])
    assert [one.number for one in plan.completed_by([request.key])] == [1]
    plan.release([0, 1])
    assert plan.queue.left()[0] == 1, "what is answered is not asked again"
