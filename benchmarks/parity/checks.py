"""The comparisons: each gives how many were compared, the largest difference, and what differs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

METRIC_TOLERANCE = 1e-9
TOKEN_TOLERANCE = 2e-5
"""Of a log-likelihood beside lm-eval's, a token: its float32 log-softmax is off by half of that."""
FORWARD_TOLERANCE = 1e-6
"""Of all log-likelihoods beside a forward pass in float64, relative. One alone may be further off
where it is small: the logits of a float32 model are themselves off by some 1e-6."""
MISS = "[invalid]"
"""What lm-eval's filters give where they find nothing; tenbin gives no answer."""
_EXAMPLES = 3
"""Differences that are told of one check."""


@dataclass(slots=True)
class Check:
    """One comparison of one task, over all its shots."""

    name: str
    compared: int = 0
    largest: float = 0.0
    differing: list[str] = field(default_factory=list)
    apart: float = 0.0
    size: float = 0.0
    """Sums of differences and of the sizes of what was compared, where the ratio counts."""
    zero: set[str] = field(default_factory=set)
    """Metrics that were zero wherever they were compared."""
    nonzero: set[str] = field(default_factory=set)

    def add(self, equal: bool, difference: float, message: str) -> None:
        self.compared += 1
        self.largest = max(self.largest, difference)
        if not equal:
            self.differing.append(message)

    @property
    def equal(self) -> bool:
        return not self.differing

    def summary(self) -> dict[str, Any]:
        return {
            "equal": self.equal,
            "n": self.compared,
            "largest_difference": self.largest,
            **({"relative_difference": self.apart / self.size} if self.size else {}),
            "differing": len(self.differing),
            "examples": self.differing[:_EXAMPLES],
        }


def compare_prompts(
    check: Check, place: str, mine: Sequence[Sequence[Mapping[str, Any]]], oracle: Mapping[str, Any]
) -> None:
    """Contexts, continuations and settings of generation, document by document."""
    documents = oracle["documents"]
    if len(mine) != len(documents):
        check.add(False, 0.0, f"{place}: {len(mine)} documents, lm-eval has {len(documents)}")
    for at, (ours, theirs) in enumerate(zip(mine, documents, strict=False)):
        asked, more = theirs["requests"][: len(ours)], theirs["requests"][len(ours) :]
        # Those for the choices alone, which acc_mutual_info asks besides, are no part of prompts.
        if len(asked) < len(ours) or any(one.get("context") != "" for one in more):
            counts = f"{len(ours)} requests, lm-eval has {len(theirs['requests'])}"
            check.add(False, 0.0, f"{place}, document {at}: {counts}")
        for one, other in zip(ours, asked, strict=False):
            for key in other:
                equal = _same(key, one.get(key), other[key])
                check.add(
                    equal, 0.0, f"{place}, document {at}: {_apart(key, one.get(key), other[key])}"
                )


def _same(key: str, mine: Any, theirs: Any) -> bool:
    return sorted(mine or ()) == sorted(theirs) if key == "until" else bool(mine == theirs)


def _apart(key: str, mine: Any, theirs: Any) -> str:
    """The first place where two texts differ, or both values."""
    if not (isinstance(mine, str) and isinstance(theirs, str)):
        return f"{key} {mine!r}, lm-eval {theirs!r}"
    at = next((k for k, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)
    at = min(len(mine), len(theirs)) if at is None else at
    start = max(0, at - 30)
    return f"{key} at {at}: …{mine[start : at + 40]!r}, lm-eval …{theirs[start : at + 40]!r}"


def compare_answers(
    check: Check, place: str, samples: Sequence[Mapping[str, Any]], oracle: Mapping[str, Any]
) -> None:
    """Predicted choices and texts read out of answers, document by document."""
    for at, (sample, theirs) in enumerate(zip(samples, oracle["documents"], strict=True)):
        if sample["failure_kind"]:
            check.add(False, 0.0, f"{place}, document {at}: {sample['failure_message']}")
        elif oracle["kind"] == "multiple_choice":
            found = next(iter(theirs["answers"].values()))
            count = len(sample["choices"] or found)
            likeliest = max(range(count), key=lambda k: float(found[k][0]))
            predicted = {
                one["metric"]: one["predicted"]
                for one in sample["outcomes"]
                if one["metric"].partition(",")[0] in ("acc", "exact_match", "f1", "mcc")
            }
            for metric, mine in predicted.items():
                if metric.startswith("exact_match") or mine is None:
                    continue
                message = f"{place}, document {at}: {metric} took {mine}, lm-eval {likeliest}"
                check.add(mine == likeliest, 0.0, message)
        elif oracle["kind"] == "generate_until":
            _compare_extracted(check, f"{place}, document {at}", sample, theirs["answers"])


def _compare_extracted(
    check: Check, place: str, sample: Mapping[str, Any], answers: Mapping[str, Any]
) -> None:
    for outcome in sample["outcomes"]:
        name = outcome["metric"].partition(",")[2] or "none"
        if name not in answers:
            continue
        theirs = answers[name]
        theirs = theirs[0] if isinstance(theirs, list) else theirs
        mine = MISS if outcome["answer"] is None else outcome["answer"]
        message = f"{place}: {outcome['metric']} read {mine!r}, lm-eval {theirs!r}"
        check.add(mine == theirs, 0.0, message)


def compare_scores(
    check: Check,
    place: str,
    mine: Mapping[str, Mapping[str, float | None]],
    oracle: Mapping[str, Mapping[str, Any]],
) -> None:
    """Every metric of every task and group."""
    for row, metrics in oracle.items():
        for key, value in metrics.items():
            name = f"{row} {key}"
            if not isinstance(value, int | float):
                continue
            (check.nonzero if value else check.zero).add(name)
            found = _find(mine.get(row, {}), key)
            if found is None:
                check.add(False, 0.0, f"{place}: {name} = {value!r} in lm-eval, none here")
                continue
            apart = 0.0 if found == value or _both_nan(found, value) else abs(found - value)
            equal = apart <= METRIC_TOLERANCE
            check.add(equal, apart, f"{place}: {name} = {found!r}, lm-eval {value!r}")


def _both_nan(one: float, other: float) -> bool:
    return math.isnan(one) and math.isnan(other)


def _find(metrics: Mapping[str, float | None], key: str) -> float | None:
    """A metric by lm-eval's name, whose filter tenbin leaves out where there is only `none`."""
    name, _, filtered = key.partition(",")
    for written in (key, name) if filtered == "none" else (key,):
        if written in metrics:
            return metrics[written]
    return None


def never_nonzero(check: Check) -> Iterable[str]:
    """Metrics whose equality says nothing: zero wherever they were compared."""
    return sorted(check.zero - check.nonzero)
