"""From worded examples and a worded question to the exact text a model reads.

A plain prompt is description + examples joined by the few-shot delimiter + question. A chat
prompt is the same material as messages, put into text by the model's own chat template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tenbin.errors import ConfigError, TaskError
from tenbin.prompts.environment import names_used, render
from tenbin.prompts.render import own_fields, place_of
from tenbin.prompts.worded import Worded
from tenbin.records import Task, Template


class Chat(Protocol):
    """Messages to text, as a tokenizer's chat template does it."""

    def __call__(
        self,
        messages: Sequence[Mapping[str, str]],
        variables: Mapping[str, Any] | None = None,
        drop_system: bool = False,
    ) -> str:
        """The text of a conversation.

        Args:
            messages: The turns; an assistant's turn at the end is one that the model goes on with.
            variables: What the template may ask for besides.
            drop_system: Leave a system turn out where the template refuses it, as lm-eval does; its
                text goes before the first user turn otherwise.
        """
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """A piece of a prompt: a message of a chat, or plain text with what follows it."""

    role: str
    content: str
    delimiter: str = ""
    """Stands behind the content in plain text, and where turns become one message."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An example as prompts show it, made once for all of them."""

    text: str
    """Its question."""
    turns: tuple[Turn, ...]
    plain: str
    """All turns as one text."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """How the parts of a prompt are put together for one task and template."""

    template: Template
    description: str
    """The description, where it is the same for every document; else what stands before it."""
    target_delimiter: str
    """What stands between prompt and answer: nothing where a chat turn begins."""
    example_delimiters: tuple[str, str]
    """What stands before and behind the answer of an example."""
    chat: Chat | None = None
    multiturn: bool = False
    lm_eval: bool = False
    """Whether the system instruction is joined to the prompt as lm-eval does it."""

    def example(self, worded: Worded) -> Shown:
        """A worded example as prompts show it."""
        turns = self._example(worded)
        return Shown(worded.text, turns, _plain(turns))

    def prompts(self, examples: Sequence[Shown], question: Worded) -> tuple[str, ...]:
        """The whole prompt, or one for each of several inputs."""
        system = self._system(question)
        if not question.contexts:
            return (self._text(system, examples, self._question(question.text, question)),)
        # The answer's delimiter belongs to the continuation here.
        asked = [self._question(text, question, "") for text in question.contexts]
        return tuple(self._text(system, examples, turns) for turns in asked)

    def continuations(self, question: Worded) -> tuple[str, ...] | None:
        """What is scored behind the prompt; None where the model writes."""
        if question.choices is None:
            return None
        answers = (question.target,) if question.contexts else question.choices
        return tuple(self.target_delimiter + answer for answer in answers)

    def parts(self, examples: Sequence[Shown], question: Worded, text: str) -> tuple[int, ...]:
        """Where each example and then the question begins in a prompt; empty when unknown."""
        starts = []
        if self.chat is None:
            at = len(self._system(question))
            for example in examples:
                starts.append(at)
                at += len(example.plain)
            return (*starts, at)
        at = 0
        for asked in (*(example.text for example in examples), question.text):
            # Chat formats take white space off a turn's ends.
            words = asked.strip()
            found = text.find(words, at)
            if found < 0:
                return ()
            starts.append(found)
            at = found + len(words)
        return tuple(starts)

    def _system(self, question: Worded) -> str:
        """What stands before the examples, or in the system message."""
        if question.description is None or not self.description:
            return self.description if question.description is None else question.description
        if self.chat is None and not self.lm_eval:
            return f"{self.description}\n\n{question.description}"
        return _joined(self.description, question.description, self.template.fewshot_delimiter)

    def _example(self, worded: Worded) -> tuple[Turn, ...]:
        before, behind = self.example_delimiters
        if not worded.answered:
            return self._question(worded.text, worded, before)
        if worded.prefix and not _needs_delimiter(worded.text, worded.prefix):
            before = ""
        answer = _joined(worded.prefix, worded.target, " ") if worded.prefix else worded.target
        return Turn("user", worded.text, before), Turn("assistant", answer, behind)

    def _question(
        self, text: str, worded: Worded, delimiter: str | None = None
    ) -> tuple[Turn, ...]:
        if not worded.prefix:
            return (Turn("user", text),)
        before = self.template.target_delimiter if delimiter is None else delimiter
        if not _needs_delimiter(text, worded.prefix):
            before = ""
        return Turn("user", text, before), Turn("assistant", worded.prefix)

    def _text(self, system: str, examples: Sequence[Shown], question: Sequence[Turn]) -> str:
        before = "".join([example.plain for example in examples])
        if self.chat is None:
            return system + before + _plain(question)
        messages = [Turn("system", system)] if system else []
        if self.multiturn:
            messages += [turn for example in examples for turn in example.turns]
            messages += question
        else:
            # The beginning of an answer stays a turn of its own, which the model goes on with.
            asked, *prefix = question
            messages += [Turn("user", before + asked.content), *prefix]
        return self.chat([{"role": one.role, "content": one.content} for one in messages])


def _plain(turns: Sequence[Turn]) -> str:
    return "".join(turn.content + turn.delimiter for turn in turns)


def _joined(first: str, second: str, delimiter: str) -> str:
    """Both texts, with the delimiter between them where there is no white space."""
    if first and second and _needs_delimiter(first, second):
        return first + delimiter + second
    return first + second


def _needs_delimiter(before: str, behind: str) -> bool:
    return before != "" and not (before[-1].isspace() or behind[0].isspace())


def open_assembly(
    task: Task,
    template: Template,
    system_instruction: str | None,
    system_prompt: str | None,
    chat: Chat | None,
    multiturn: bool,
    lm_eval: bool = False,
) -> Assembly:
    """Prepare the parts that are the same for every document.

    Args:
        system_instruction: What the user gave with --system_instruction.
        system_prompt: What templates that write their own system part put there; None: their own.
        chat: The model's chat template, when it is to be used.
        multiturn: Whether examples become turns of the conversation.
        lm_eval: Whether a system instruction is joined to the prompt as lm-eval does it, which puts
            nothing between it and a prompt without a description.
    """
    if multiturn and chat is None:
        raise ConfigError(
            "--fewshot_as_multiturn makes turns of a conversation",
            "add --apply_chat_template",
        )
    around = _example_delimiters(template)
    if task.origin is not None:
        # Its description is rendered over each document.
        delimiter = _answer_delimiter(task, template, chat is not None)
        said = system_instruction or ""
        return Assembly(template, said, delimiter, around, chat, multiturn, lm_eval)
    fields = own_fields(task, template, system_prompt)
    try:
        writes_system_part = "system_prompt" in names_used(template.description)
        description = render(template.description, fields)
    except TaskError as error:
        where = f"{place_of(task, template)}, description"
        raise TaskError(f"{where}: {error.message}", error.hint) from error
    if chat is not None and writes_system_part:
        raise ConfigError(
            f"{task.name}: template {template.name} writes a chat format itself, "
            "which --apply_chat_template would wrap in another",
            "leave --apply_chat_template out, or choose another template",
        )
    delimiter = _answer_delimiter(task, template, chat is not None)
    if chat is not None:
        parts = [system_instruction or "", description.strip()]
        description = "\n\n".join(filter(None, parts))
        return Assembly(template, description, delimiter, around, chat, multiturn)
    if system_instruction and not writes_system_part:
        description = f"{system_instruction}\n\n{description}"
    return Assembly(template, description, delimiter, around)


def _example_delimiters(template: Template) -> tuple[str, str]:
    before, behind = template.target_delimiter, template.fewshot_delimiter
    if template.example is None:
        return before, behind
    own = template.example.target_delimiter, template.example.fewshot_delimiter
    return before if own[0] is None else own[0], behind if own[1] is None else own[1]


def _answer_delimiter(task: Task, template: Template, chat: bool) -> str:
    """What stands before a scored answer."""
    if task.kind == "loglikelihood":
        return ""
    prefix = template.gen_prefix
    if not chat or (prefix and not prefix[-1].isspace()):
        return template.target_delimiter
    return ""
