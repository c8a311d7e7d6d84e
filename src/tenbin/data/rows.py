"""A row as it was read, and how values are written in messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One row and where it was read."""

    values: Mapping[str, Any]
    origin: str


def describe_value(value: Any) -> str:
    """Write a value for a message, cut to a readable length."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."
