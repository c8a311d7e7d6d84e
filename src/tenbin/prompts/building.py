"""All prompts of one cell: ordered, limited, with their examples, fitted to the model's window.

The tokenizer, where there is one, only measures and formats; no text depends on anything else of
the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol

from tenbin.errors import ConfigError
from tenbin.prompts.assembly import DEFAULT_SYSTEM_PROMPT, Assembly, Chat, open_assembly
from tenbin.prompts.fewshot import open_draw
from tenbin.prompts.wording import Worded, whole_text, word
from tenbin.records import Cell, Document, Prompt, Task, Thinking


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
        self, messages: Sequence[Mapping[str, str]], variables: Mapping[str, Any] | None = None
    ) -> str:
        """The text of a conversation, ready for the assistant's turn."""
        ...


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """What the user chose about prompts."""

    seed: int = 1234
    fewshot: Literal["random", "fixed"] = "random"
    running_draw: bool = False
    apply_chat_template: bool = False
    chat_template_args: Mapping[str, Any] = field(default_factory=dict)
    fewshot_as_multiturn: bool = False
    system_instruction: str | None = None
    system_prompt: str = DEFAULT_SYSTEM_PROMPT
    fit_examples: bool = True
    cap_by_references: bool = False


@dataclass(slots=True)
class _Draft:
    """A prompt that may still lose examples."""

    document: Document
    question: Worded
    examples: list[Document]
    shown: list[Worded]
    dropped: int = 0
    text: str = ""


@dataclass(slots=True)
class _Wordings:
    """Worded documents, each made once though many questions show it as an example."""

    task: Task
    template: str
    system_prompt: str
    _made: dict[str, Worded] = field(default_factory=dict)

    def question(self, document: Document) -> Worded:
        return word(self.task, self.task.templates[self.template], document, self.system_prompt)

    def example(self, document: Document) -> Worded:
        # By its id, since a document is made anew whenever it is read.
        made = self._made.get(document.id)
        if made is None:
            made = self._made[document.id] = self.question(document)
        return made


def build_prompts(
    task: Task,
    cell: Cell,
    documents: Sequence[Document],
    pool: Sequence[Document],
    limit: float | None,
    settings: PromptSettings,
    tokenizer: Measure | None,
    chat: Chat | None = None,
) -> list[Prompt]:
    """The prompts of a cell, in the order they are asked.

    Args:
        task: The task; `cell.template` is one of its templates.
        cell: What the prompts belong to.
        documents: The scored split.
        pool: Where examples come from; may be empty without shots.
        limit: How many documents: a number, or a fraction below 1.
        settings: The user's choices.
        tokenizer: Measures windows; None leaves every prompt whole.
        chat: Formats conversations; None: the tokenizer does.
    """
    if task.kind == "roll":
        return _whole_texts(task, cell, documents, limit, settings)
    if chat is None and tokenizer is not None:
        chat = tokenizer.chat
    if settings.apply_chat_template and chat is None:
        raise ConfigError(
            "--apply_chat_template needs the model's tokenizer",
            "name one with --tokenizer in a preview, with --model_args tokenizer=PATH for a server;"
            " --model openai-chat leaves the format to the server",
        )
    template = task.templates[cell.template]
    assembly = open_assembly(
        task,
        template,
        settings.system_instruction,
        settings.system_prompt,
        _with_variables(chat, settings) if settings.apply_chat_template else None,
        settings.fewshot_as_multiturn,
    )
    draw = open_draw(task, pool, cell.shots, cell.seed, settings.fewshot, settings.running_draw)
    wordings = _Wordings(task, cell.template, settings.system_prompt)
    drafts = []
    for document in limited(draw.order(documents), limit):
        examples = draw.examples(document)
        shown = [wordings.example(example) for example in examples]
        draft = _Draft(document, wordings.question(document), examples, shown)
        draft.text = assembly.prompt(draft.shown, draft.question)
        drafts.append(draft)
    caps = _generation_caps(task, drafts, settings, tokenizer)
    if task.thinking is not None and tokenizer is not None:
        _check_thinking_room(task, task.thinking, tokenizer.max_length)
    if settings.fit_examples and tokenizer is not None:
        _fit(drafts, caps, assembly, tokenizer, task.thinking)
    return [
        _finish(task, cell, draft, cap, assembly) for draft, cap in zip(drafts, caps, strict=True)
    ]


def _with_variables(chat: Chat | None, settings: PromptSettings) -> Chat | None:
    if chat is None or not settings.chat_template_args:
        return chat
    return partial(chat, variables=settings.chat_template_args)


