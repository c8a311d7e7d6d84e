"""The file that says which rows of several languages hold the same item.

JSON: language → for each row of that language's file, the item it holds: a row number of the
reference language, or any name, or null for a row without counterpart. A text under any other key,
such as `note`, is for people. Knows the file's shape, not whether it fits the rows.
"""

from __future__ import annotations

from pathlib import Path

from tenbin.errors import ConfigError
from tenbin.files.json_text import parse_json


def read_alignment(path: str | Path) -> dict[str, tuple[str | None, ...]]:
    """Language → the items of its rows; row numbers become `row-N`.

    Raises:
        ConfigError: The file cannot be read or is not of that shape.
    """
    try:
        loaded = parse_json(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"--alignment {path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"--alignment {path}: not valid JSON: {error}") from error
    if not isinstance(loaded, dict):
        raise ConfigError(f"--alignment {path}: not an object of languages")
    found: dict[str, tuple[str | None, ...]] = {}
    for language, entries in loaded.items():
        if isinstance(entries, str):
            continue  # a note
        if not isinstance(entries, list):
            raise ConfigError(f"--alignment {path}: {language} is neither a list nor a note")
        found[language] = tuple(
            _item(entry, f"--alignment {path}: {language}, entry {at}")
            for at, entry in enumerate(entries)
        )
    return found


def _item(entry: object, where: str) -> str | None:
    if entry is None:
        return None
    if isinstance(entry, bool) or not isinstance(entry, int | str) or entry == "":
        raise ConfigError(f"{where}: {entry!r} is no row number, name or null")
    if isinstance(entry, int):
        if entry < 0:
            raise ConfigError(f"{where}: rows are counted from 0, {entry} is none")
        return f"row-{entry}"
    return entry
