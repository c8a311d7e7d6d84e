"""Conversations through a tokenizer's own chat template.

Knows templates and turns; knows no token ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tenbin.backends.text.chat_template import apply_template
from tenbin.errors import BackendError, ConfigError

_THINKING_MARKS = (
    ("<think>", "</think>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<thinking>", "</thinking>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
)
"""Marks of models that were published so far; any others can be named."""


def thinking_marks(tokenizer: Any) -> tuple[str, str] | None:
    """The marks that a vocabulary holds as words of their own, or that a chat template writes."""
    words = {str(token) for token in tokenizer.added_tokens_decoder.values()}
    template = chat_source(tokenizer)
    for opening, closing in _THINKING_MARKS:
        if {opening, closing} <= words or closing in template:
            return opening, closing
    return None


def chat_source(tokenizer: Any) -> str:
    """The source of a chat template; of several under names, the default one; empty for none."""
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default") or next(iter(template.values()), None)
    return str(template) if template else ""


def render_chat(
    tokenizer: Any, messages: Sequence[Mapping[str, str]], variables: Mapping[str, Any]
) -> tuple[str, bool]:
    """The text of a conversation, ending where the assistant's next turn begins.

    A template that refuses the system role, or silently drops it, gets the system text in
    front of the first user turn instead, joined by a blank line.

    Args:
        tokenizer: The transformers tokenizer.
        messages: The turns.
        variables: What the template may ask for besides, such as enable_thinking.

    Returns:
        The text, and whether the system text was moved.

    Raises:
        BackendError: There is no template, or it refuses the turns.
        ConfigError: The template knows no such variable.
    """
    if not tokenizer.chat_template:
        raise BackendError(
            "the tokenizer has no chat template",
            "leave --apply_chat_template out, or name a tokenizer that has one",
        )
    check_variables(chat_source(tokenizer), variables)
    apply = partial(apply_template, tokenizer, variables=variables)
    turns = [dict(message) for message in messages]
    system = [turn["content"] for turn in turns if turn["role"] == "system"]
    if not system:
        return apply(turns), False
    try:
        text = apply(turns)
    except BackendError:
        return apply(_folded(turns)), True
    # Templates strip what they quote, so the comparison does too.
    if all(part.strip() in text for part in system):
        return text, False
    return apply(_folded(turns)), True


def check_variables(source: str, variables: Mapping[str, Any]) -> None:
    """Refuse what a template would pass over without a word: a variable that it does not know.

    Raises:
        ConfigError: The template's source names no such variable.
    """
    for name in variables:
        if not re.search(rf"\b{re.escape(name)}\b", source):
            raise ConfigError(
                f"--chat_template_args {name}: the model's chat template has no such variable",
                "leave it out, or look at the template for what it asks for",
            )


def _folded(turns: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    others = [dict(turn) for turn in turns if turn["role"] != "system"]
    for turn in others:
        if turn["role"] == "user":
            turn["content"] = f"{system}\n\n{turn['content']}"
            return others
    return [{"role": "user", "content": system}, *others]
