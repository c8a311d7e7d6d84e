"""Conversations as prompts: messages written as one line of JSON, and read again.

A server puts messages into the model's own chat format by itself, so a prompt has to arrive there
as messages, while every stage before knows prompts as texts. Knows no server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.errors import ConfigError

_BEGINS = '[{"role":'


class ConversationFormat:
    """The chat format of a server: messages stay messages."""

    def chat(
        self, messages: Sequence[Mapping[str, str]], variables: Mapping[str, Any] | None = None
    ) -> str:
        """A conversation as text: role and content of each message, always written alike.

        Raises:
            ConfigError: Variables are given for a template that only the server has.
        """
        if variables:
            raise ConfigError(
                "--chat_template_args: the server puts conversations into the model's format",
                "leave it out, or ask a completions server with --model openai and tokenizer=PATH",
            )
        return write_conversation(messages)


def write_conversation(messages: Sequence[Mapping[str, str]]) -> str:
    """Messages as one line of JSON."""
    turns = [{"role": turn["role"], "content": turn["content"]} for turn in messages]
    return json.dumps(turns, ensure_ascii=False, separators=(",", ":"))


def read_conversation(prompt: str) -> list[dict[str, str]]:
    """The messages of a prompt; a prompt that is no conversation is one message of the user."""
    if prompt.startswith(_BEGINS):
        try:
            turns = json.loads(prompt)
        except ValueError:
            turns = None
        # Only what this module wrote, to the byte: a document may hold JSON of its own.
        if _is_conversation(turns) and write_conversation(turns) == prompt:
            return [dict(turn) for turn in turns]
    return [{"role": "user", "content": prompt}]


def with_more(prompt: str, more: str) -> str:
    """A prompt whose last message goes on; a plain prompt stays a plain one."""
    messages = read_conversation(prompt)
    if len(messages) == 1 and messages[0]["content"] == prompt:
        return prompt + more
    messages[-1]["content"] += more
    return write_conversation(messages)


def _is_conversation(turns: Any) -> bool:
    return isinstance(turns, list) and all(
        isinstance(turn, dict)
        and turn.keys() == {"role", "content"}
        and all(isinstance(value, str) for value in turn.values())
        for turn in turns
    )
