"""How much of a prompt fits into the model's window: room for the answer, then examples.

It takes drafts some at a time, measures them with the tokenizer and leaves out examples. What a
draft says is made elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tenbin.errors import ConfigError
from tenbin.prompts.assembly import Assembly, Shown
from tenbin.prompts.worded import Worded
from tenbin.records import INSTRUCTIONS, Document, Task, Thinking


class Measure(Protocol):
    """What is needed of a tokenizer here."""

    max_length: int

    def prompt_lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as a prompt."""
        ...

    def answer_lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as an answer."""
        ...

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        variables: Mapping[str, Any] | None = None,
        drop_system: bool = False,
    ) -> str:
        """The text of a conversation, ready for the assistant's turn."""
        ...


@dataclass(slots=True)
class Draft:
    """A prompt that may still lose examples."""

    document: Document
    question: Worded
    examples: list[Document]
    shown: list[Shown]
    texts: tuple[str, ...]
    """The prompt, or one for each of several inputs."""
    dropped: int = 0


def check_thinking_room(task: Task, thinking: Thinking, max_length: int) -> None:
    """Refuse a thinking budget that leaves a prompt no room."""
    if thinking.room + task.max_gen_toks < max_length:
        return
    raise ConfigError(
        f"{task.name}: {thinking.budget:,} tokens of thinking and {task.max_gen_toks:,} of answer "
        f"leave no room for a prompt in a window of {max_length:,}",
        "lower --thinking_budget",
    )


def generation_caps(
    task: Task, drafts: Sequence[Draft], by_references: bool, tokenizer: Measure | None
) -> list[int]:
    """Tokens that each answer may have: the task's, or as many as its longest reference has."""
    # Without a tokenizer, in a preview: the cap belongs to the request, not to the prompt's text.
    # Instructions are no answers, so that their length says nothing of one.
    answers = task.kind == "generate" and task.references != INSTRUCTIONS
    if not by_references or not answers or tokenizer is None:
        return [task.max_gen_toks] * len(drafts)
    references = [draft.question.references for draft in drafts]
    lengths = iter(tokenizer.answer_lengths([text for group in references for text in group]))
    return [max(next(lengths) for _ in group) for group in references]


def fit_examples(
    drafts: Sequence[Draft],
    caps: Sequence[int],
    assembly: Assembly,
    tokenizer: Measure,
    thinking: Thinking | None,
) -> None:
    """Leave out the examples farthest from the question until the prompt fits the window."""
    thought = thinking.room if thinking else 0
    answers = [room + thought for room in _answer_room(drafts, caps, assembly, tokenizer)]
    open_drafts = list(zip(drafts, answers, strict=True))
    while open_drafts:
        texts = [text for draft, _ in open_drafts for text in draft.texts]
        lengths = iter(tokenizer.prompt_lengths(texts))
        too_long = []
        for draft, room in open_drafts:
            length = max(next(lengths) for _ in draft.texts)
            if length + room > tokenizer.max_length and draft.shown:
                draft.examples, draft.shown = draft.examples[1:], draft.shown[1:]
                draft.dropped += 1
                draft.texts = assembly.prompts(draft.shown, draft.question)
                too_long.append((draft, room))
        open_drafts = too_long


def _answer_room(
    drafts: Sequence[Draft], caps: Sequence[int], assembly: Assembly, tokenizer: Measure
) -> list[int]:
    """Tokens each document's longest answer needs behind its prompt."""
    answers = [assembly.continuations(draft.question) or () for draft in drafts]
    distinct = list(dict.fromkeys(text for group in answers for text in group))
    length = dict(zip(distinct, tokenizer.answer_lengths(distinct), strict=True))
    return [
        # The last token of a scored answer is predicted, never read.
        max(length[text] for text in group) - 1 if group else cap
        for group, cap in zip(answers, caps, strict=True)
    ]
