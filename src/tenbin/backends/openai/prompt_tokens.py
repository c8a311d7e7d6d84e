"""The tokens of a prompt with their log-probabilities, which servers show in one of two shapes.

`echo` repeats the prompt before the generated text, with log-probabilities of both; vLLM's
`prompt_logprobs` lists them separately. What does not add up is an error, never patched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tenbin.backends.openai.http import BadAnswerError, number_of, only_choice, read_count

Method = Literal["echo", "prompt_logprobs"]

_ABOVE_ZERO = 1e-3
"""Rounding error that is allowed for a log-probability near 0."""
_STANDS_FOR_INFINITY = -9999.0
"""What vLLM writes for minus infinity, which JSON cannot express."""


@dataclass(frozen=True, slots=True)
class PromptToken:
    """One token of a prompt."""

    text: str
    logprob: float | None
    """None for the first token, which follows nothing, and where the server says null, which stands
    for a number that is not finite."""
    is_top: bool
    """Whether no other token was likelier at this position."""


class NotShownError(BadAnswerError):
    """The answer does not hold what was requested; the message says what is missing."""

    kind = "not_shown"


def logprob_fields(method: Method) -> dict[str, Any]:
    """Fields of a call that request the prompt's log-probabilities."""
    # One token is generated too: some servers accept no smaller limit.
    if method == "echo":
        return {"echo": True, "logprobs": 1}
    return {"prompt_logprobs": 1}


def read_tokens(
    method: Method, body: Mapping[str, Any], ids: Sequence[int] | None
) -> list[PromptToken]:
    """Read the prompt's tokens from an answer.

    Args:
        method: How they were requested.
        body: The answer.
        ids: The tokens that were sent; None if a text was.

    Raises:
        NotShownError: They are missing, incomplete, or not log-probabilities. The caller checks
            whether those that count are finite.
        BadAnswerError: They do not have the shape of tokens.
    """
    choice = only_choice(body)
    if method == "prompt_logprobs":
        tokens = _listed(choice, ids)
    else:
        tokens = _echoed(choice, _counted(body) if ids is None else len(ids), ids is not None)
    for token in tokens[1:]:
        if token.logprob is not None and token.logprob > _ABOVE_ZERO and token.logprob != math.inf:
            raise NotShownError(f"{token.logprob!r} is not a log-probability")
    return tokens


def _check_count(came: int, count: int, most: int) -> None:
    if not count <= came <= most:
        raise NotShownError(f"{came:,} log-probabilities came for {count:,} tokens")


def _echoed(choice: Mapping[str, Any], count: int, is_exact: bool) -> list[PromptToken]:
    shown = choice.get("logprobs")
    texts = shown.get("tokens") if isinstance(shown, Mapping) else None
    values = shown.get("token_logprobs") if isinstance(shown, Mapping) else None
    tops = shown.get("top_logprobs") if isinstance(shown, Mapping) else None
    if not isinstance(texts, list) or not isinstance(values, list) or len(texts) != len(values):
        raise NotShownError("the prompt was not echoed with log-probabilities")
    if len(values) < 2 or values[0] is not None:
        # Generated text has a log-probability from its first token on; a prompt has not.
        raise NotShownError("echo was accepted and ignored: only the generated text came back")
    if not isinstance(tops, list) or len(tops) != len(texts):
        raise NotShownError("the likeliest tokens were not shown")
    # One token was to be generated after the prompt: with more, and no text to compare with, they
    # could not be distinguished from the prompt's own.
    _check_count(len(values), count, count + 1 if is_exact else len(values))
    tokens = [PromptToken(_text(texts[0]), None, False)]
    for text, value, top in zip(texts[1:count], values[1:count], tops[1:count], strict=True):
        if not isinstance(top, Mapping) or not top:
            raise NotShownError("the likeliest tokens were not shown")
        own = _logprob(value)
        tokens.append(PromptToken(_text(text), own, _is_top(own, top.values())))
    return tokens


def _is_top(value: float | None, others: Iterable[Any]) -> bool:
    numbers = map(number_of, others)
    return value is not None and all(one is None or value >= one for one in numbers)


def _listed(choice: Mapping[str, Any], ids: Sequence[int] | None) -> list[PromptToken]:
    shown = choice.get("prompt_logprobs")
    if not isinstance(shown, list) or len(shown) < 2 or shown[0] is not None:
        raise NotShownError("prompt_logprobs was accepted and ignored")
    if ids is not None:
        _check_count(len(shown), len(ids), len(ids))
    tokens = [PromptToken("", None, False)]
    for position, entry in enumerate(shown[1:], start=1):
        if not isinstance(entry, Mapping) or not entry:
            raise NotShownError(f"token {position} has no log-probability")
        if not all(isinstance(one, Mapping) for one in entry.values()):
            raise BadAnswerError(f"token {position} is not listed with its log-probability")
        # The prompt's own token comes first, the likeliest one after it.
        found = entry.get(str(ids[position]) if ids is not None else next(iter(entry)))
        if found is None:
            raise NotShownError(f"token {position} is not the one that was sent")
        own = _logprob(found.get("logprob"))
        is_top = _is_top(own, (one.get("logprob") for one in entry.values()))
        decoded = found.get("decoded_token")
        tokens.append(PromptToken("" if decoded is None else _text(decoded), own, is_top))
    return tokens


def _counted(body: Mapping[str, Any]) -> int:
    """Number of tokens of the prompt, as counted by the server."""
    usage = body.get("usage")
    counted = read_count(usage.get("prompt_tokens")) if isinstance(usage, Mapping) else None
    if counted is None:
        raise NotShownError("the server does not count the prompt's tokens")
    return counted


def _logprob(value: Any) -> float | None:
    """The log-probability of one of the prompt's tokens; None if it is not a number."""
    found = number_of(value)
    return -math.inf if found is not None and found <= _STANDS_FOR_INFINITY else found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadAnswerError("a token of the prompt is not text")
    return value


def scored_tokens(tokens: Sequence[PromptToken], text: str, border: int) -> list[PromptToken]:
    """The tokens after a border in a text.

    Args:
        tokens: Those of the whole text, possibly with a token of the server's own in front.
        text: The text.
        border: Number of characters before the scored part. A token across the border is scored.

    Raises:
        NotShownError: The tokens do not add up to the text.
    """
    texts = [token.text for token in tokens]
    # The first one may be a BOS that the server adds, or be listed without its text.
    if "".join(texts) == text:
        at, first = 0, 0
    elif text.endswith(rest := "".join(texts[1:])):
        at, first = len(text) - len(rest), 1
        if at > 0 and texts[0]:
            raise NotShownError(_NOT_ADDING_UP)
    else:
        raise NotShownError(_NOT_ADDING_UP)
    found = []
    for token in tokens[first:]:
        start, at = at, at + len(token.text)
        # A token that begins a character and does not complete it has no text of its own.
        if start >= border or at > border:
            found.append(token)
    if tokens[0].logprob is None and any(token is tokens[0] for token in found):
        raise NotShownError("the first token has no log-probability")
    return found


_NOT_ADDING_UP = (
    "the server's tokens do not add up to the text, as where a character spans two of them, so the"
    " border is not known: name the model's tokenizer with tokenizer=PATH"
)
