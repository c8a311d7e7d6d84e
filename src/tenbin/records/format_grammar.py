"""What prompt formats are made of, as a task file declares it under `formats:`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DeclaredFormats:
    """What a task file says under `formats:`; the grammar is made of it where one is asked for."""

    blocks: tuple[Any, ...]
    """As the schema of task files has checked them, the nearest layer first."""
    language: str
    """Of the documents."""
    target: str | int
    """The gold answer of the task's templates."""
    words: Mapping[str, Any]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, by what it asks for; the name of a part in braces stands for its label."""

    letter: str
    """Asks for the letter of an option."""
    number: str | None
    """Asks for its number; None where the wording speaks of letters alone."""
    text: str
    """Asks for the option itself."""


@dataclass(frozen=True, slots=True)
class LabelWords:
    """One set of words for the labels of a task, with the wording that fits them."""

    words: tuple[str, ...]
    """Empty where documents have options of their own."""
    instructions: tuple[Instruction, ...]
    answers: tuple[str, ...]
    """What may stand before the answer, such as `Relation`."""
    needs_instruction: bool = False
    """Whether the words mean something only after a question, as yes and no do."""


@dataclass(frozen=True, slots=True)
class FormatWording:
    """The words of a task's formats in one language."""

    language: str
    names: Mapping[str, tuple[str, ...]]
    """Part of the input, or `options` → what it may be called."""
    labels: Mapping[str, LabelWords]
    """Sets of label words by name; one without words where documents have options."""
    inputs: Mapping[str, str]
    """Part of the input → its Jinja source, in the order they are shown."""
    colon: str = ": "

    @property
    def first(self) -> LabelWords:
        """The first set: all have as many words, instructions and cues."""
        return next(iter(self.labels.values()))


@dataclass(frozen=True, slots=True)
class FormatGrammar:
    """Everything that the formats of a task are made of."""

    options: tuple[str, ...]
    """Jinja sources of a document's options; empty where the options are the label words."""
    target: str | int
    """The gold answer: an index, or a field that holds it."""
    wordings: Mapping[str, FormatWording]
    """`native`, `english`, or both."""
    numeric_options: bool = False
    """Whether options may be numbers, which numbers as symbols would be confused with."""
    sentence_options: bool = False
    """Whether options may be sentences, which bring a full stop of their own."""

    @property
    def wording(self) -> FormatWording:
        """The first wording: counts of names, instructions and cues are the same in all."""
        return next(iter(self.wordings.values()))

    @property
    def count(self) -> int:
        """Options of a question."""
        return len(self.options) or len(self.wording.first.words)
