"""The server backends: `openai` asks completions, `openai-chat` asks chats.

Joins the parts of this folder. Opening asks the server once what it has; documents are asked by
`run`, many at a time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
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
from tenbin.backends.openai.choosing import Letters, find_letters
from tenbin.backends.openai.conversation import ConversationFormat
from tenbin.backends.openai.dialect import takes_variables
from tenbin.backends.openai.fingerprint import fingerprint_of
from tenbin.backends.openai.generation import write
from tenbin.backends.openai.identity import Identity, identify, short_name
from tenbin.backends.openai.instruction import all_wordings
from tenbin.backends.openai.pricing import prices_of
from tenbin.backends.openai.probe import find_scales
from tenbin.backends.openai.pump import Item, Result, pumped
from tenbin.backends.openai.scoring import Scales, server_tokenizer
from tenbin.backends.openai.secret import read_secret
from tenbin.backends.openai.session import Encode, Server, Session, open_session
from tenbin.backends.openai.thoughts import holds_budgets, write_thoughtfully
from tenbin.backends.openai.transport import Traffic
from tenbin.records import Failure, Generate, Request, Response, Rolling, Score, Usage

if TYPE_CHECKING:
    from tenbin.backends.text.tokenizer import HfTokenizer

Found = TypeVar("Found")
VERSION = "1"
"""Raise it when answers change for the same server and request."""


class ServerBackend:
    """A model behind a server."""

    def __init__(
        self,
        server: Server,
        identity: Identity,
        tokenizer: HfTokenizer | None = None,
        encoding: Encoding = "joint",
        notify: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare a backend; `open_completions` and `open_chat` are the usual ways in.

        Args:
            server: Which server is asked, and how.
            identity: What it says of itself.
            tokenizer: The model's, where the user named it.
            encoding: How prompt and answer meet, where the tokenizer decides it.
            notify: Told what is found out about the server.
        """
        self._server = server
        self._identity = identity
        self._tokenizer = tokenizer
        self._encoding = encoding
        self._notify = notify
        self._prices = prices_of(server.arguments, server.model)
        self._traffic = Traffic()
        self._scales: Scales | None = None
        self._letters: Letters | None = None
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
        from tenbin.backends.openai.measuring import ConversationTokenizer

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
        yield from self._pumped(self._probed(requests), self._answer)

    def _probed(self, requests: Iterable[Request]) -> Iterator[Request]:
        """The same requests; before the first that is scored, the server is probed."""
        for request in requests:
            if isinstance(request, Score | Rolling):
                self._find_out()
            yield request

    def _pumped(
        self, items: Iterable[Item], answer: Callable[[Session, Item], Awaitable[Result]]
    ) -> Iterator[Result]:
        session = partial(open_session, self._server, self._traffic, self._encode())
        # More than may call at a time: some of them wait for another try.
        return pumped(items, session, answer, 2 * self._server.arguments.concurrency)

    def _encode(self) -> Encode | None:
        tokenizer = self._tokenizer
        return None if tokenizer is None else lambda text: tokenizer.encode_answers([text])[text]

    def _find_out(self) -> None:
        """Find out how the server weighs texts or names choices, before any document is asked."""
        if self._server.arguments.choices != "likelihoods":
            if self._letters is None:
                self._letters = self._probe(find_letters)
        elif self._scales is None:
            tokenizer = server_tokenizer(self._tokenizer)
            self._scales = self._probe(
                lambda session: find_scales(session, tokenizer, self._encoding)
            )

    def _probe(self, find: Callable[[Session], Awaitable[Found]]) -> Found:
        """Find something out by calls that answer no request, and keep what they took."""

        async def counting(session: Session, _: object) -> tuple[Found, Usage]:
            return await find(session), session.counted

        ((found, self._probe_usage),) = self._pumped([None], counting)
        return found

    def waits(self, seconds: float) -> None:
        """Begin with another wait between tries than half a second."""
        self._server = replace(self._server, first_wait=seconds)

    def close(self) -> None:
        """Nothing is held between runs."""

    async def _answer(self, session: Session, request: Request) -> tuple[str, Response]:
        response: Response
        if isinstance(request, Generate):
            response = await self._write(session, request)
        elif self._scales is not None:
            response = await self._weigh(session, request, self._scales)
        elif self._letters is not None and isinstance(request, Score):
            response = await self._letters.pick(session, request)
        else:
            response = Failure("unsupported", "this model names choices and weighs no texts")
        session.note(response)
        return request.key, response

    async def _weigh(self, session: Session, request: Score | Rolling, scales: Scales) -> Response:
        if isinstance(request, Score):
            return await scales.score(session, request)
        return await scales.roll(session, request)

    async def _write(self, session: Session, request: Generate) -> Response:
        ids, truncated = None, 0
        if self._tokenizer is not None and not self._server.is_chat:
            from tenbin.backends.text.encoding import encode_prompts

            encoded = next(iter(encode_prompts(self._tokenizer, [request])))
            if isinstance(encoded, Failure):
                return encoded
            ids, truncated = encoded.ids, encoded.truncated
        if request.thinking is not None and holds_budgets(session):
            return await write_thoughtfully(session, request, request.thinking, ids, truncated)
        return await write(session, request, ids, truncated)

    def _depends_on(self) -> dict[str, Any]:
        """What answers depend on besides the request, as far as it can be known."""
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
        """What results record: the server, what it says of its model, and how it was asked."""
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
        if self._letters is not None:
            own = self._server.arguments.instruction
            described["instruction"] = {"given": own} if own else all_wordings()
        if said.dialect == "llama.cpp":
            kind = said.facts.get("quantisation")
            described["gguf"] = f"{said.facts.get('file', 'a GGUF file')}, run by llama.cpp" + (
                f" as {kind}" if kind else ""
            )
        return described

    def _scoring(self) -> str | None:
        """How choices were weighed or named; None where there were none."""
        if self._letters is not None:
            how = (
                f"the {self._letters.depth} likeliest first tokens"
                if self._letters.depth
                else (f"written texts, since first tokens are not shown: {self._letters.reason}")
            )
            return f"choices named by letter, out of {how}"
        if self._scales is None:
            return None
        border = "tokens" if self._tokenizer is not None else "text"
        return f"prompt log-probabilities by {self._scales.way}, border by {border}"


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
        from tenbin.backends.openai.measuring import open_named_tokenizer

        tokenizer = open_named_tokenizer(arguments, settings, identity.window)
    if settings.notify is not None and (settings.device or settings.dtype):
        settings.notify("--device and --dtype change nothing here: the server has the model")
    server = Server(arguments, secret, identity.model, identity.dialect, is_chat)
    return ServerBackend(server, identity, tokenizer, settings.encoding, settings.notify)
