"""Rows as plain values, for callers that do not take `Sample` yet."""

from __future__ import annotations

from typing import Any

from tenbin.results.samples import failure_of, make_sample

__all__ = ["failure_of", "sample_row"]


def sample_row(*arguments: Any) -> dict[str, Any]:
    """A judged document as plain values."""
    return make_sample(*arguments).to_json()
