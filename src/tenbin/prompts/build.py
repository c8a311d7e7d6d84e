"""All prompts of one cell: ordered, limited, with their examples, fitted to the model's window.

Prompts are made some at a time, as they are asked for. The tokenizer, where there is one, only
measures and formats; no text depends on anything else of the model.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from tenbin.errors import BackendError, ConfigError
from tenbin.prompts.assembly import Assembly, Chat, Shown, open_assembly
from tenbin.prompts.example_pool import Pool
from tenbin.prompts.fewshot import ExampleSampler, SamplerKind, open_sampler
from tenbin.prompts.render import has_several_inputs, whole_text, word, word_as_example
from tenbin.prompts.truncation import (
    Draft,
    Measure,
    check_thinking_room,
    fit_examples,
    generation_caps,
)
from tenbin.prompts.worded import Worded
from tenbin.records import Cell, Document, Prompt, Task, Template

_BATCH = 1000
"""Documents whose prompts are made together: a tokenizer is quick with many texts at once."""
_KEPT = 4096
"""Worded examples that stay in memory."""


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """What the user chose about prompts."""

    seed: int = 1234
    fewshot: Literal["random", "fixed"] = "random"
    sampler: SamplerKind = "document"
    """How examples are sampled."""
    apply_chat_template: bool = False
    chat_template_args: Mapping[str, Any] = field(default_factory=dict)
    fewshot_as_multiturn: bool = False
    system_instruction: str | None = None
    system_prompt: str | None = None
    """Fills templates that write their own system part; None: each template's own text."""
    fit_examples: bool = True
    cap_by_references: bool = False

    @property
    def reproduces_lm_eval(self) -> bool:
        """Whether prompts are lm-eval's to the byte, where they would differ otherwise."""
        return self.sampler == "lm-eval"


@dataclass(slots=True)
class _Wordings:
    """Worded documents; those shown last are kept, since many questions show the same examples."""

    task: Task
    template: Template
    system_prompt: str | None
    several_inputs: bool | None
    """Whether choices precede the answer; None: documents say it, or there are none."""
    refuse_missing_gold: bool
    assembly: Assembly
    _made: OrderedDict[str, Shown] = field(default_factory=OrderedDict)

    def question(self, document: Document) -> Worded:
        return word(
            self.task,
            self.template,
            document,
            self.system_prompt,
            self.several_inputs,
            self.refuse_missing_gold,
        )

    def example(self, document: Document) -> Shown:
        # By its id, since a document is made anew whenever it is read.
        made = self._made.get(document.id)
        if made is not None:
            self._made.move_to_end(document.id)
            return made
        worded = word_as_example(
            self.task, self.template, document, self.system_prompt, self.several_inputs
        )
        made = self._made[document.id] = self.assembly.example(worded)
        if len(self._made) > _KEPT:
            self._made.popitem(last=False)
        return made


@dataclass(frozen=True, slots=True)
class _Builder:
    """All that the prompts of one cell are made with."""

    task: Task
    cell: Cell
    assembly: Assembly
    sampler: ExampleSampler
    wordings: _Wordings
    settings: PromptSettings
    tokenizer: Measure | None

    def prompts(self, documents: Sequence[Document], order: Sequence[int]) -> Iterator[Prompt]:
        for start in range(0, len(order), _BATCH):
            drafts = [self._draft(documents[at]) for at in order[start : start + _BATCH]]
            by_references = self.settings.cap_by_references
            caps = generation_caps(self.task, drafts, by_references, self.tokenizer)
            if self.settings.fit_examples and self.tokenizer is not None:
                fit_examples(drafts, caps, self.assembly, self.tokenizer, self.task.thinking)
            for draft, cap in zip(drafts, caps, strict=True):
                yield _finish(self.task, self.cell, draft, cap, self.assembly)

    def _draft(self, document: Document) -> Draft:
        examples = self.sampler.examples(document)
        if self.assembly.template.reverses_examples:
            examples = examples[::-1]
        shown = [self.wordings.example(example) for example in examples]
        question = self.wordings.question(document)
        texts = self.assembly.prompts(shown, question)
        return Draft(document, question, examples, shown, texts)


