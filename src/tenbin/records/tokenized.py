"""How a tokenizer reads prompts, as records: what backends tell diagnosis.

Plain values only: this module knows no tokenizer and no library, and imports no sibling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What is known of a model's tokenizer before any text is read."""

    kind: str
    """The tokenizer's class."""
    size: int
    """How many tokens it has."""
    max_length: int
    """Tokens that the model takes."""
    encoding: Literal["joint", "separate"]
    bos: int | None
    """The beginning-of-sequence token, where there is one."""
    prefix: tuple[int, ...]
    """What is put in front of every prompt."""
    own_prefix: tuple[int, ...]
    """What the tokenizer would put there by itself."""
    unknown: int | None
    """The token that stands for what the vocabulary lacks."""
    added: Mapping[str, bool] = field(default_factory=dict)
    """Words that are cut out of any text as one token → whether they count as special."""
    chat_template: str | None = None
    names: tuple[str, ...] = ()
    """What the model goes by: as the user wrote it, and its file."""


@dataclass(frozen=True, slots=True)
class TokenizedPrompt:
    """One prompt in tokens, as the engine would ask it and as its text alone would be read."""

    document: str
    prompt: tuple[int, ...]
    """The prompt's text, what is put in front included."""
    context: tuple[int, ...]
    """What the engine puts before the answers; joint encoding leaves white space at its end out."""
    answers: tuple[tuple[int, ...], ...] = ()
    """What the engine scores, one entry a continuation; none for generation and whole texts."""
    wholes: tuple[tuple[int, ...], ...] = ()
    """Prompt and continuation read as one text, one entry a continuation."""
    windows: tuple[tuple[int, ...], ...] = ()
    """A text that is weighed whole, as it is cut; the last token of each is predicted only."""
    new_tokens: int = 0
    """How many tokens may be generated."""
    repeats: int = 1
    """How many answers are drawn."""
    truncated: int = 0
    """Tokens that would be cut from the left."""
    failure: str | None = None
    """Why the engine would refuse to ask it: the kind of its Failure."""
