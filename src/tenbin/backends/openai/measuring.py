"""The tokenizer that the user named for a server's model: lengths, tokens, chats.

Knows the hf tokenizer alone; loads no weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.backends.base import BackendSettings, Boundary
from tenbin.backends.checkpoint.checkpoint import open_tokenizer
from tenbin.backends.openai.arguments import ServerArguments
from tenbin.backends.openai.conversation import (
    ConversationFormat,
    read_conversation,
    variables_of,
)
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.errors import ConfigError


class ConversationTokenizer:
    """Measures conversations as the server's model will read them, and leaves them messages."""

    has_chat_template = True

    def __init__(self, inner: HfTokenizer, format: ConversationFormat) -> None:
        """Wrap the model's tokenizer.

        Args:
            inner: The model's.
            format: How the server takes conversations.

        Raises:
            ConfigError: It has no chat template, so that no conversation can be measured.
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
        """What the model's files show around thoughts."""
        return self.inner.thinking_marks

    def chat(
        self, messages: Sequence[Mapping[str, str]], variables: Mapping[str, Any] | None = None
    ) -> str:
        """The messages, for the server to format."""
        return self._format.chat(messages, variables)

    def examine(
        self, prompt: str, continuations: Sequence[str] | None, max_gen_toks: int
    ) -> Boundary:
        """How a conversation and its answers meet."""
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
        window: Tokens that the server says its model takes.

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
