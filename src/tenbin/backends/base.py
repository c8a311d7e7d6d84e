"""The backend protocol: something that answers requests by key, in any order.

`Backend` is what the pipeline calls, `Capabilities` says beforehand what a backend can do, and
`BaseBackend` is a starting point for new backends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, Protocol, runtime_checkable

from tenbin.errors import ConfigError, guess_at
from tenbin.records import Failure, Generate, Prompt, Request, Response, Rolling, Score
from tenbin.records.tokenized import TokenizedPrompt, Vocabulary

Encoding = Literal["joint", "separate"]


@dataclass(frozen=True, slots=True)
class Workers:
    """How many workers answer requests, on which cluster, and what each of them reserves."""

    count: int | None = None
    """None: as many as the cluster has room for."""
    address: str | None = None
    """Address of a Ray cluster; None starts one on this machine for the length of the run."""
    num_gpus: float | None = None
    """GPUs per worker; None: what the backend and the device need."""
    num_cpus: float = 1.0
    """CPUs, and so threads, per worker."""
    shard_size: int = 256
    """Most requests that a worker is given at a time."""


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """What the user said about the model and how to run it."""

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
    """Called with a line about what takes long before the first answer, or what was chosen."""
    workers: Workers | None = None
    """Set where other processes answer requests; None: this one does."""
    memory_share: float | None = None
    """Part of a device's whole memory that the backend may use; None: whatever is free when it
    starts. Given to workers, so that all of them make the same batches."""
    loads_elsewhere: bool = False
    """Whether only tokenizer and fingerprint are needed here: the weights are loaded on another
    machine, and the devices of this one must not be looked at."""


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
    """What planning needs of a model's tokenizer. Loads without the model's weights."""

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
        """Opening and closing mark of the model's thinking section; None if its files show none."""
        ...

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        variables: Mapping[str, Any] | None = None,
        drop_system: bool = False,
    ) -> str:
        """The text of a conversation, ending where the assistant's next words go."""
        ...

    def examine(
        self, prompt: str, continuations: Sequence[str] | None, max_gen_toks: int
    ) -> Boundary:
        """Token counts of this prompt and these answers, and whether a token spans their border."""
        ...


class ChatFormat(Protocol):
    """Formats conversations: a tokenizer's chat template, or a server's own."""

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        variables: Mapping[str, Any] | None = None,
        drop_system: bool = False,
    ) -> str:
        """The text of a conversation, ending where the assistant's next words go."""
        ...


class TokenizerInspector(Protocol):
    """A model's tokenizer as `tenbin doctor` needs it: every token of every prompt, no weights."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that prompts are built with."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """What is known before any text is read."""
        ...

    def tokenize(self, prompts: Sequence[Prompt]) -> list[TokenizedPrompt]:
        """Each prompt in tokens, exactly as a run would send it to the model."""
        ...

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Tokens of each text, without special tokens around it."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, special ones written out."""
        ...