def build_prompts(
    task: Task,
    cell: Cell,
    documents: Sequence[Document],
    pool: Pool,
    limit: float | None,
    settings: PromptSettings,
    tokenizer: Measure | None,
    chat: Chat | None = None,
    asked: Sequence[int] | None = None,
) -> Iterator[Prompt]:
    """The prompts of a cell, in the order they are asked.

    Settings that cannot be followed are refused at once; what is wrong with a document, when its
    prompt is made.

    Args:
        task: The task; `cell.template` is one of its templates.
        cell: What the prompts belong to.
        documents: The scored split.
        pool: Where examples come from; may be empty without shots.
        limit: How many documents: a number, or a fraction below 1.
        settings: The user's choices.
        tokenizer: Measures windows; None leaves every prompt whole.
        chat: Formats conversations; None: the tokenizer does.
        asked: Positions of the documents that are asked, in a sweep on a budget; the others are
            not even read. None: all, up to the limit.
    """
    if task.kind == "perplexity":
        return _whole_texts(task, cell, documents, limit, settings, asked)
    if chat is None and tokenizer is not None:
        chat = tokenizer.chat
    template = task.templates[cell.template]
    in_chat = settings.apply_chat_template or template.chat
    if in_chat and chat is None:
        who = "--apply_chat_template" if settings.apply_chat_template else cell.id
        raise ConfigError(
            f"{who} needs the model's tokenizer",
            "name one with --tokenizer in a preview, with --model_args tokenizer=PATH for a server;"
            " --model openai-chat leaves the format to the server",
        )
    if template.chat and chat is not None:
        _check_chat(cell, chat)
    assembly = open_assembly(
        task,
        template,
        settings.system_instruction,
        settings.system_prompt,
        _with_variables(chat, settings) if in_chat else None,
        settings.fewshot_as_multiturn,
        settings.reproduces_lm_eval,
    )
    sampler = open_sampler(task, pool, cell.shots, cell.seed, settings.fewshot, settings.sampler)
    if task.thinking is not None and tokenizer is not None:
        check_thinking_room(task, task.thinking, tokenizer.max_length)
    several = has_several_inputs(task, template, documents)
    wordings = _Wordings(
        task, template, settings.system_prompt, several, not settings.reproduces_lm_eval, assembly
    )
    builder = _Builder(task, cell, assembly, sampler, wordings, settings, tokenizer)
    order = _limited_order(sampler, len(documents), limit) if asked is None else asked
    return builder.prompts(documents, order)


def _check_chat(cell: Cell, chat: Chat) -> None:
    """Refuse a template in the chat format of a model that has none."""
    try:
        chat([{"role": "user", "content": "a"}])
    except BackendError as error:
        raise ConfigError(
            f"{cell.id} is asked in the model's chat format: {error.message}",
            "leave --chat_formats out, or name a format without chat",
        ) from error


def _with_variables(chat: Chat | None, settings: PromptSettings) -> Chat | None:
    if chat is None:
        return None
    if settings.chat_template_args:
        chat = partial(chat, variables=settings.chat_template_args)
    return partial(chat, drop_system=True) if settings.reproduces_lm_eval else chat


def _whole_texts(
    task: Task,
    cell: Cell,
    documents: Sequence[Document],
    limit: float | None,
    settings: PromptSettings,
    asked: Sequence[int] | None,
) -> Iterator[Prompt]:
    """Texts as they are: no examples, no chat; a backend divides them into windows."""
    sampler = open_sampler(task, Pool(()), 0, cell.seed, settings.fewshot, settings.sampler)
    template = task.templates[cell.template]
    order = _limited_order(sampler, len(documents), limit) if asked is None else asked
    return (
        Prompt(
            cell=cell,
            document=document.id,
            language=task.language,
            group=document.group,
            kind="perplexity",
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
            fields=document.fields if task.judges_rows else None,
        )
        for document in (documents[at] for at in order)
    )


def limited(count: int, limit: float | None) -> int:
    """How many of so many documents are asked, by number or by fraction."""
    if limit is None:
        return count
    return min(count, math.ceil(count * limit) if limit < 1 else int(limit))


def _limited_order(sampler: ExampleSampler, count: int, limit: float | None) -> Sequence[int]:
    return sampler.order(count)[: limited(count, limit)]


def _finish(task: Task, cell: Cell, draft: Draft, cap: int, assembly: Assembly) -> Prompt:
    question = draft.question
    return Prompt(
        cell=cell,
        document=draft.document.id,
        language=task.language,
        group=draft.document.group,
        kind=task.kind,
        text=draft.texts[0],
        continuations=assembly.continuations(question),
        choices=question.choices,
        gold=question.gold,
        references=question.references,
        target=question.target,
        stop=assembly.template.stop,
        max_gen_toks=cap,
        examples=tuple(example.id for example in draft.examples),
        dropped_examples=draft.dropped,
        parts=assembly.parts(draft.shown, question, draft.texts[0]),
        sampling=task.sampling,
        repeats=task.repeats,
        row=draft.document.row,
        item=_item(task, draft.document),
        thinking=task.thinking,
        num_choices=question.num_choices,
        golds=question.golds,
        contexts=draft.texts if question.contexts else (),
        fields=question.fields if task.judges_rows else None,
        rotation=assembly.template.rotation,
    )


def _item(task: Task, document: Document) -> str | None:
    """What the task's parallel key says; nothing stands in for a key that is not there."""
    value = document.fields.get(task.parallel.key) if task.parallel is not None else None
    return None if value is None or value == "" else str(value)
