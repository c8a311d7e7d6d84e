"""Prompts in tokens, and what is known of a tokenizer: what `tenbin doctor` gets from a backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What is known of a model's tokenizer before any text is tokenized."""

    kind: str
    """The tokenizer's class."""
    size: int
    """How many tokens it has."""
    max_length: int
    """Tokens that the model takes."""
    encoding: Literal["joint", "separate"]
    bos: int | None
    """The beginning-of-sequence token, if there is one."""
    prefix: tuple[int, ...]
    """Tokens put in front of every prompt."""
    own_prefix: tuple[int, ...]
    """Tokens that the tokenizer would put there by itself."""
    unknown: int | None
    """The token of characters that the vocabulary lacks."""
    added: Mapping[str, bool] = field(default_factory=dict)
    """Words that are always one token → whether they count as special."""
    chat_template: str | None = None
    names: tuple[str, ...] = ()
    """Names of the model: as the user wrote it, and its file."""


@dataclass(frozen=True, slots=True)
class TokenizedPrompt:
    """One prompt in tokens, as an engine would get it and as its text alone is tokenized."""

    document: str
    prompt: tuple[int, ...]
    """The prompt's text, including the tokens put in front."""
    context: tuple[int, ...]
    """What precedes the answers; joint encoding leaves out white space at its end."""
    answers: tuple[tuple[int, ...], ...] = ()
    """What is scored, one entry per continuation; none for generation and rolling requests."""
    wholes: tuple[tuple[int, ...], ...] = ()
    """Prompt and continuation tokenized as one text, one entry per continuation."""
    windows: tuple[tuple[int, ...], ...] = ()
    """Windows of a rolling log-likelihood; the last token of each is only predicted."""
    new_tokens: int = 0
    """Most tokens that are generated."""
    repeats: int = 1
    """How many answers are sampled."""
    truncated: int = 0
    """Tokens truncated from the left."""
    failure: str | None = None
    """Why an engine would refuse it: the kind of its Failure."""
