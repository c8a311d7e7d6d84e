"""What a backend answers, one type per kind of request, and why a request failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tenbin.records.quick import quick

Finish = Literal["stop", "end", "length"]
"""What ended a text: a stop string, the model's own end, or the token limit."""


ThinkingEnd = Literal["none", "closed", "budget", "open"]
"""How the thinking section ended: there was none, the model closed it, its budget was used up and
it was closed for the model, or it was never closed and no answer follows."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a server counted for one answer, its repeated tries included: what is paid for."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    """Those of the prompt that the server had in its cache."""
    calls: int = 1


@quick
@dataclass(frozen=True, slots=True)
class Scores:
    """The answer to a Score, one entry a continuation."""

    logprobs: tuple[float, ...]
    token_counts: tuple[int, ...]
    greedy: tuple[bool, ...]
    """Whether greedy decoding would have given exactly this continuation."""
    truncated: int = 0
    """Tokens cut from the left of the longest row."""
    usage: Usage | None = None
    """None where no server counted."""


@quick
@dataclass(frozen=True, slots=True)
class Picked:
    """The answer to a Score by a model that names one choice and shows no likelihood of texts."""

    choice: int | None
    """Index of the continuation whose label is the likeliest first token; None where `text` is to
    be read, which metrics do."""
    way: Literal["letter_logprobs", "generated"]
    """By the likeliest first token among the labels of the choices, or read out of its text."""
    text: str
    """What it wrote."""
    logprobs: tuple[float | None, ...] = ()
    """Of the labels, where the server shows them; None: not among those shown."""
    usage: Usage | None = None
    labels: tuple[str, ...] = ()
    """What the choices are called: letters, or what the prompt calls them."""
    added: str = ""
    """What was put behind the prompt, a list of the choices and an instruction; empty where the
    prompt itself shows labels and was asked as it is."""


@quick
@dataclass(frozen=True, slots=True)
class Text:
    """The answer to a Generate."""

    text: str
    finish: Finish
    token_count: int
    """Of the answer, without thinking."""
    truncated: int = 0
    thinking: str = ""
    """The thinking section, without its marks."""
    thinking_tokens: int = 0
    """What the model wrote before its answer, marks included."""
    thinking_end: ThinkingEnd = "none"
    """`open`: the answer is empty, and `finish` says what ended the thinking section."""
    usage: Usage | None = None


@quick
@dataclass(frozen=True, slots=True)
class Rolled:
    """The answer to a Rolling."""

    logprob: float
    token_count: int
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer, and why."""

    kind: str
    message: str
    retryable: bool = False


Response: TypeAlias = Scores | Picked | Text | Rolled | Failure
