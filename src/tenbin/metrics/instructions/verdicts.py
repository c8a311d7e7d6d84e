"""Verdicts on an answer: each instruction strictly, and loosely on eight variants of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.metrics.instructions.base import Rules
from tenbin.metrics.instructions.registry import Asked


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer follows one instruction."""

    asked: Asked
    strict: bool
    """The answer exactly as it was generated."""
    loose: bool
    """Any of its variants."""


def loose_variants(text: str) -> list[str]:
    """The answer without its first line, last line or both, each also without asterisks.

    A model that adds a sentence before or after, or emphasis, is not punished for it. Asterisks are
    removed after white space at the ends, which stays as it then is.
    """
    lines = text.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    return [text, _plain(text), *cut, *map(_plain, cut)]


def _plain(text: str) -> str:
    return text.replace("*", "")


def judge_instructions(text: Any, asked: Sequence[Asked], rules: Rules) -> list[Verdict]:
    """Judge an answer by each of its instructions; one that is no text follows none."""
    answer = text if isinstance(text, str) else ""
    variants = list(dict.fromkeys(loose_variants(answer)))[1:]
    found = []
    for one in asked:
        strict = one.passes(answer, rules)
        # The first variant is the answer itself.
        loose = strict or any(one.passes(variant, rules) for variant in variants)
        found.append(Verdict(one, strict, loose))
    return found
