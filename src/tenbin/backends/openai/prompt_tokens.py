"""A prompt's tokens with their log-probabilities, as servers show them in two ways.

`echo` repeats the prompt in front of what is written, with log-probabilities of both; vLLM's
`prompt_logprobs` lists them apart. Knows these shapes; knows no request. What does not add up is
said, never patched.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Way = Literal["echo", "prompt_logprobs"]

_ABOVE_ZERO = 1e-3
"""Rounding noise of a log-probability of nearly 0."""


@dataclass(frozen=True, slots=True)
class PromptToken:
    """One token of a prompt."""

    text: str
    logprob: float | None
    """None for the first one, which follows nothing, and where the server says null: so servers
    write what is not finite, which JSON has no word for."""
    is_top: bool
    """Whether no token was likelier here."""


class NotShownError(Exception):
    """The answer does not hold what was asked for; the message says what is missing."""


def asking_fields(way: Way) -> dict[str, Any]:
    """What is asked for besides the prompt."""
    # One token is written too: some servers take no smaller limit.
    if way == "echo":
        return {"echo": True, "logprobs": 1}
    return {"prompt_logprobs": 1}


def read_tokens(way: Way, body: Mapping[str, Any], ids: Sequence[int] | None) -> list[PromptToken]:
    """The prompt's tokens out of an answer.

    Args:
        way: How they were asked for.
        body: The answer.
        ids: The tokens that were sent, where it was not a text.

    Raises:
        NotShownError: They are not there, not all of them, or no log-probabilities. Whether they
            are finite is for the caller to see, who knows which of them count.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        raise NotShownError("the answer holds no choices")
    tokens = _echoed(choice) if way == "echo" else _listed(choice, ids)
    count = len(ids) if ids is not None else _counted(body, tokens, way)
    if len(tokens) < count:
        raise NotShownError(f"{len(tokens)} log-probabilities came for {count} tokens")
    kept = tokens[:count]
    for token in kept[1:]:
        if token.logprob is not None and token.logprob > _ABOVE_ZERO and token.logprob != math.inf:
            raise NotShownError(f"{token.logprob!r} is no log-probability")
    return kept


def _echoed(choice: Mapping[str, Any]) -> list[PromptToken]:
    shown = choice.get("logprobs")
    texts = shown.get("tokens") if isinstance(shown, Mapping) else None
    values = shown.get("token_logprobs") if isinstance(shown, Mapping) else None
    tops = shown.get("top_logprobs") if isinstance(shown, Mapping) else None
    if not isinstance(texts, list) or not isinstance(values, list) or len(texts) != len(values):
        raise NotShownError("the prompt was not echoed with log-probabilities")
    if len(values) < 2 or values[0] is not None:
        # What is written has a log-probability from its first token on; a prompt has not.
        raise NotShownError("echo was taken and ignored: only what was written came back")
    if not isinstance(tops, list) or len(tops) != len(texts):
        raise NotShownError("the likeliest tokens were not shown")
    return [
        PromptToken(str(text), number_of(value), _is_top(number_of(value), top))
        for text, value, top in zip(texts, values, tops, strict=True)
    ]


def _is_top(value: float | None, top: Any) -> bool:
    others = [number_of(one) for one in top.values()] if isinstance(top, Mapping) else []
    return value is not None and all(one is None or value >= one for one in others)


def _listed(choice: Mapping[str, Any], ids: Sequence[int] | None) -> list[PromptToken]:
    shown = choice.get("prompt_logprobs")
    if not isinstance(shown, list) or len(shown) < 2 or shown[0] is not None:
        raise NotShownError("prompt_logprobs was taken and ignored")
    tokens = [PromptToken("", None, False)]
    for position, entry in enumerate(shown[1:], start=1):
        if not isinstance(entry, Mapping) or not entry:
            raise NotShownError(f"token {position} has no log-probability")
        # The prompt's own token comes first, the likeliest one after it.
        own = str(ids[position]) if ids is not None and position < len(ids) else next(iter(entry))
        found = entry.get(own)
        if not isinstance(found, Mapping):
            raise NotShownError(f"token {position} is not the one that was sent")
        value = number_of(found.get("logprob"))
        others = [
            number_of(one.get("logprob")) for one in entry.values() if isinstance(one, Mapping)
        ]
        is_top = value is not None and all(one is None or value >= one for one in others)
        tokens.append(PromptToken(str(found.get("decoded_token") or ""), value, is_top))
    return tokens


def _counted(body: Mapping[str, Any], tokens: Sequence[PromptToken], way: Way) -> int:
    """How many of the tokens are the prompt's: all that are listed, or as many as were counted."""
    if way == "prompt_logprobs":
        return len(tokens)
    usage = body.get("usage")
    counted = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    if not isinstance(counted, int):
        raise NotShownError("the server does not count the prompt's tokens")
    return counted


def number_of(value: Any) -> float | None:
    """A number out of JSON, infinite where it is too large; None: it is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def scored_tokens(tokens: Sequence[PromptToken], text: str, border: int) -> list[PromptToken]:
    """The tokens that stand behind a border in a text.

    Args:
        tokens: Those of the whole text, perhaps with a token of the server's own in front.
        text: The text.
        border: Characters in front of what is scored. A token across it is scored.

    Raises:
        NotShownError: The tokens do not add up to the text.
    """
    texts = [token.text for token in tokens]
    # The first one: a beginning that the server adds, or one that is not listed with its text.
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
        # A token that begins a character and does not end it has no text of its own.
        if start >= border or at > border:
            found.append(token)
    if tokens[0].logprob is None and any(token is tokens[0] for token in found):
        raise NotShownError("the first token of all has no log-probability")
    return found


_NOT_ADDING_UP = (
    "the server's tokens do not add up to the text, as where a character spans two of them, so the"
    " border is not known: name the model's tokenizer with tokenizer=PATH"
)