RequestOrder = Literal["plan", "prefix"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can do. Known when it is opened, before any weights are loaded."""

    likelihoods: bool = True
    """Whether it computes log-likelihoods of given texts. A chat server does not: it answers a
    Score with the choice that the model named (`Picked`), and metrics of likelihoods are left
    out."""
    tokenizer: Tokenizer | None = None
    """The model's tokenizer. None where the backend has none to show: prompts are then never
    fitted to the window."""
    own_chat_format: ChatFormat | None = None
    """Set where something other than the tokenizer formats conversations, such as a server."""
    resumable: bool = False
    """Whether `run` accepts `known`: a batch that was interrupted is given again as a whole, so
    that the rest is batched as before and gets the same bits."""
    request_order: RequestOrder = "plan"
    """`plan`: the order in which the tasks first use a request; `prefix`: sorted by
    `Request.place`, which puts requests with a common prefix next to each other."""

    @property
    def chat_format(self) -> ChatFormat | None:
        """What formats conversations; None if the backend cannot take any."""
        return self.own_chat_format if self.own_chat_format is not None else self.tokenizer

    @property
    def thinking_marks(self) -> tuple[str, str] | None:
        """Marks of the model's thinking section, as far as its files show them."""
        return self.tokenizer.thinking_marks if self.tokenizer is not None else None


class AnswerGroups(Iterator[tuple[str, Response]]):
    """Answers that arrive in groups, such as all of a shard.

    What `Backend.run` returns where a group costs one journal transaction instead of one for each
    answer. Iterated over it gives single answers, like any other iterator that `run` returns.
    """

    def __init__(self, groups: Iterable[Sequence[tuple[str, Response]]]) -> None:
        """Nothing is taken from the groups yet."""
        self.groups = iter(groups)
        self._single = (one for group in self.groups for one in group)

    def __next__(self) -> tuple[str, Response]:
        return next(self._single)


NONE_KNOWN: Container[str] = frozenset()
"""The default of `Backend.run`: every request is to be answered."""


class Backend(Protocol):
    """A model that answers requests."""

    fingerprint: str
    """Names everything an answer depends on besides the request: weights, revision, dtype,
    encoding, engine version. Known before the weights are loaded; it names the journal."""

    @property
    def capabilities(self) -> Capabilities:
        """What this backend can do; the same for its whole life."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What results record: engine, dtype, device, encoding, model and its revision."""
        ...

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        """Answer every request exactly once, in any order, each as soon as its answer is known.

        Answers that arrive together may be returned as `AnswerGroups`.

        Args:
            requests: Read from disk as they are taken, possibly more than memory holds. To be
                taken in the thread that iterates over the answers.
            known: Keys of requests that are answered already. They are given to make the same
                batches as before an interruption and must not be answered. Passed only if
                `capabilities.resumable`.
        """
        ...

    def close(self) -> None:
        """Free what the model holds."""
        ...


class BaseBackend:
    """A backend to start from: answer `score`, `generate` or `rolling`, whichever it supports.

    A subclass sets `fingerprint` and overrides the methods of the requests that it can answer; the
    others become failures that say so. Where requests are answered in batches, override `run`.
    """

    fingerprint: str
    capabilities: Capabilities = Capabilities()
    arguments: Collection[str] = ()
    """Names that `--model_args` may give; any other is refused."""

    def __init__(self, settings: BackendSettings | None = None) -> None:
        """Keep the settings; `--model NAME` opens a registered class with them.

        Args:
            settings: What the user said; None where the backend is made in Python.

        Raises:
            ConfigError: A model argument is none of `arguments`.
        """
        self.settings = settings
        for name in () if settings is None else settings.model_args:
            if name not in self.arguments:
                refuse_argument(name, type(self).__name__, self.arguments)

    def describe(self) -> Mapping[str, Any]:
        """Name and version of the engine, for results."""
        name = type(self).__name__
        return {"engine": {"name": name, "mode": "plug-in", "version": "1"}, "model": name}

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        """Answer requests one by one."""
        for request in requests:
            yield request.key, self.answer(request)

    def answer(self, request: Request) -> Response:
        """Answer one request by the method of its kind."""
        if isinstance(request, Score):
            return self.score(request)
        if isinstance(request, Generate):
            return self.generate(request)
        return self.rolling(request)

    def score(self, request: Score) -> Response:
        """Log-likelihoods of a prompt's continuations (`Scores`), or the one named (`Picked`)."""
        return self._unsupported("does not score continuations")

    def generate(self, request: Generate) -> Response:
        """The text that follows a prompt (`Text`)."""
        return self._unsupported("does not generate text")

    def rolling(self, request: Rolling) -> Response:
        """The rolling log-likelihood of a whole text (`Rolled`)."""
        return self._unsupported("does not compute rolling log-likelihoods")

    def prepare(self) -> None:
        """Begin what takes long before the first answer, such as loading weights; do not wait.

        Called while prompts are made, as soon as a request is seen that no earlier run answered.
        What goes wrong is raised by `run`, and `close` may follow at any time.
        """

    def close(self) -> None:
        """Free what the model holds."""

    def _unsupported(self, what: str) -> Failure:
        return Failure("unsupported", f"the backend {type(self).__name__} {what}")


def refuse_argument(name: str, backend: str, known: Collection[str], also: str = "") -> NoReturn:
    """Refuse a model argument that a backend does not have.

    Args:
        name: The argument.
        backend: What it was given to.
        known: Those that there are.
        also: What else the backend takes, for the hint.

    Raises:
        ConfigError: Always.
    """
    listed = also or (f"the arguments {', '.join(sorted(known))}" if known else "no arguments")
    raise ConfigError(
        f"unknown model argument {name!r}", f"{guess_at(name, known)}{backend} takes {listed}"
    )


def prepare(backend: Backend) -> None:
    """Have a backend begin to load, if it has a method for that: it need not."""
    begin = getattr(backend, "prepare", None)
    if begin is not None:
        begin()


def check_backend(found: object) -> None:
    """Refuse an object that lacks a member of the protocol.

    Raises:
        ConfigError: Names what is missing.
    """
    members = ("fingerprint", "capabilities", "describe", "run", "close")
    missing = [name for name in members if not hasattr(found, name)]
    if missing:
        raise ConfigError(
            f"{type(found).__name__} is no backend: it has no {', '.join(missing)}",
            "derive it from tenbin.backends.base.BaseBackend (docs/add-a-backend.md)",
        )
