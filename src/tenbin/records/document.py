"""A row of a data set, and the exact prompt made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenbin.records.quick import quick
from tenbin.records.task import Cell, Kind, Sampling, Thinking


@quick
@dataclass(frozen=True, slots=True)
class Document:
    """One row of a data set, checked and brought into its set's common form."""

    id: str
    fields: Mapping[str, Any]
    """What templates can name."""
    group: str | None
    """What it shares with others: the paragraph it asks about, or the item it translates."""
    origin: str
    """File and line, for messages."""
    row: int | None = None
    """Its number in the split, from 0, as the files list it."""


@quick
@dataclass(frozen=True, slots=True)
class Prompt:
    """One document as it is put to the model in one cell."""

    cell: Cell
    document: str
    language: str
    group: str | None
    kind: Kind
    text: str
    """Everything the model reads before its answer, byte for byte; for perplexity the text."""
    continuations: tuple[str, ...] | None
    """What is scored after `text`, delimiter included; None for generation and perplexity."""
    choices: tuple[str, ...] | None
    """The continuations without their delimiter: what length normalisation measures."""
    gold: int | None
    """Index of the right choice."""
    references: tuple[str, ...]
    """Accepted answers of a generation task."""
    target: str | None
    """The right answer as an example would show it; None for perplexity, which has none."""
    stop: tuple[str, ...]
    max_gen_toks: int
    examples: tuple[str, ...] = ()
    """Ids of the few-shot documents shown."""
    dropped_examples: int = 0
    """How many examples were left out because the window is too short."""
    parts: tuple[int, ...] = ()
    """Where each example and then the question begins in `text`; empty where a chat format has
    rewritten them beyond recognition."""
    sampling: Sampling | None = None
    """None: greedy decoding."""
    repeats: int = 1
    """Number of sampled answers."""
    row: int | None = None
    """The document's number in its split, from 0."""
    item: str | None = None
    """What the parallel key says the document holds; None where the data does not say."""
    thinking: Thinking | None = None
    """None if the model has no thinking section."""
    num_choices: int | None = None
    """Options that the question offers, where that is known."""
    golds: tuple[int, ...] = ()
    """Indices of all right choices, where there are several; `gold` is the first. Of a generation
    task: of all references, where the target is a list."""
    contexts: tuple[str, ...] = ()
    """Several texts that each precede the one continuation, where choices differ in what comes
    before it (winogrande); `text` is the first, and each is asked as a request of its own."""
    fields: Mapping[str, Any] | None = None
    """The row, where a function of the task judges it; None otherwise."""
    rotation: int = 0
    """Places that the options are rotated by against the row's order (`prompts/rotation.py`)."""

    @property
    def room(self) -> int:
        """Most generated tokens: thinking and answer."""
        return self.max_gen_toks + (self.thinking.room if self.thinking else 0)
