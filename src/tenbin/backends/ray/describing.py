"""One description out of many workers': what they agree on, and where they do not.

Knows plain values only. Workers on equal machines say the same; that a probe was remembered on one
and made on another is no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_NOT_RUN = "not run"
_PROBES = ("probe", "generation_probe")
_COUNTS = ("prompt_tokens", "cached_tokens", "asked_again")
"""What each worker counted for itself."""
_ACCOUNTS = ("traffic", "probe_usage")
"""Entries that hold nothing but such counts."""


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
