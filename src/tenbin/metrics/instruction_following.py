"""Metrics of instruction following: prompts and instructions that an answer follows.

References are the instructions of a document, one JSON object each with `id` and `kwargs`, which
the row check of the data set has made. `tenbin.metrics.instructions` has the rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tenbin.errors import DataError
from tenbin.metrics.base import POOLED, metric
from tenbin.metrics.options import Option
from tenbin.metrics.patterns import UnjudgedError
from tenbin.records import Failure

if TYPE_CHECKING:
    from tenbin.metrics.instructions import Rules, Verdict

_EDITIONS = ("corrected", "published", "original")
_EDITION = Option(f"one of {', '.join(_EDITIONS)}", lambda value: value in _EDITIONS)
_OPTIONS = {"edition": _EDITION}

Parts = Sequence[tuple[str, float]]
"""The instructions of a document: type and whether it is followed, 1 or 0."""


def _check(references: Sequence[str], where: str) -> None:
    from tenbin.metrics.instructions import check_asked

    for reference in references:
        try:
            found = json.loads(reference)
            id, kwargs = found["id"], found["kwargs"]
        except (ValueError, TypeError, KeyError):
            raise DataError(
                f"{where}: a reference is not an instruction: {reference[:80]!r}",
                "write each as JSON with `id` and `kwargs`",
            ) from None
        check_asked(id, kwargs, where)


def _tools(language: str, options: Mapping[str, Any]) -> Mapping[str, str]:
    from tenbin.metrics.instructions import tools_of

    return tools_of(_rules(language, options.get("edition", _EDITIONS[0])))


def _rules(language: str, edition: Any) -> Rules:
    from tenbin.metrics.instructions import Rules

    return Rules(language, edition, published_tools=edition != "corrected")


# All four metrics ask for the verdicts of a document, one after the other.
@lru_cache(maxsize=8)
def _verdicts(answer: str, references: tuple[str, ...], edition: str) -> tuple[Verdict, ...]:
    from tenbin.metrics.instructions import Asked, judge_instructions

    try:
        asked = [Asked(**json.loads(reference)) for reference in references]
        languages = {one.language for one in asked}
    except (ValueError, TypeError, AttributeError):
        languages = set()
    if len(languages) != 1:
        failure = Failure("no_instructions", "the document has no instructions of one language")
        raise UnjudgedError(failure)
    return tuple(judge_instructions(answer, asked, _rules(languages.pop(), edition)))


def _strict_parts(answer: str, references: Sequence[str], *, edition: str = "corrected") -> Parts:
    found = _verdicts(answer, tuple(references), edition)
    return [(one.asked.type, float(one.strict)) for one in found]


def _loose_parts(answer: str, references: Sequence[str], *, edition: str = "corrected") -> Parts:
    found = _verdicts(answer, tuple(references), edition)
    return [(one.asked.type, float(one.loose)) for one in found]


@metric("prompt_level_strict_acc", "generate", options=_OPTIONS, tools=_tools, check=_check)
def prompt_level_strict_acc(
    answer: str, references: Sequence[str], *, edition: str = "corrected"
) -> float:
    """1 when the answer as it is follows every instruction, else 0."""
    return float(all(one.strict for one in _verdicts(answer, tuple(references), edition)))


@metric("prompt_level_loose_acc", "generate", options=_OPTIONS, tools=_tools, check=_check)
def prompt_level_loose_acc(
    answer: str, references: Sequence[str], *, edition: str = "corrected"
) -> float:
    """1 when for every instruction a variant of the answer follows it, else 0."""
    return float(all(one.loose for one in _verdicts(answer, tuple(references), edition)))


@metric(
    "inst_level_strict_acc",
    "generate",
    options=_OPTIONS,
    aggregation=POOLED,
    item=_strict_parts,
    tools=_tools,
    check=_check,
)
def inst_level_strict_acc(parts: Parts, *, edition: str = "corrected") -> float:
    """The share of a document's instructions that the answer as it is follows."""
    return sum(value for _, value in parts) / len(parts)


@metric(
    "inst_level_loose_acc",
    "generate",
    options=_OPTIONS,
    aggregation=POOLED,
    item=_loose_parts,
    tools=_tools,
    check=_check,
)
def inst_level_loose_acc(parts: Parts, *, edition: str = "corrected") -> float:
    """The share of a document's instructions that a variant of the answer follows."""
    return sum(value for _, value in parts) / len(parts)