def _check_thinking_room(task: Task, thinking: Thinking, max_length: int) -> None:
    if thinking.room + task.max_gen_toks < max_length:
        return
    raise ConfigError(
        f"{task.name}: {thinking.budget:,} tokens of thought and {task.max_gen_toks:,} of answer "
        f"leave no room for a prompt in a window of {max_length:,}",
        "lower --thinking_budget",
    )


def _whole_texts(
    task: Task,
    cell: Cell,
    documents: Sequence[Document],
    limit: float | None,
    settings: PromptSettings,
) -> list[Prompt]:
    """Texts as they are: no examples, no chat, and no window, since a backend rolls over it."""
    draw = open_draw(task, (), 0, cell.seed, settings.fewshot, settings.running_draw)
    template = task.templates[cell.template]
    return [
        Prompt(
            cell=cell,
            document=document.id,
            language=task.language,
            group=document.group,
            kind="roll",
            text=whole_text(task, template, document),
            continuations=None,
            choices=None,
            gold=None,
            references=(),
            target=None,
            stop=(),
            max_gen_toks=0,
            row=document.row,
            item=_item(task, document),
        )
        for document in limited(draw.order(documents), limit)
    ]


def limited(documents: list[Document], limit: float | None) -> list[Document]:
    """The first documents, by number or by fraction."""
    if limit is None:
        return documents
    count = math.ceil(len(documents) * limit) if limit < 1 else int(limit)
    return documents[:count]


def _generation_caps(
    task: Task, drafts: list[_Draft], settings: PromptSettings, tokenizer: Measure | None
) -> list[int]:
    if not settings.cap_by_references or task.kind != "generate":
        return [task.max_gen_toks] * len(drafts)
    if tokenizer is None:
        # A preview without a model: the cap belongs to the request, not to the prompt's text.
        return [task.max_gen_toks] * len(drafts)
    references = [draft.question.references for draft in drafts]
    lengths = iter(tokenizer.answer_lengths([text for group in references for text in group]))
    return [max(next(lengths) for _ in group) for group in references]


def _fit(
    drafts: list[_Draft],
    caps: list[int],
    assembly: Assembly,
    tokenizer: Measure,
    thinking: Thinking | None,
) -> None:
    """Leave out the examples farthest from the question until the prompt fits the window."""
    thought = thinking.room if thinking else 0
    answers = [room + thought for room in _answer_room(drafts, caps, assembly, tokenizer)]
    open_drafts = list(zip(drafts, answers, strict=True))
    while open_drafts:
        lengths = tokenizer.prompt_lengths([draft.text for draft, _ in open_drafts])
        too_long = []
        for (draft, room), length in zip(open_drafts, lengths, strict=True):
            if length + room > tokenizer.max_length and draft.shown:
                draft.examples, draft.shown = draft.examples[1:], draft.shown[1:]
                draft.dropped += 1
                draft.text = assembly.prompt(draft.shown, draft.question)
                too_long.append((draft, room))
        open_drafts = too_long


def _answer_room(
    drafts: list[_Draft], caps: list[int], assembly: Assembly, tokenizer: Measure
) -> list[int]:
    """Tokens each document's longest answer needs behind its prompt."""
    choices = [draft.question.choices or () for draft in drafts]
    delimiter = assembly.target_delimiter
    texts = [delimiter + choice for group in choices for choice in group]
    distinct = list(dict.fromkeys(texts))
    length = dict(zip(distinct, tokenizer.answer_lengths(distinct), strict=True))
    return [
        # The last token of a scored answer is predicted, never read.
        max(length[delimiter + choice] for choice in group) - 1 if group else cap
        for group, cap in zip(choices, caps, strict=True)
    ]


def _finish(task: Task, cell: Cell, draft: _Draft, cap: int, assembly: Assembly) -> Prompt:
    question = draft.question
    continuations = None
    if question.choices is not None:
        continuations = tuple(assembly.target_delimiter + choice for choice in question.choices)
    return Prompt(
        cell=cell,
        document=draft.document.id,
        language=task.language,
        group=draft.document.group,
        kind=task.kind,
        text=draft.text,
        continuations=continuations,
        choices=question.choices,
        gold=question.gold,
        references=question.references,
        target=question.target,
        stop=assembly.template.stop,
        max_gen_toks=cap,
        examples=tuple(example.id for example in draft.examples),
        dropped_examples=draft.dropped,
        parts=assembly.parts(draft.shown, question, draft.text),
        sampling=task.sampling,
        repeats=task.repeats,
        row=draft.document.row,
        item=_item(task, draft.document),
        thinking=task.thinking,
    )


def _item(task: Task, document: Document) -> str | None:
    """What the task's parallel key says; nothing stands in for a key that is not there."""
    value = document.fields.get(task.parallel.key) if task.parallel is not None else None
    return None if value is None or value == "" else str(value)
