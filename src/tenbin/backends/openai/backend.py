"""The server backends: `openai` uses completions, `openai-chat` uses chats.

Opening one looks up the server's model; requests are sent by `run`, many at a time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tenbin.backends.base import (
    NONE_KNOWN,
    Backend,
    BackendSettings,
    Capabilities,
    Encoding,
    Tokenizer,
)
from tenbin.backends.openai.arguments import read_arguments, written_arguments
from tenbin.backends.openai.choices import LetterChooser, all_wordings, find_chooser
from tenbin.backends.openai.client import Encode, Server, Session, Traffic, open_session
from tenbin.backends.openai.concurrency import Item, Result, run_concurrently
from tenbin.backends.openai.conversation import ConversationFormat
from tenbin.backends.openai.dialect import takes_variables
from tenbin.backends.openai.generation import generate, generate_with_budget, supports_budget
from tenbin.backends.openai.identity import Identity, fingerprint_of, identify, short_name
from tenbin.backends.openai.pricing import prices_of
from tenbin.backends.openai.scoring import PromptScorer, find_scorer, narrowed_tokenizer
from tenbin.backends.openai.secret import read_secret
from tenbin.records import Failure, Generate, Request, Response, Rolling, Score, Usage

if TYPE_CHECKING:
    from tenbin.backends.text.tokenizer import HfTokenizer


Found = TypeVar("Found")
VERSION = "1"
"""To be raised when answers change for the same server and request."""


class ServerBackend:
    """A model behind a server that speaks OpenAI's protocol."""

    def __init__(
        self,
        server: Server,
        identity: Identity,
        tokenizer: HfTokenizer | None = None,
        encoding: Encoding = "joint",
        notify: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare a backend; `open_completions` and `open_chat` are the usual methods in.

        Args:
            server: Which server is used, and how.
            identity: What the server says of itself.
            tokenizer: The model's, where the user named it.
            encoding: How prompt and answer are joined, where a tokenizer is known.
            notify: Called with messages about the server.
        """
        self._server = server
        self._identity = identity
        self._tokenizer = tokenizer
        self._encoding = encoding
        self._notify = notify
        self._prices = prices_of(server.arguments, server.model)
        self._traffic = Traffic()
        self._scorer: PromptScorer | None = None
        self._chooser: LetterChooser | None = None
        self._probe_usage: Usage | None = None
        self.fingerprint = fingerprint_of(self._depends_on())

    @property
    def capabilities(self) -> Capabilities:
        """Depends on the kind of server, on `choices=` and on `tokenizer=`."""
        return Capabilities(
            likelihoods=self._server.arguments.choices == "likelihoods",
            tokenizer=self._planning_tokenizer(),
            own_chat_format=self._conversations() if self._server.is_chat else None,
        )

    def _planning_tokenizer(self) -> Tokenizer | None:
        if self._tokenizer is None or not self._server.is_chat:
            return self._tokenizer
        from tenbin.backends.openai.tokenizer import ConversationTokenizer

        return ConversationTokenizer(self._tokenizer, self._conversations())

    def _conversations(self) -> ConversationFormat:
        template = self._identity.chat_template
        if template is None and self._tokenizer is not None:
            from tenbin.backends.text.chat_template import chat_source

            template = chat_source(self._tokenizer.inner) or None
        return ConversationFormat(takes_variables(self._server.dialect), template)

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        """Answer every request exactly once, in any order, each as soon as its answer is known."""
        yield from self._concurrently(self._probed(requests), self._answer)

    def _probed(self, requests: Iterable[Request]) -> Iterator[Request]:
        """The same requests; before the first that is scored, the server is probed."""
        for request in requests:
            if isinstance(request, Score | Rolling):
                self._probe_once()
            yield request

    def _concurrently(
        self, items: Iterable[Item], answer: Callable[[Session, Item], Awaitable[Result]]
    ) -> Iterator[Result]:
        session = partial(open_session, self._server, self._traffic, self._encode())
        # More than may call at a time: some of them wait for a retry.
        return run_concurrently(items, session, answer, 2 * self._server.arguments.concurrency)

    def _encode(self) -> Encode | None:
        tokenizer = self._tokenizer
        return None if tokenizer is None else lambda text: tokenizer.encode_answers([text])[text]

    def _probe_once(self) -> None:
        """Find out how the server scores texts or names choices."""
        if self._server.arguments.choices != "likelihoods":
            if self._chooser is None:
                self._chooser = self._probe(find_chooser)
        elif self._scorer is None:
            tokenizer = narrowed_tokenizer(self._tokenizer)
            self._scorer = self._probe(
                lambda session: find_scorer(session, tokenizer, self._encoding)
            )

    def _probe(self, find: Callable[[Session], Awaitable[Found]]) -> Found:
        """Make calls that answer no request, and keep what they used."""

        async def counting(session: Session, _: object) -> tuple[Found, Usage]:
            return await find(session), session.counted

        ((found, self._probe_usage),) = self._concurrently([None], counting)
        return found

    def close(self) -> None:
        """Do nothing: no connection is kept between runs."""

    async def _answer(self, session: Session, request: Request) -> tuple[str, Response]:
        response: Response
        if isinstance(request, Generate):
            response = await self._generate(session, request)
        elif self._scorer is not None:
            response = await self._score(session, request, self._scorer)
        elif self._chooser is not None and isinstance(request, Score):
            response = await self._chooser.pick(session, request)
        else:
            response = Failure(
                "unsupported", "this model names choices and computes no likelihoods"
            )
        session.note(response)
        return request.key, response

    async def _score(
        self, session: Session, request: Score | Rolling, scorer: PromptScorer
    ) -> Response:
        if isinstance(request, Score):
            return await scorer.score(session, request)
        return await scorer.rolling(session, request)

    async def _generate(self, session: Session, request: Generate) -> Response:
        ids, truncated = None, 0
        if self._tokenizer is not None and not self._server.is_chat:
            from tenbin.backends.text.encoding import encode_prompts

            encoded = next(iter(encode_prompts(self._tokenizer, [request])))
            if isinstance(encoded, Failure):
                return encoded
            ids, truncated = encoded.ids, encoded.truncated
        if request.thinking is not None and supports_budget(session):
            return await generate_with_budget(session, request, request.thinking, ids, truncated)
        return await generate(session, request, ids, truncated)

    def _depends_on(self) -> dict[str, Any]:
        """What answers depend on besides the request, as far as it is known."""
        arguments, tokenizer = self._server.arguments, self._tokenizer
        return {
            "engine": VERSION,
            "base_url": arguments.base_url,
            "model": self._server.model,
            "chat": self._server.is_chat,
            "said": dict(self._identity.facts),
            "software": self._identity.software,
            "settings": written_arguments(arguments),
            "tokenizer": _digest(tokenizer),
            "encoding": self._encoding if tokenizer is not None else None,
            "max_length": tokenizer.max_length if tokenizer is not None else None,
        }

    def describe(self) -> Mapping[str, Any]:
        """What results record: the server, what it says of its model, and how it was used."""
        arguments, said = self._server.arguments, self._identity
        described = {
            "engine": {
                "name": "openai-chat" if self._server.is_chat else "openai",
                "mode": "chat" if self._server.is_chat else "completions",
                "scoring": self._scoring(),
                "version": VERSION,
                "software": said.software,
            },
            "model": short_name(self._server.model),
            "base_url": arguments.base_url,
            "server_says": dict(said.facts),
            "note": "a server can change behind its name: these are its own words, not a checksum",
            "max_length": arguments.max_length or said.window,
            "tokenizer": arguments.tokenizer,
            "encoding": self._encoding if self._tokenizer is not None else None,
            "settings": written_arguments(arguments),
            "prices": self._prices,
            "traffic": asdict(self._traffic),
        }
        if self._probe_usage is not None and self._probe_usage.calls:
            described["probe_usage"] = asdict(self._probe_usage)
        if self._chooser is not None:
            own = self._server.arguments.instruction
            described["instruction"] = {"given": own} if own else all_wordings()
        if said.dialect == "llama.cpp":
            kind = said.facts.get("quantisation")
            described["gguf"] = f"{said.facts.get('file', 'a GGUF file')}, run by llama.cpp" + (
                f" as {kind}" if kind else ""
            )
        return described

    def _scoring(self) -> str | None:
        """How choices were scored or named; None where there were none."""
        if self._chooser is not None:
            how = (
                f"the {self._chooser.depth} likeliest first tokens"
                if self._chooser.depth
                else f"written texts, since first tokens are not shown: {self._chooser.reason}"
            )
            return f"choices named by letter, out of {how}"
        if self._scorer is None:
            return None
        border = "tokens" if self._tokenizer is not None else "text"
        return f"prompt log-probabilities by {self._scorer.method}, border by {border}"


def _digest(tokenizer: HfTokenizer | None) -> str | None:
    if tokenizer is None:
        return None
    from tenbin.backends.checkpoint.fingerprint import tokenizer_digest

    return f"{tokenizer_digest(tokenizer.inner)} {tokenizer.add_bos}"


def open_completions(settings: BackendSettings) -> Backend:
    """`openai`: a server's completions.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The server or the tokenizer is not there.
    """
    return _open(settings, is_chat=False)


def open_chat(settings: BackendSettings) -> Backend:
    """`openai-chat`: a server's chats.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The server or the tokenizer is not there.
    """
    return _open(settings, is_chat=True)


def _open(settings: BackendSettings, is_chat: bool) -> ServerBackend:
    arguments = read_arguments(settings.model_args, is_chat)
    secret = read_secret(arguments.api_key_env)
    identity = identify(arguments, secret)
    tokenizer = None
    if arguments.tokenizer is not None:
        from tenbin.backends.openai.tokenizer import open_named_tokenizer

        tokenizer = open_named_tokenizer(arguments, settings, identity.window)
    if settings.notify is not None and (settings.device or settings.dtype):
        settings.notify("--device and --dtype have no effect here: the server has the model")
    server = Server(arguments, secret, identity.model, identity.dialect, is_chat)
    return ServerBackend(server, identity, tokenizer, settings.encoding, settings.notify)


def check_completions(settings: BackendSettings) -> None:
    """Check the settings of an `openai` model; the server is not contacted.

    Raises:
        ConfigError: A model argument is wrong, or the key is not in the environment.
        BackendError: A tokenizer that is named by its path is not there.
    """
    _check(settings, is_chat=False)


def check_chat(settings: BackendSettings) -> None:
    """Check the settings of an `openai-chat` model; the server is not contacted.

    Raises:
        ConfigError: A model argument is wrong, or the key is not in the environment.
        BackendError: A tokenizer that is named by its path is not there.
    """
    _check(settings, is_chat=True)


def _check(settings: BackendSettings, is_chat: bool) -> None:
    arguments = read_arguments(settings.model_args, is_chat)
    read_secret(arguments.api_key_env)
    if arguments.model is not None:
        prices_of(arguments, arguments.model)
    if arguments.tokenizer is not None:
        # Imported here: a light install has no tokenizers.
        from tenbin.backends.checkpoint.location import check_place

        check_place(BackendSettings("hf", {"pretrained": arguments.tokenizer}))
