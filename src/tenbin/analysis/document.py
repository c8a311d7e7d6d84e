"""The JSON documents of the analyses: their records as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

ABSENT = {"absent": True}
"""Metadata of a field whose key is left out of the document if the value is None."""
FLAT = {"flat": True}
"""Metadata of a field that is a record itself, whose keys stand beside the others."""


def to_json(value: Any) -> Any:
    """A record, and every record in it, as plain values."""
    if is_dataclass(value) and not isinstance(value, type):
        return _keys(value)
    if isinstance(value, Mapping):
        return {name: to_json(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(entry) for entry in value]
    return value


def _keys(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if "flat" in one.metadata:
            found.update(to_json(value))
        elif value is not None or "absent" not in one.metadata:
            found[one.name] = to_json(value)
    return found
