"""What a backend is asked: continuations to score, a text to generate, a text to measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tenbin.records.quick import quick
from tenbin.records.task import Sampling, Thinking

Place: TypeAlias = tuple[int, str, str]
"""Sort key that keeps requests with a common prefix together: (kind, prompt, key)."""


@quick
@dataclass(frozen=True, slots=True)
class Score:
    """Ask for the log-likelihood of each continuation of one prompt."""

    key: str
    prompt: str
    continuations: tuple[str, ...]

    @property
    def place(self) -> Place:
        """Sort key that puts it next to requests with a common prefix."""
        return 0, self.prompt, self.key


@quick
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
    """Seed of a sampled answer; with prompt and settings it determines the answer. 63 bits."""
    sample: int = 0
    """Index among several answers to one prompt; for display, since `seed` differs anyway."""
    thinking: Thinking | None = None
    """None if the model has no thinking section. Else stop strings and `max_gen_toks` hold for what
    follows it."""

    @property
    def room(self) -> int:
        """Most generated tokens: thinking and answer."""
        return self.max_gen_toks + (self.thinking.room if self.thinking else 0)

    @property
    def place(self) -> Place:
        """Sort key that puts it next to requests with a common prefix."""
        return 2, self.prompt, self.key


@quick
@dataclass(frozen=True, slots=True)
class Rolling:
    """Ask for the log-likelihood of a whole text."""

    key: str
    text: str

    @property
    def place(self) -> Place:
        """Sort key that puts it next to requests with a common prefix."""
        return 1, self.text, self.key


Request: TypeAlias = Score | Generate | Rolling
