"""The tokenizer that `tokenizer=` names for a server's model: lengths, chats, diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tenbin.backends.base import BackendSettings, Boundary, TokenizerInspector
from tenbin.backends.checkpoint.checkpoint import open_tokenizer
from tenbin.backends.openai.arguments import ServerArguments, read_arguments
from tenbin.backends.openai.conversation import (
    ConversationFormat,
    read_conversation,
    variables_of,
)
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.errors import BackendError, ConfigError


class ConversationTokenizer:
    """Counts the tokens of conversations in the model's chat format; they stay messages."""

    has_chat_template = True

    def __init__(self, inner: HfTokenizer, format: ConversationFormat) -> None:
        """Wrap the model's tokenizer.

        Args:
            inner: The model's.
            format: The server's chat format.

        Raises:
            ConfigError: It has no chat template.
        """
        if not inner.has_chat_template:
            raise ConfigError(
                "tokenizer: it has no chat template, so conversations cannot be measured with it",
                "name the chat model's own tokenizer, or leave tokenizer out",
            )
        self.inner = inner
        self._format = format
        self.max_length = inner.max_length

    def prompt_lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each conversation in the model's own chat format."""
        return self.inner.prompt_lengths([self._rendered(text) for text in texts])

    def answer_lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as an answer."""
        return self.inner.answer_lengths(texts)

    @property
    def thinking_marks(self) -> tuple[str, str] | None:
        """Marks of the model's thinking section, from its files."""
        return self.inner.thinking_marks

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        variables: Mapping[str, Any] | None = None,
        drop_system: bool = False,
    ) -> str:
        """The messages, for the server to format."""
        return self._format.chat(messages, variables, drop_system)

    def examine(
        self, prompt: str, continuations: Sequence[str] | None, max_gen_toks: int
    ) -> Boundary:
        """Token counts of a conversation and its answers."""
        return self.inner.examine(self._rendered(prompt), continuations, max_gen_toks)

    def _rendered(self, prompt: str) -> str:
        return self.inner.chat(read_conversation(prompt), variables_of(prompt))


def open_named_tokenizer(
    arguments: ServerArguments, settings: BackendSettings, window: int | None
) -> HfTokenizer | None:
    """The tokenizer that `tokenizer=` names; None without one.

    Args:
        arguments: The model arguments.
        settings: What else the user said.
        window: The context window that the server states.

    Raises:
        BackendError: The tokenizer is not there.
    """
    if arguments.tokenizer is None:
        return None
    tokenizer = open_tokenizer(
        BackendSettings(
            "hf",
            {"pretrained": arguments.tokenizer},
            encoding=settings.encoding,
            add_bos=settings.add_bos,
            cache_dir=settings.cache_dir,
            notify=settings.notify,
        )
    )
    tokenizer.max_length = arguments.max_length or window or tokenizer.max_length
    return tokenizer


def open_inspector(settings: BackendSettings) -> TokenizerInspector:
    """The tokenizer of a completions server's model, for `tenbin doctor`; no server is contacted.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: No tokenizer is named, or it is not there.
    """
    from tenbin.backends.checkpoint.checkpoint import open_inspector as open_hf_inspector

    nowhere = {"base_url": "http://127.0.0.1/v1"}
    arguments = read_arguments({**nowhere, **settings.model_args}, is_chat=False)
    if arguments.tokenizer is None:
        raise BackendError(
            "a server shows no tokenizer, and without one there is nothing to look at",
            "name that of the model behind it, a folder or a hub id: --model_args tokenizer=PATH",
        )
    given = {"pretrained": arguments.tokenizer}
    if arguments.max_length is not None:
        given["max_length"] = str(arguments.max_length)
    return open_hf_inspector(replace(settings, model="hf", model_args=given))


def refuse_chat(settings: BackendSettings) -> TokenizerInspector:
    """Explain why a chat server's model cannot be diagnosed.

    Raises:
        BackendError: Always.
    """
    raise BackendError(
        f"{settings.model}: the server puts the messages into the model's chat format and makes"
        " tokens of them itself, so there is nothing here to look at",
        "look at the templates in the model's chat format with its own tokenizer: --model hf"
        " --model_args pretrained=PATH --apply_chat_template",
    )
