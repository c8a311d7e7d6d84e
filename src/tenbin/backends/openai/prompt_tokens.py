"""A prompt's tokens with their log-probabilities, as servers show them in two ways.

`echo` repeats the prompt in front of what is written, with log-probabilities of both; vLLM's
`prompt_logprobs` lists them apart. Knows these shapes; knows no request. What does not add up is
said, never patched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tenbin.backends.openai.parsing import BadAnswerError, number_of, only_choice, read_count

Way = Literal["echo", "prompt_logprobs"]

_ABOVE_ZERO = 1e-3
"""Rounding noise of a log-probability of nearly 0."""
_STANDS_FOR_INFINITY = -9999.0
"""What vLLM writes for minus infinity, which JSON has no number for."""


@dataclass(frozen=True, slots=True)
class PromptToken:
    """One token of a prompt."""

    text: str
    logprob: float | None
    """None for the first one, which follows nothing, and where the server says null: so servers
    write what is not finite, which JSON has no word for."""
    is_top: bool
    """Whether no token was likelier here."""


class NotShownError(BadAnswerError):
    """The answer does not hold what was asked for; the message says what is missing."""

    kind = "not_shown"


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
        BadAnswerError: What is there are no tokens.
    """
    choice = only_choice(body)
    if way == "prompt_logprobs":
        tokens = _listed(choice, ids)
    else:
        tokens = _echoed(choice, _counted(body) if ids is None else len(ids), ids is not None)
    for token in tokens[1:]:
        if token.logprob is not None and token.logprob > _ABOVE_ZERO and token.logprob != math.inf:
            raise NotShownError(f"{token.logprob!r} is no log-probability")
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
        # What is written has a log-probability from its first token on; a prompt has not.
        raise NotShownError("echo was taken and ignored: only what was written came back")
    if not isinstance(tops, list) or len(tops) != len(texts):
        raise NotShownError("the likeliest tokens were not shown")
    # One token was to be written behind the prompt: with more of them, and no text to go by, the
    # prompt's own could not be told from them.
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
        raise NotShownError("prompt_logprobs was taken and ignored")
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
    """How many tokens the prompt has, as the server counted them."""
    usage = body.get("usage")
    counted = read_count(usage.get("prompt_tokens")) if isinstance(usage, Mapping) else None
    if counted is None:
        raise NotShownError("the server does not count the prompt's tokens")
    return counted


def _logprob(value: Any) -> float | None:
    """The log-probability of one of the prompt's own tokens; None: it is no number."""
    found = number_of(value)
    return -math.inf if found is not None and found <= _STANDS_FOR_INFINITY else found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadAnswerError("a token of the prompt is no text")
    return value


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
