"""A choice as a question for one letter: what is put behind the prompt, if anything is.

Where the prompt shows labels for its choices already, and the continuations are these labels or
begin with them, it is asked as it is. Else a list with letters follows, and an instruction. Knows
no server.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.backends.openai.conversation import read_conversation, with_more
from tenbin.backends.openai.instruction import wording_for
from tenbin.records import Failure, Score

_LABEL = re.compile(r"([0-9A-Za-z])(?:[.):：．、）]\s*\S.*)?", re.DOTALL)
_LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True)
class Question:
    """One choice, ready to be asked."""

    prompt: str
    """A text, or a conversation whose last message was lengthened."""
    labels: tuple[str, ...]
    added: str
    """What was put behind the prompt."""


def question_of(request: Score, instruction: str | None, is_chat: bool) -> Question | Failure:
    """The question for a letter that a Score becomes.

    Args:
        request: The prompt and its continuations.
        instruction: The user's own words, instead of ours.
        is_chat: Whether the model answers in a turn of its own, and needs no cue.
    """
    if not request.prompt.strip():
        return Failure("unsupported", "choices without a prompt cannot be named, only weighed")
    shown = "\n".join(turn["content"] for turn in read_conversation(request.prompt))
    choices = [text.strip() for text in request.continuations]
    labels = own_labels(choices, shown)
    if labels is not None:
        return Question(request.prompt, labels, "")
    if len(choices) > len(_LETTERS):
        return Failure("unsupported", f"{len(choices)} choices are more than there are letters")
    wording = wording_for(shown)
    lines = [f"{letter}. {choice}" for letter, choice in zip(_LETTERS, choices, strict=False)]
    added = "\n\n" + "\n".join(lines) + f"\n\n{instruction or wording.asks}"
    if not is_chat:
        added += f"\n{wording.cue}"
    prompt = with_more(request.prompt.rstrip() if not is_chat else request.prompt, added)
    return Question(prompt, tuple(_LETTERS[: len(choices)]), added)


def own_labels(choices: Sequence[str], shown: str) -> tuple[str, ...] | None:
    """The labels that choices carry and the prompt shows; None where there are none such."""
    labels = []
    for choice in choices:
        found = _LABEL.fullmatch(choice)
        if found is None or not _stands_in(found[1], shown):
            return None
        labels.append(found[1])
    return tuple(labels) if len(set(labels)) == len(labels) > 1 else None


def _stands_in(label: str, text: str) -> bool:
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(label)}(?![0-9A-Za-z])", text) is not None
