"""What a backend is: something that answers requests, keyed, in any order.

Knows nothing of tasks, documents or metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from tenbin.records import Prompt, Request, Response
from tenbin.records.tokenized import Reading, Vocabulary

Encoding = Literal["joint", "separate"]


@dataclass(frozen=True, slots=True)
class Workers:
    """How many workers answer, where they live, and what each of them may take."""

    count: int | None = None
    """None: as many as the cluster has room for."""
    address: str | None = None
    """Of a Ray cluster; None: one of this machine's own, started for the run."""
    num_gpus: float | None = None
    """GPUs a worker; None: what the backend and the device ask for."""
    num_cpus: float = 1.0
    """CPUs, and so threads, a worker."""
    shard_size: int = 256
    """Requests that are handed to a worker at a time, at most."""


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """What the user said about the model and how to drive it."""

    model: str
    """Backend name: `hf`, `hf-causal`, `hf-auto`, `scripted`, …"""
    model_args: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    dtype: str | None = None
    batch_size: int | Literal["auto"] = "auto"
    encoding: Encoding = "joint"
    """`joint`: prompt and answer are encoded as one text and cut at the prompt's token count, as
    lm-eval does; `separate`: each on its own and concatenated, as the published Japanese runs."""
    add_bos: bool | None = None
    """None: as the tokenizer does by itself. Never doubled."""
    cache_dir: str | None = None
    notify: Callable[[str], None] | None = None
    """Told what takes long before any request is asked."""
    workers: Workers | None = None
    """Where the model answers in other processes; None: in this one."""
    memory_share: float | None = None
    """Part of a device's whole memory that the backend may count on. None: whatever is free as it
    starts. Where several must batch alike, what each may take is said and not looked up."""
    loads_elsewhere: bool = False
    """Whether only tokenizer and fingerprint are wanted here: devices of this machine say nothing
    then, because the weights are loaded on another."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """How a tokenizer treats one prompt and its answers; for previews and diagnosis."""

    prompt_tokens: int
    continuation_tokens: tuple[int, ...]
    bos_count: int
    merged: bool
    """Whether a token spans the border of prompt and an answer, so that encoding them jointly
    and separately gives different tokens."""
    overflow: int
    """Tokens of the longest row that do not fit max_length."""


@runtime_checkable
class Tokenizer(Protocol):
    """What planning needs to know of a model's tokenizer. Loads without the model's weights."""

    max_length: int
    has_chat_template: bool

    def prompt_lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as a prompt, beginning-of-sequence token included."""
        ...

    def answer_lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as an answer, without special tokens."""
        ...

    @property
    def thinking_marks(self) -> tuple[str, str] | None:
        """The marks that the model's files show thoughts to stand between; None: they show none."""
        ...

    def chat(
        self, messages: Sequence[Mapping[str, str]], variables: Mapping[str, Any] | None = None
    ) -> str:
        """The text of a conversation, ending where the assistant's next turn begins."""
        ...

    def examine(
        self, prompt: str, continuations: Sequence[str] | None, max_gen_toks: int
    ) -> Boundary:
        """How this prompt and these answers meet."""
        ...


@runtime_checkable
class ChatFormat(Protocol):
    """What is needed to put a conversation to a model."""

    def chat(
        self, messages: Sequence[Mapping[str, str]], variables: Mapping[str, Any] | None = None
    ) -> str:
        """The text of a conversation, ending where the assistant's next turn begins."""
        ...


class TokenReader(Protocol):
    """A model's tokenizer as diagnosis sees it: every token, and no weights."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The same tokenizer as prompts are built with."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """What is known before any text is read."""
        ...

    def read(self, prompts: Sequence[Prompt]) -> list[Reading]:
        """Each prompt in tokens, exactly as a run would ask it."""
        ...

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Tokens of each text, without special tokens around it."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, special ones written out."""
        ...


class Backend(Protocol):
    """A model that can be asked."""

    fingerprint: str
    """Weights, revision, dtype, encoding, engine version: the model half of the journal's key.
    Known before the weights are loaded."""

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's tokenizer; None where the backend does not show it."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What results record: engine, dtype, device, encoding, model and its revision."""
        ...

    def run(self, requests: Sequence[Request]) -> Iterator[tuple[str, Response]]:
        """Answer every request exactly once, in any order, each as soon as it is known."""
        ...

    def close(self) -> None:
        """Free what the model holds."""
        ...


def chat_format_of(backend: Backend) -> ChatFormat | None:
    """How a backend takes conversations; None where it takes none.

    A server formats them itself, and its backend says so by a member `chat_format`. Elsewhere the
    tokenizer does.
    """
    found: ChatFormat | None = getattr(backend, "chat_format", backend.tokenizer)
    return found


@runtime_checkable
class Portioned(Protocol):
    """A backend whose answers come in portions that must be kept whole.

    Where a run breaks off, what is left is cut into portions again: unless whole portions were
    written down, the rest would be cut differently than it was.
    """

    def run_portions(self, requests: Iterable[Request]) -> Iterator[Sequence[tuple[str, Response]]]:
        """As `run`, many answers at a time.

        Args:
            requests: In the order of their places, and taken as they are needed: there may be more
                of them than memory holds.
        """
        ...


@runtime_checkable
class Resuming(Protocol):
    """A backend that can go on with requests that it was given before.

    Which requests share a batch shows in the last bits of their answers. What is left of a run that
    broke off would be batched differently by itself.
    """

    def run_rest(
        self, requests: Sequence[Request], known: Collection[str]
    ) -> Iterator[tuple[str, Response]]:
        """Answer some of the requests as a `run` of all of them would have.

        Args:
            requests: All that were given before, in the same order.
            known: Keys of those that are answered.
        """
        ...


def weighs_texts(backend: Backend) -> bool:
    """Whether a backend shows likelihoods of texts, or else names one of several choices.

    A server of chats can only name them, and its backend says so by a member `shows_likelihoods`.
    """
    return bool(getattr(backend, "shows_likelihoods", True))
