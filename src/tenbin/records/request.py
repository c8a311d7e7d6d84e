"""What a backend is asked: continuations to score, a text to generate, a text to measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tenbin.records.task import Sampling, Thinking

Place: TypeAlias = tuple[int, str, str]
"""A request's kind by number, what the model reads before anything is told apart, and the key."""


@dataclass(frozen=True, slots=True)
class Score:
    """Ask for the log-likelihood of each continuation of one prompt."""

    key: str
    prompt: str
    continuations: tuple[str, ...]

    @property
    def place(self) -> Place:
        """Where it comes among others in a walk through the tree of their beginnings."""
        return 0, self.prompt, self.key


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask for a continuation, cut before the first stop string."""

    key: str
    prompt: str
    stop: tuple[str, ...]
    max_gen_toks: int
    sampling: Sampling | None = None
    """None: greedy decoding."""
    seed: int = 0
    """Where an answer is drawn: decides it, together with prompt and settings. 63 bits."""
    sample: int = 0
    """Which of several answers drawn to one prompt; for people, since `seed` differs anyway."""
    thinking: Thinking | None = None
    """None: all that is written is the answer. Else stop strings and `max_gen_toks` hold for what
    follows the thought."""

    @property
    def room(self) -> int:
        """Tokens that may be written in all, thought and answer."""
        return self.max_gen_toks + (self.thinking.room if self.thinking else 0)

    @property
    def place(self) -> Place:
        """Where it comes among others in a walk through the tree of their beginnings."""
        return 2, self.prompt, self.key


@dataclass(frozen=True, slots=True)
class Rolling:
    """Ask for the log-likelihood of a whole text."""

    key: str
    text: str

    @property
    def place(self) -> Place:
        """Where it comes among others in a walk through the tree of their beginnings."""
        return 1, self.text, self.key


Request: TypeAlias = Score | Generate | Rolling
