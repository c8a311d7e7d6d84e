"""Show control characters as text: what is printed never speaks to the terminal.

Every print to a console goes through `visible`; formats for machines (JSON, Parquet) stay exact.
Imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.sandbox.printable import visible

__all__ = ["made_visible", "visible"]


def made_visible(value: Any) -> Any:
    """A document for printing: `visible` over every text in it, keys included."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {made_visible(key): made_visible(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(made_visible(one) for one in value)
    return value
