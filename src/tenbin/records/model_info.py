"""One description of a model out of many: what workers, or earlier runs, say of their engine.

Workers on equal machines say the same. Whether a probe was run or read from the probe cache is no
difference, nor is what each worker counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_NOT_RUN = "not run"
_PROBES = ("probe", "generation_probe")
_COUNTS = ("prompt_tokens", "cached_tokens", "asked_again")
"""What each worker counted for itself."""
_ACCOUNTS = ("traffic", "probe_usage")
"""Entries that hold nothing but such counts."""
ROUND = "round"
"""What was asked together, which the journal keeps beside the description."""
_OF_THE_MOMENT = (*_ACCOUNTS, "scale", "prices", ROUND)
"""Entries that are about one run and not about the engine that answered."""


@dataclass(frozen=True, slots=True)
class Given:
    """Answers that one engine gave."""

    answers: int
    description: Mapping[str, Any] | None
    """None where nobody wrote down what gave them."""


def lasting(description: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that say what an engine is, without those about one run of it."""
    return {name: value for name, value in description.items() if name not in _OF_THE_MOMENT}


def engines_of(given: Sequence[Given]) -> list[Given]:
    """Answers by engine, the most first: descriptions that do not differ are one engine."""
    engines: list[Given] = []
    for one in given:
        for at, known in enumerate(engines):
            together = _joined(known, one)
            if together is not None:
                engines[at] = together
                break
        else:
            engines.append(one)
    return sorted(engines, key=lambda engine: -engine.answers)


def _joined(first: Given, second: Given) -> Given | None:
    """Both as one; None where they differ."""
    answers = first.answers + second.answers
    if first.description is None or second.description is None:
        return Given(answers, None) if first.description is second.description else None
    whole, differing = merged((first.description, second.description))
    return None if differing else Given(answers, whole)


def model_entries(engines: Sequence[Given], current: Mapping[str, Any]) -> dict[str, Any]:
    """What result.json says of the model: `model`, `engine` and `answered_by`.

    Args:
        engines: Those that gave the answers, as `engines_of` gives them.
        current: How the open backend describes itself now: it may not have been loaded at all.
    """
    described = [engine.description for engine in engines if engine.description is not None]
    of_this_run = {name: current[name] for name in (*_ACCOUNTS, "prices") if name in current}
    model = {**(merged(described)[0] if described else lasting(current)), **of_this_run}
    return {
        "model": model,
        "engine": model.get("engine"),
        "answered_by": [_engine_entry(engine) for engine in engines],
    }


def _engine_entry(engine: Given) -> dict[str, Any]:
    named = ("engine", "model", "dtype", "device", "parameters", "libraries")
    described = engine.description or {"engine": None}
    entries = {name: described[name] for name in named if name in described}
    return {"answers": engine.answers, **entries}


def engine_notices(engines: Sequence[Given]) -> list[str]:
    """A line where answers do not all come from one engine that is known."""
    if len(engines) > 1:
        said = ", ".join(f"{engine.answers:,} by {_in_words(engine)}" for engine in engines)
        return [f"the answers come from several engines: {said}"]
    return [
        f"{engine.answers:,} answers were written down before tenbin noted which engine gave them: "
        "result.json describes the model as it is now"
        for engine in engines
        if engine.description is None
    ]


def _in_words(engine: Given) -> str:
    if engine.description is None:
        return "one that nobody wrote down"
    said = engine.description.get("engine") or {}
    libraries = engine.description.get("libraries") or {}
    ways = [said.get("mode"), said.get("generation")]
    parts = [
        said.get("name"),
        "/".join(str(way) for way in ways if way not in (None, _NOT_RUN)),
        engine.description.get("dtype"),
        engine.description.get("device"),
        " ".join(f"{name} {version}" for name, version in libraries.items()),
    ]
    return " ".join(str(part) for part in parts if part not in (None, "", "none"))


def merged(descriptions: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """The first worker's description, completed by the others'.

    A worker that only scored does not know how texts are written: what some did not run is taken
    from one that did.

    Returns:
        The description, and one line for each entry in which workers differ.
    """
    whole: dict[str, Any] = {}
    differing: list[str] = []
    names = list(dict.fromkeys(name for one in descriptions for name in one))
    for name in names:
        values = [one[name] for one in descriptions if name in one]
        if name in _ACCOUNTS:
            whole[name] = _summed(values)
            continue
        if all(isinstance(value, Mapping) for value in values):
            whole[name], inner = merged(values)
            differing += [f"{name}.{line}" for line in inner]
            continue
        known = [value for value in values if value != _NOT_RUN] or values
        if name in _PROBES:
            # Made at this start by any of them, or remembered by all.
            whole[name] = min(known)
            continue
        if name in _COUNTS:
            whole[name] = sum(known)
            continue
        whole[name] = known[0]
        others = [value for value in known[1:] if value != known[0]]
        if others:
            differing.append(f"{name}: {known[0]!r}, elsewhere {others[0]!r}")
    return whole, differing


def _summed(accounts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts of many workers as one account."""
    total: dict[str, Any] = {}
    for name in dict.fromkeys(name for account in accounts for name in account):
        values = [account[name] for account in accounts if name in account]
        is_account = isinstance(values[0], Mapping)
        total[name] = _summed(values) if is_account else sum(values)
    return total
