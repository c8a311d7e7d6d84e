"""The retry policy: what a refusal means, and how long to wait before another attempt."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from tenbin.backends.openai.http import BadAnswerError, cleaned
from tenbin.backends.openai.secret import Secret

_TRANSIENT = frozenset({408, 409, 425, 429})
_PERMANENT_FAULTS = frozenset({501, 505})
"""Server errors that another attempt would meet again."""
_OVERLOADED = frozenset({429, 503})
_REMEDIES: Mapping[int, str] = {
    401: "export the key as OPENAI_API_KEY, or name its variable with api_key_env=NAME",
    403: "the key may not use this model: check the account, or another key by api_key_env=NAME",
    404: "check base_url (it usually ends in /v1), model, and whether the server speaks"
    " completions (openai) or chats (openai-chat)",
    405: "check base_url: it usually ends in /v1",
}
_OVERFLOW = re.compile(
    r"context[ _]?(?:length|size|window)|maximum (?:context|input|model|allowed) ?(?:length)?"
    r"|max_model_len|too many tokens|prompt is too long|longer than the maximum",
    re.IGNORECASE,
)
_LONGEST_WORDS = 300
_LONGEST_READ = 20_000
"""Characters of a message that are examined."""
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A failed call, classified."""

    meaning: Literal["transient", "permanent", "fatal"]
    """`transient`: worth another attempt; `permanent`: this request's own fault; `fatal`: nothing
    more can be asked of this server."""
    kind: str
    """The Failure's kind."""
    message: str
    hint: str = ""
    overloaded: bool = False
    """Whether fewer concurrent calls would help."""


def classify_refusal(status: int, text: str, secret: Secret, elsewhere: str = "") -> Refusal:
    """Classify an error response.

    Args:
        status: The HTTP status, or the code inside an error that came with status 200.
        text: The body.
        secret: The key that was sent; it is removed from every message.
        elsewhere: The address that a redirect points to.
    """
    words, codes = read_error(text, secret)
    said = f"HTTP {status}: {words}" if words else f"HTTP {status}"
    if "insufficient_quota" in codes or status == 402:
        hint = (
            "the account has no credit left: see to it, and run the same command again; without"
            " --no_cache every answer so far is kept"
        )
        return Refusal("fatal", "quota", said, hint)
    if status in _TRANSIENT or (status >= 500 and status not in _PERMANENT_FAULTS):
        return Refusal("transient", "server", said, overloaded=status in _OVERLOADED)
    if status == 401 and secret:
        hint = f"the key in {secret.variable} is not accepted: check it, or name another variable"
        return Refusal("fatal", "server", said, f"{hint} with api_key_env=NAME")
    if status in _REMEDIES:
        return Refusal("fatal", "server", said, _REMEDIES[status])
    if 300 <= status < 400:
        there = (
            one_line(secret.scrubbed(elsewhere[:_LONGEST_READ])) or "an address it does not name"
        )
        # The key and the prompts are only for the address that the user named.
        return Refusal("fatal", "server", f"HTTP {status}: it points to {there}, and redirects are"
                       " not followed", "if you trust that address, name it with base_url"
                       )  # fmt: skip
    if status == 413 or _OVERFLOW.search(f"{words} {' '.join(codes)}"):
        return Refusal("permanent", "context_overflow", said)
    return Refusal("permanent", "refused", said)


def read_error(text: str, secret: Secret) -> tuple[str, frozenset[str]]:
    """Message of an error body on one line without the key, and the codes and types it names."""
    try:
        body = cleaned(json.loads(text), lambda said: secret.scrubbed(said[:_LONGEST_READ]))
    except (ValueError, RecursionError, BadAnswerError):
        return one_line(secret.scrubbed(_TAG.sub(" ", text[:_LONGEST_READ]))), frozenset()
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return one_line(str(error)), frozenset()
    codes = frozenset(str(error[name]) for name in ("code", "type") if error.get(name))
    return one_line(_words_of(error)), codes


def _words_of(error: Mapping[str, Any]) -> str:
    for name in ("message", "detail", "msg", "error"):
        if error.get(name):
            found = error[name]
            return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return json.dumps(error, ensure_ascii=False)


def one_line(text: str, longest: int = _LONGEST_WORDS) -> str:
    """A server's message on one line, with control characters shown as escapes."""
    line = " ".join(text[:_LONGEST_READ].split())
    line = "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in line)
    return line if len(line) <= longest else line[: longest - 1] + "…"


LONGEST_WAIT = 60.0


@dataclass(slots=True)
class RetryPolicy:
    """Exponential back-off between attempts, with jitter so that calls do not return together."""

    retries: int
    first: float = 0.5
    longest: float = LONGEST_WAIT
    generator: random.Random = field(default_factory=lambda: random.Random(0))

    def delay_before(self, attempt: int, asked_for: float | None) -> float:
        """Seconds before the next attempt.

        Args:
            attempt: Number of attempts so far.
            asked_for: Seconds from the server's Retry-After header; never shortened.
        """
        spread = self.generator.random()
        if asked_for is not None:
            return asked_for + self.first * spread
        longest = min(self.longest, self.first * 2.0 ** (attempt - 1))
        return longest * (0.5 + 0.5 * spread)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds of a Retry-After header, which holds a number or a date; None without one.

    Args:
        headers: The response's headers; names are looked up in lower case.
        now: The current time, for dates.
    """
    written = headers.get("retry-after", "").strip()
    if not written:
        return None
    try:
        return max(0.0, float(written)) if float(written) < float("inf") else None
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(written)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return max(0.0, (moment - (now or datetime.now(timezone.utc))).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None
