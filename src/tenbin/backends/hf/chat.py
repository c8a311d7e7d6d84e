"""Conversations through a tokenizer's own chat template.

Knows templates and turns; knows no token ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.errors import BackendError


def render_chat(tokenizer: Any, messages: Sequence[Mapping[str, str]]) -> tuple[str, bool]:
    """The text of a conversation, ending where the assistant's next turn begins.

    A template that refuses the system role, or silently drops it, gets the system text in
    front of the first user turn instead, joined by a blank line.

    Returns:
        The text, and whether the system text was moved.

    Raises:
        BackendError: There is no template, or it refuses the turns.
    """
    if not tokenizer.chat_template:
        raise BackendError(
            "the tokenizer has no chat template",
            "leave --apply_chat_template out, or name a tokenizer that has one",
        )
    turns = [dict(message) for message in messages]
    system = [turn["content"] for turn in turns if turn["role"] == "system"]
    if not system:
        return _apply(tokenizer, turns), False
    try:
        text = _apply(tokenizer, turns)
    except BackendError:
        return _apply(tokenizer, _folded(turns)), True
    # Templates strip what they quote, so the comparison does too.
    if all(part.strip() in text for part in system):
        return text, False
    return _apply(tokenizer, _folded(turns)), True


def _apply(tokenizer: Any, turns: Sequence[Mapping[str, str]]) -> str:
    from jinja2 import TemplateError

    try:
        text = tokenizer.apply_chat_template(
            list(turns), tokenize=False, add_generation_prompt=True
        )
    except (TemplateError, ValueError, TypeError) as error:
        raise BackendError(
            f"the chat template refuses this conversation: {error}",
            "check the order of the turns; many templates want user and assistant in turn",
        ) from error
    return str(text)


def _folded(turns: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    others = [dict(turn) for turn in turns if turn["role"] != "system"]
    for turn in others:
        if turn["role"] == "user":
            turn["content"] = f"{system}\n\n{turn['content']}"
            return others
    return [{"role": "user", "content": system}, *others]
