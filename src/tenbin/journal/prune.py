"""Which journals are to go, and removing them. Journals of runs that are going on always stay."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tenbin.errors import ConfigError
from tenbin.journal.locks import sole_use
from tenbin.journal.show import SIDES, JournalFile
from tenbin.journal.sqlite_errors import journal_faults

_SECONDS = {"h": 3600.0, "d": 86400.0, "w": 604800.0}
_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def read_age(given: str) -> float:
    """Seconds, from `12h`, `30d` or `8w`.

    Raises:
        ConfigError: It is none of these.
    """
    return _amount("--older_than", given[:-1], _SECONDS.get(given[-1:].lower()), given, "30d")


def read_size(given: str) -> int:
    """Bytes, from `500M`, `10G` or `1.5GB`.

    Raises:
        ConfigError: It is none of these.
    """
    text = given.upper().removesuffix("B").removesuffix("I")
    unit = text[-1:] if text[-1:] in _BYTES else ""
    number = text[: len(text) - len(unit)]
    return round(_amount("--max_size", number, _BYTES[unit], given, "10G"))


def _amount(flag: str, number: str, unit: float | None, given: str, example: str) -> float:
    try:
        amount = float(number) * (unit or float("nan"))
    except ValueError:
        amount = float("nan")
    if not 0 <= amount < float("inf"):
        raise ConfigError(f"{flag} {given}: not understood", f"write it as {example}")
    return amount


def choose_to_prune(
    journals: Sequence[JournalFile],
    now: float,
    older_than: float | None = None,
    model: str | None = None,
    max_size: int | None = None,
) -> list[JournalFile]:
    """Those that every given condition names; the longest unused first.

    Args:
        journals: All there are.
        now: Seconds since 1970.
        older_than: Not used for so many seconds.
        model: Part of the model's name, or a pattern with * for all of it.
        max_size: Of those that the other conditions leave to choose from, as many go as make all
            journals together at most so many bytes.
    """
    chosen = [
        one
        for one in sorted(journals, key=lambda one: one.last_used)
        if not one.is_used
        and (older_than is None or now - one.last_used > older_than)
        and (model is None or any(_matches(name, model) for name in one.models))
    ]
    if max_size is None:
        return chosen
    left = sum(one.size for one in journals)
    going = []
    for one in chosen:
        if left <= max_size:
            break
        going.append(one)
        left -= one.size
    return going


def _matches(name: str, wanted: str) -> bool:
    if any(mark in wanted for mark in "*?["):
        return fnmatchcase(name.lower(), wanted.lower())
    return wanted.lower() in name.lower()


def remove_journal(path: Path) -> None:
    """Remove a journal that no run uses.

    Raises:
        JournalError: A run uses it, or it cannot be removed.
    """
    with journal_faults(path), sole_use(path):
        # The log first: left alone, it would be taken for that of the next file of this name.
        for side in SIDES:
            path.with_name(path.name + side).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
