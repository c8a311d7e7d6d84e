"""The scripted backend's tokenizer for `tenbin doctor`.

One character is one token, so that findings can be worked out by hand. Its only special token is
BOS, and no token is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenbin.backends.base import BackendSettings
from tenbin.backends.scripted import CharacterTokenizer, open_scripted
from tenbin.records import Prompt
from tenbin.records.tokenized import TokenizedPrompt, Vocabulary

_BOS = 0
"""Not a character of any text: tokens are code points."""


class CharacterInspector:
    """Implements tenbin's TokenizerInspector on characters."""

    def __init__(self, settings: BackendSettings) -> None:
        """Open it with the arguments that the scripted backend takes.

        Raises:
            ConfigError: An argument is unknown or has a wrong value.
        """
        self.tokenizer: CharacterTokenizer = open_scripted(settings).tokenizer
        self.vocabulary = Vocabulary(
            kind="one token a character",
            size=0x110000,
            max_length=self.tokenizer.max_length,
            encoding=settings.encoding,
            bos=_BOS,
            prefix=(_BOS,) * self.tokenizer.bos_count,
            own_prefix=(_BOS,) * self.tokenizer.bos_count,
            unknown=None,
            names=(settings.model,),
        )

    def tokenize(self, prompts: Sequence[Prompt]) -> list[TokenizedPrompt]:
        """Each prompt in characters."""
        return [self._tokenize(prompt) for prompt in prompts]

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Code points of each text."""
        return [tuple(map(ord, text)) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of code points."""
        return "".join(chr(number) for number in ids if number != _BOS)

    def _tokenize(self, prompt: Prompt) -> TokenizedPrompt:
        found = self.tokenizer.examine(prompt.text, prompt.continuations, prompt.room)
        context = self.vocabulary.prefix + tuple(map(ord, prompt.text))
        if prompt.kind == "perplexity":
            return TokenizedPrompt(prompt.document, context, context, windows=(context,))
        answers = tuple(tuple(map(ord, text)) for text in prompt.continuations or ())
        return TokenizedPrompt(
            prompt.document,
            context,
            context,
            answers,
            tuple(context + answer for answer in answers),
            new_tokens=0 if prompt.continuations is not None else prompt.room,
            repeats=prompt.repeats,
            truncated=found.overflow,
        )


def open_inspector(settings: BackendSettings) -> CharacterInspector:
    """The scripted backend's tokenizer."""
    return CharacterInspector(settings)
