"""Numbers that go with entries of `--tasks`: none, one for all, or one each."""

from __future__ import annotations

from collections.abc import Sequence

from tenbin.errors import ConfigError


def pair_numbers(name: str, numbers: Sequence[float], entries: Sequence[str]) -> list[float | None]:
    """One number per entry: none given, one for all, or as many as entries.

    Raises:
        ConfigError: Showing the pairing, when the counts differ.
    """
    if not numbers:
        return [None] * len(entries)
    if len(numbers) == 1:
        return [numbers[0]] * len(entries)
    if len(numbers) == len(entries):
        return list(numbers)
    width = max(len(entry) for entry in entries)
    rows = []
    for position in range(max(len(entries), len(numbers))):
        entry = entries[position] if position < len(entries) else "(no task)"
        number = f"{numbers[position]:g}" if position < len(numbers) else "(no number)"
        rows.append(f"    {entry:<{width}}  {number}")
    raise ConfigError(
        f"--{name} gives {len(numbers)} numbers for {_counted(len(entries))} of --tasks:\n"
        + "\n".join(rows),
        "give one number for all, or one per entry in the order written; "
        "a pattern or a group counts as one entry",
    )


def _counted(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries} entries"
