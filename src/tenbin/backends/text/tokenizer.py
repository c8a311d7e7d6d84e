"""A transformers tokenizer as tenbin needs it: BOS exactly once, and never an EOS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from tenbin.backends.base import Boundary
from tenbin.errors import BackendError, ConfigError

DEFAULT_MAX_LENGTH = 2048
_LENGTH_FIELDS = ("max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_seq_len")
_CHARACTERS = 1 << 16
"""Characters encoded at a time: each takes some hundred bytes meanwhile."""
_LARGEST_SANE_LENGTH = 10**8
"""Tokenizers without a limit have a value of about 10**30."""


class TokenizerFault(BackendError):
    """A tokenizer failed on a text, or cannot be used at all."""


def window_of(config: Any, tokenizer: Any) -> int:
    """Return how many tokens a model takes, from its configuration or its tokenizer."""
    inner = config.get_text_config() if hasattr(config, "get_text_config") else config
    for name in _LENGTH_FIELDS:
        value = getattr(inner, name, None)
        if isinstance(value, int) and value > 0:
            return value
    limit = getattr(tokenizer, "model_max_length", None)
    if isinstance(limit, int) and 0 < limit < _LARGEST_SANE_LENGTH:
        return limit
    return DEFAULT_MAX_LENGTH


class HfTokenizer:
    """Implements tenbin's `Tokenizer` for a transformers tokenizer."""

    def __init__(self, inner: Any, max_length: int, add_bos: bool | None = None) -> None:
        """Wrap a tokenizer.

        Args:
            inner: The transformers tokenizer.
            max_length: Tokens that the model takes.
            add_bos: None: as the tokenizer does by itself; True: always; False: never.

        Raises:
            ConfigError: add_bos is True and the tokenizer has no such token.
        """
        self.inner = inner
        self.max_length = max_length
        self.has_chat_template = bool(inner.chat_template)
        self.add_bos = add_bos
        self.system_role_folded = False
        """Whether a template refused the system role, so that its text went to the user's turn."""
        self.prefix = self._prefix()
        """Tokens put in front of a prompt, usually one BOS or nothing."""
        self._prefix_text: str = inner.decode(list(self.prefix)) if self.prefix else ""

    @property
    def start_token(self) -> int | None:
        """What stands for an empty prompt in joint encoding: BOS, or EOS if there is none."""
        bos, eos = self.inner.bos_token_id, self.inner.eos_token_id
        return bos if bos is not None else eos  # type: ignore[no-any-return]

    @property
    def end_token(self) -> int | None:
        """What stands for an empty prompt in separate encoding: EOS, or BOS if there is none."""
        bos, eos = self.inner.bos_token_id, self.inner.eos_token_id
        return eos if eos is not None else bos  # type: ignore[no-any-return]

    def encode_answers(self, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Encode each distinct text without special tokens around it."""
        return {text: tuple(ids) for text, ids in self._encoded(texts)}

    def _encoded(self, texts: Iterable[str]) -> Iterator[tuple[str, Sequence[int]]]:
        for part in _batches(dict.fromkeys(texts)):
            # verbose=False: texts that are too long are truncated, counted and reported later.
            with explain_faults("the tokenizer fails on a text"):
                batch = self.inner(part, add_special_tokens=False, verbose=False)["input_ids"]
                pairs = list(zip(part, batch, strict=True))
            yield from pairs

    def encode_prompts(self, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Encode each distinct text as a prompt: with BOS, unless the text begins with it."""
        bare = self.encode_answers(texts)
        return {text: self.prefix_for(text) + ids for text, ids in bare.items()}

    def prefix_for(self, text: str) -> tuple[int, ...]:
        """Return the tokens in front of a text: none if the text itself begins with them."""
        own = self._prefix_text
        return () if own and text.startswith(own) else self.prefix

    def prompt_lengths(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text as a prompt, including BOS."""
        lengths = self._lengths(texts)
        return [len(self.prefix_for(text)) + lengths[text] for text in texts]

    def answer_lengths(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text as an answer, without special tokens."""
        lengths = self._lengths(texts)
        return [lengths[text] for text in texts]

    def _lengths(self, texts: Sequence[str]) -> dict[str, int]:
        """Count the tokens of each text; 0 if the tokenizer fails on it.

        The counts say what fits. A text on which the tokenizer fails is requested as it is, and its
        document then fails with the reason; the others must not fail with it.
        """
        try:
            return {text: len(ids) for text, ids in self._encoded(texts)}
        except TokenizerFault:
            if len(texts) == 1:
                return {texts[0]: 0}
        return {text: count for one in texts for text, count in self._lengths([one]).items()}

    def has_tokens(self, text: str) -> bool:
        """Whether a text has any token of its own."""
        return bool(self.encode_answers([text])[text])

    @cached_property
    def thinking_marks(self) -> tuple[str, str] | None:
        """The marks around a thinking section, by vocabulary or chat template; None without one."""
        from tenbin.backends.text.chat_template import thinking_marks

        return thinking_marks(self.inner)

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        variables: Mapping[str, Any] | None = None,
        drop_system: bool = False,
    ) -> str:
        """Return the text of a conversation, ending where the assistant's next words go.

        Raises:
            BackendError: The tokenizer has no template, or its template refuses the turns.
            ConfigError: The template has no such variable.
        """
        from tenbin.backends.text.chat_template import render_chat

        text, folded = render_chat(self.inner, messages, variables or {}, drop_system)
        self.system_role_folded = self.system_role_folded or folded
        return text

    def examine(
        self, prompt: str, continuations: Sequence[str] | None, max_gen_toks: int
    ) -> Boundary:
        """Return how this prompt and these answers meet, in tokens of the whole text."""
        answers = tuple(continuations or ())
        wholes = [prompt + answer for answer in answers]
        encoded = self.encode_prompts([prompt, *wholes])
        start = encoded[prompt]
        counts = tuple(len(encoded[whole]) - len(start) for whole in wholes)
        merged = any(encoded[whole][: len(start)] != start for whole in wholes)
        # The last token of a scored row is only predicted and is never an input.
        needed = len(start) + (max(counts) - 1 if counts else max_gen_toks)
        return Boundary(
            len(start), counts, self._leading_bos(start), merged, max(0, needed - self.max_length)
        )

    def _leading_bos(self, ids: Sequence[int]) -> int:
        bos = self.inner.bos_token_id
        count = 0
        while bos is not None and count < len(ids) and ids[count] == bos:
            count += 1
        return count

    def _prefix(self) -> tuple[int, ...]:
        """Return what the tokenizer puts in front by itself; an EOS that it appends is dropped."""
        if self.add_bos is False:
            return ()
        probe = "a"
        with explain_faults("the tokenizer fails on a single letter"):
            bare = list(self.inner(probe, add_special_tokens=False)["input_ids"])
            dressed = list(self.inner(probe)["input_ids"])
        own = next(
            (dressed[:at] for at in range(len(dressed)) if dressed[at : at + len(bare)] == bare), []
        )
        if own or not self.add_bos:
            return tuple(own)
        if self.inner.bos_token_id is None:
            raise ConfigError(
                "add_bos is True, but the tokenizer has no beginning-of-sequence token",
                "leave add_bos out",
            )
        return (self.inner.bos_token_id,)


@contextmanager
def explain_faults(what: str) -> Iterator[None]:
    """Turn exceptions of a tokenizer inside into one sentence.

    Raises:
        TokenizerFault: It failed.
    """
    try:
        yield
    except BaseException as error:
        # Any kind: tokenizers come from many authors. Those in Rust panic, which is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise TokenizerFault(
            f"{what}: {first_words(error)}",
            "name another one with the model argument tokenizer=…",
        ) from error


def first_words(error: BaseException) -> str:
    """Return an error's type and the first line of its message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Some first lines only introduce the next one.
    said = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    return f"{type(error).__name__}: {said[:300]}" if said else type(error).__name__


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Cut texts into batches: while one is encoded, its tokens are held with names and offsets."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text)
        if characters >= _CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
