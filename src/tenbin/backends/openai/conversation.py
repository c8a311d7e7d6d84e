"""Conversations as prompts: messages written as one line of JSON, and read again.

A server applies the model's chat template itself, so a prompt has to arrive there as messages,
while every stage before treats prompts as texts. Variables of the chat template are written beside
the messages, because the model's input depends on them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.errors import ConfigError

_MESSAGES, _VARIABLES = "messages", "chat_template_kwargs"
_PREFIXES = ('[{"role":', f'{{"{_MESSAGES}":[{{"role":')


@dataclass(frozen=True, slots=True)
class ConversationFormat:
    """The chat format of a server: messages are kept as messages."""

    takes_variables: bool = False
    """Whether the server is known to pass variables to the model's chat template."""
    template: str | None = None
    """The source of that template, where the server shows it."""

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        variables: Mapping[str, Any] | None = None,
        drop_system: bool = False,
    ) -> str:
        """A conversation as text, always in the same form.

        Raises:
            ConfigError: Variables are given that the server or its template does not accept, or the
                last turn is the beginning of an answer.
        """
        if variables and not self.takes_variables:
            raise ConfigError(
                "--chat_template_args: this server is not known to accept variables of a chat"
                " template (vLLM, SGLang and llama.cpp are)",
                "leave it out, or ask a completions server with --model openai and tokenizer=PATH",
            )
        if variables and self.template is not None:
            from tenbin.backends.text.chat_template import check_variables

            check_variables(self.template, variables)
        if messages and messages[-1]["role"] == "assistant":
            raise ConfigError(
                "a task begins the model's answer (gen_prefix), and a chat server begins every "
                "answer itself",
                "ask a completions server with --model openai and tokenizer=PATH, or leave "
                "--apply_chat_template out",
            )
        return write_conversation(messages, variables)


def write_conversation(
    messages: Sequence[Mapping[str, str]], variables: Mapping[str, Any] | None = None
) -> str:
    """Messages as one line of JSON, with the template's variables if there are any."""
    turns = [{"role": turn["role"], "content": turn["content"]} for turn in messages]
    if not variables:
        return _written(turns)
    return _written({_MESSAGES: turns, _VARIABLES: dict(sorted(variables.items()))})


def read_conversation(prompt: str) -> list[dict[str, str]]:
    """The messages of a prompt; any other prompt becomes one user message."""
    found = _read(prompt)
    return found[0] if found is not None else [{"role": "user", "content": prompt}]


def variables_of(prompt: str) -> dict[str, Any]:
    """The chat template variables of a prompt."""
    found = _read(prompt)
    return found[1] if found is not None else {}


def with_text(prompt: str, more: str) -> str:
    """A prompt with text appended to its last message, or to itself if it is plain text."""
    found = _read(prompt)
    if found is None:
        return prompt + more
    messages, variables = found
    messages[-1]["content"] += more
    return write_conversation(messages, variables)


def with_answer(prompt: str, begun: str) -> str:
    """A conversation that ends in an unfinished answer, for servers that continue it."""
    messages = [*read_conversation(prompt), {"role": "assistant", "content": begun}]
    return write_conversation(messages, variables_of(prompt))


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read(prompt: str) -> tuple[list[dict[str, str]], dict[str, Any]] | None:
    """Messages and variables; None for a text that this module did not write.

    It must match to the byte: a document may contain JSON of its own.
    """
    if not prompt.startswith(_PREFIXES):
        return None
    try:
        found = json.loads(prompt)
    except ValueError:
        return None
    has_variables = isinstance(found, dict)
    turns = found.get(_MESSAGES) if has_variables else found
    variables = found.get(_VARIABLES) if has_variables else {}
    if not _is_conversation(turns) or not isinstance(variables, dict):
        return None
    if write_conversation(turns, variables) != prompt:
        return None
    return [dict(turn) for turn in turns], variables


def _is_conversation(turns: Any) -> bool:
    return isinstance(turns, list) and all(
        isinstance(turn, dict)
        and turn.keys() == {"role", "content"}
        and all(isinstance(value, str) for value in turn.values())
        for turn in turns
    )
