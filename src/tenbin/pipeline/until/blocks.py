"""Blocks of documents in random order: how a run that stops early asks its plan."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from tenbin.errors import ConfigError
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.requests import content_key
from tenbin.records import Cell
from tenbin.statistics.sequential import FEWEST_PER_LOOK, LOOKS


def blocks_in_random_order(
    plan: Plan, cell: Cell, seed: int, size: int, documents: Mapping[str, float] | None = None
) -> list[list[int]]:
    """The prompts of a cell in blocks of whole clusters.

    The order rests on the seed and the names of clusters or documents: tasks and templates that
    ask the same documents ask them in the same order.

    Args:
        plan: All prompts.
        cell: Whose prompts.
        seed: Of the run.
        size: Documents of a block, at least; the last may have fewer.
        documents: Names of those to ask; None: all.
    """
    clusters: dict[str, list[int]] = {}
    for chunk in plan.planned(cell):
        for one in chunk:
            prompt = one.prompt
            if documents is None or prompt.document in documents:
                name = content_key("until", seed, prompt.group or prompt.document)
                clusters.setdefault(name, []).append(one.number)
    blocks: list[list[int]] = [[]]
    for name in sorted(clusters):
        if len(blocks[-1]) >= size:
            blocks.append([])
        blocks[-1] += clusters[name]
    return [sorted(block) for block in blocks if block]


def looks_in_random_order(
    plan: Plan, cell: Cell, seed: int, documents: Mapping[str, float]
) -> list[list[int]]:
    """The same in as many blocks as a comparison has looks, of about equal size.

    Raises:
        ConfigError: There are too few clusters.
    """
    single = blocks_in_random_order(plan, cell, seed, 1, documents)
    if len(single) < LOOKS * FEWEST_PER_LOOK:
        raise ConfigError(
            f"--until decided: {cell.id} shares {len(single):,} independent documents with the "
            f"other run; {LOOKS} looks need {LOOKS * FEWEST_PER_LOOK}",
            "leave --until out, and compare the finished runs with tenbin compare",
        )
    total = sum(map(len, single))
    blocks: list[list[int]] = [[] for _ in range(LOOKS)]
    for cluster, end in zip(single, accumulate(map(len, single)), strict=True):
        blocks[min(LOOKS - 1, (end - 1) * LOOKS // total)] += cluster
    return blocks
