"""The step of a training in a checkpoint's name: `checkpoint-500`, `step_3k`, `iter_0001000`."""

from __future__ import annotations

import re

_STEP = re.compile(
    r"(?<![a-z])(?:checkpoint|ckpt|global[-_]?step|step|iteration|iter)[-_=]?(\d{1,15})"
    r"(?:([km])(?![a-z0-9]))?",
    re.IGNORECASE,
)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


def step_in_name(name: str) -> int | None:
    """The step in a folder's or revision's name; None where there is none.

    Of several the last counts: `stage2-step1000` is step 1000. What follows a number with a word of
    its own, as in `step1000-tokens4B`, is left alone.
    """
    found = _STEP.findall(name)
    if not found:
        return None
    digits, factor = found[-1]
    return int(digits) * _FACTORS[factor.lower()]
