"""What a server's refusal means: worth another try, this document's own fault, or the run's end.

Knows status codes and the words of error bodies; sends nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tenbin.backends.openai.parsing import BadAnswerError, cleaned
from tenbin.backends.openai.secret import Secret

_PASSING = frozenset({408, 409, 425, 429})
_LASTING_FAULTS = frozenset({501, 505})
"""Of the server's own faults those that another try meets again."""
_OVERBURDENED = frozenset({429, 503})
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
"""Characters of a message that are looked at."""
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One refusal, understood."""

    meaning: Literal["passing", "refused", "fatal"]
    kind: str
    """What a Failure is called by."""
    message: str
    hint: str = ""
    overburdened: bool = False
    """Whether fewer calls at a time would help."""


def judge_refusal(status: int, text: str, secret: Secret, elsewhere: str = "") -> Verdict:
    """What an answer other than a good one means.

    Args:
        status: The HTTP status, or the code inside an error that came with status 200.
        text: The body.
        secret: The key that was sent; it is taken out of every message.
        elsewhere: The address that a redirect points to.
    """
    words, codes = read_error(text, secret)
    said = f"HTTP {status}: {words}" if words else f"HTTP {status}"
    if "insufficient_quota" in codes or status == 402:
        hint = (
            "the account has no credit left: see to it, and run the same command again; without"
            " --no_cache every answer so far is kept"
        )
        return Verdict("fatal", "quota", said, hint)
    if status in _PASSING or (status >= 500 and status not in _LASTING_FAULTS):
        return Verdict("passing", "server", said, overburdened=status in _OVERBURDENED)
    if status == 401 and secret:
        hint = f"the key in {secret.variable} is not taken: check it, or name another variable"
        return Verdict("fatal", "server", said, f"{hint} with api_key_env=NAME")
    if status in _REMEDIES:
        return Verdict("fatal", "server", said, _REMEDIES[status])
    if 300 <= status < 400:
        there = (
            one_line(secret.scrubbed(elsewhere[:_LONGEST_READ])) or "an address it does not name"
        )
        # The key and the prompts are for the address that the user named, and for no other.
        return Verdict("fatal", "server", f"HTTP {status}: it points to {there}, and redirects are"
                       " not followed", "if you trust that address, name it with base_url"
                       )  # fmt: skip
    if status == 413 or _OVERFLOW.search(f"{words} {' '.join(codes)}"):
        return Verdict("refused", "context_overflow", said)
    return Verdict("refused", "refused", said)


def read_error(text: str, secret: Secret) -> tuple[str, frozenset[str]]:
    """The words of an error body on one line without the key, and the codes and types it names."""
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
    """What a server said as one line for a terminal, control characters shown as escapes."""
    line = " ".join(text[:_LONGEST_READ].split())
    line = "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in line)
    return line if len(line) <= longest else line[: longest - 1] + "…"
