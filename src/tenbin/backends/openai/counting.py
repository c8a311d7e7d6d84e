"""What a server counted for its answers: tokens read, written, cached, thought.

Knows bodies of answers. What a server does not count is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tenbin.backends.openai.parsing import read_count
from tenbin.backends.openai.transport import Reply
from tenbin.records import Usage

NOTHING = Usage(0, 0, 0, calls=0)


def usage_of(reply: Reply) -> Usage | None:
    """What one answer took; None where the server does not say."""
    counted = reply.body.get("usage")
    if not isinstance(counted, Mapping):
        return None
    read, written = _number(counted, "prompt_tokens"), _number(counted, "completion_tokens")
    if read is None:
        return None
    cached = _number(counted.get("prompt_tokens_details"), "cached_tokens")
    return Usage(read, written or 0, cached or 0, reply.calls)


def thinking_tokens_of(reply: Reply) -> int | None:
    """Tokens of thought among those written; None where the server does not say."""
    counted = reply.body.get("usage")
    details = counted.get("completion_tokens_details") if isinstance(counted, Mapping) else None
    return _number(details, "reasoning_tokens")


def joined(parts: Iterable[Usage | None]) -> Usage | None:
    """What several calls took together; None where one of them was not counted."""
    total = None
    for part in parts:
        if part is None:
            return None
        total = part if total is None else added(total, part)
    return total


def added(total: Usage, part: Usage | None) -> Usage:
    """A total with one call more; what was not counted adds nothing."""
    if part is None:
        return total
    return Usage(
        total.prompt_tokens + part.prompt_tokens,
        total.completion_tokens + part.completion_tokens,
        total.cached_tokens + part.cached_tokens,
        total.calls + part.calls,
    )


def _number(values: Any, name: str) -> int | None:
    return read_count(values.get(name)) if isinstance(values, Mapping) else None
