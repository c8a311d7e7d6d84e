"""What a template makes of a document, and the checks that all wordings share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenbin.errors import TaskError
from tenbin.records import MOST_CHOICES


@dataclass(frozen=True, slots=True)
class Worded:
    """One document as text: its question, its choices and its right answer."""

    text: str
    choices: tuple[str, ...] | None
    gold: int | None
    references: tuple[str, ...]
    target: str
    """The right answer as an example shows it."""
    num_choices: int | None = None
    """Options that the question offers, where that is known."""
    golds: tuple[int, ...] = ()
    """All right choices, where the target is a list."""
    contexts: tuple[str, ...] = ()
    """Several questions that `target` answers, one for each choice; `text` is the first."""
    prefix: str = ""
    """What the answer begins with, given to the model."""
    answered: bool = True
    """Whether there is an answer to show: without one an example is its question alone."""
    description: str | None = None
    """What stands before examples and question; None: the same for all documents."""
    fields: Mapping[str, Any] | None = None
    """The row as the task's functions left it; None where none reads it."""


def check_number(name: str, value: Any) -> Any:
    """A field's value again.

    Raises:
        TaskError: It is no number: rows written by programs hold NaN where a value is missing.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise TaskError(f"field {name!r} is {value}, which is no number and no text")
    return value


def check_choices(value: Any, least: int) -> tuple[str, ...]:
    """The choices as texts.

    Raises:
        TaskError: They are no list, or too few or too many.
    """
    if not isinstance(value, list | tuple) or len(value) < least:
        wanted = "two or more choices" if least > 1 else "choices"
        raise TaskError(f"doc_to_choice gives no list of {wanted}: {short(value)}")
    if len(value) > MOST_CHOICES:
        raise TaskError(
            f"doc_to_choice gives {len(value):,} choices; at most {MOST_CHOICES:,} are scored",
            "let the model write the answer (output_type: generate_until)",
        )
    return tuple(map(str, value))


def short(value: Any) -> str:
    """A value as it stands in messages."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def listed(choices: tuple[str, ...]) -> str:
    """Choices as they stand in messages."""
    shown = [choice if len(choice) <= 80 else f"{choice[:77]}..." for choice in choices[:10]]
    return ", ".join(shown + ["…"] * (len(choices) > 10))
