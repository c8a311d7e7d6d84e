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
from tenbin.prompts.render import Worded, own_fields, place_of
from tenbin.records import Task, Template


class Chat(Protocol):
    """Messages to text, as a tokenizer's chat template does it."""

    def __call__(
        self, messages: Sequence[Mapping[str, str]], variables: Mapping[str, Any] | None = None
    ) -> str:
        """The text of a conversation; `variables` are what the template may ask for besides."""
        ...


@dataclass(frozen=True, slots=True)
class Assembly:
    """How the parts of a prompt are put together for one task and template."""

    template: Template
    description: str
    chat: Chat | None = None
    multiturn: bool = False

    @property
    def target_delimiter(self) -> str:
        """What stands between prompt and answer: nothing where a chat turn begins."""
        return "" if self.chat is not None else self.template.target_delimiter

    def prompt(self, examples: Sequence[Worded], question: Worded) -> str:
        """The whole prompt."""
        if self.chat is None:
            return self.description + self._joined(examples, question)
        messages = [{"role": "system", "content": self.description}] if self.description else []
        if self.multiturn:
            for example in examples:
                messages.append({"role": "user", "content": example.text})
                messages.append({"role": "assistant", "content": example.target})
            messages.append({"role": "user", "content": question.text})
        else:
            messages.append({"role": "user", "content": self._joined(examples, question)})
        return self.chat(messages)

    def parts(self, examples: Sequence[Worded], question: Worded, text: str) -> tuple[int, ...]:
        """Where each example and then the question begins in a prompt; empty when unknown."""
        starts = []
        if self.chat is None:
            at = len(self.description)
            for example in examples:
                starts.append(at)
                shown = example.text + self.template.target_delimiter + example.target
                at += len(shown + self.template.fewshot_delimiter)
            return (*starts, at)
        at = 0
        for worded in (*examples, question):
            # Chat formats take white space off a turn's ends.
            words = worded.text.strip()
            found = text.find(words, at)
            if found < 0:
                return ()
            starts.append(found)
            at = found + len(words)
        return tuple(starts)

    def _joined(self, examples: Sequence[Worded], question: Worded) -> str:
        shown = [e.text + self.template.target_delimiter + e.target for e in examples]
        return self.template.fewshot_delimiter.join([*shown, question.text])


def open_assembly(
    task: Task,
    template: Template,
    system_instruction: str | None,
    system_prompt: str | None,
    chat: Chat | None,
    multiturn: bool,
) -> Assembly:
    """Prepare the parts that are the same for every document.

    Args:
        system_instruction: What the user gave with --system_instruction.
        system_prompt: What templates that write their own system part put there; None: their own.
        chat: The model's chat template, when it is to be used.
        multiturn: Whether examples become turns of the conversation.
    """
    if multiturn and chat is None:
        raise ConfigError(
            "--fewshot_as_multiturn makes turns of a conversation",
            "add --apply_chat_template",
        )
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
    if chat is not None:
        parts = [system_instruction or "", description.strip()]
        return Assembly(template, "\n\n".join(filter(None, parts)), chat, multiturn)
    if system_instruction and not writes_system_part:
        description = f"{system_instruction}\n\n{description}"
    return Assembly(template, description)
