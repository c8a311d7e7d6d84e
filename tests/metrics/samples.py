"""Small records for the tests of this folder."""

from __future__ import annotations

from typing import Any

from tenbin.records import (
    Cell,
    Dataset,
    FewshotPlan,
    FilterUse,
    Kind,
    MetricUse,
    Prompt,
    Scores,
    Task,
)

CELL = Cell("sample", "1.0", "default", 0, 42)


def make_task(kind: Kind, metrics: list[str], filters: tuple[FilterUse, ...] = ()) -> Task:
    return Task(
        name="sample",
        version="1.0",
        language="en",
        family="sample",
        group=None,
        kind=kind,
        dataset=Dataset("sample"),
        split="test",
        fewshot=FewshotPlan(None),
        templates={},
        default_template="default",
        metrics=tuple(MetricUse(name, name) for name in metrics),
        filters=filters,
    )


def make_prompt(**changes: Any) -> Prompt:
    values: dict[str, Any] = {
        "cell": CELL,
        "document": "1",
        "language": "en",
        "group": "g",
        "kind": "generate",
        "text": "?",
        "continuations": None,
        "choices": None,
        "gold": None,
        "references": (),
        "target": "",
        "stop": (),
        "max_gen_toks": 8,
    }
    return Prompt(**{**values, **changes})


def make_choice_prompt(*choices: str, gold: int = 0) -> Prompt:
    continuations = tuple(f" {choice}" for choice in choices)
    return make_prompt(kind="choice", choices=choices, continuations=continuations, gold=gold)


def make_scores(*logprobs: float, tokens: tuple[int, ...] | None = None) -> Scores:
    counts = tokens or tuple(1 for _ in logprobs)
    return Scores(logprobs, counts, tuple(False for _ in logprobs))
