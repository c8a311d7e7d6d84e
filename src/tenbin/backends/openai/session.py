"""What all requests of one run share: the connection, the server's ways, the tokenizer.

Opened inside the event loop, closed with it. Knows no request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tenbin.backends.openai.arguments import ServerArguments
from tenbin.backends.openai.connections import open_connections
from tenbin.backends.openai.counting import NOTHING, added, usage_of
from tenbin.backends.openai.dialect import Dialect
from tenbin.backends.openai.limit import AdaptiveLimit
from tenbin.backends.openai.patience import Patience
from tenbin.backends.openai.secret import Secret
from tenbin.backends.openai.transport import Reply, Traffic, Transport
from tenbin.errors import BackendError
from tenbin.records import Failure, Response, Usage

Encode = Callable[[str], Sequence[int]]
_COUNTED = frozenset({"server", "timeout", "connection", "malformed", "refused", "not_shown"})
"""Failures that say something of the server; a prompt that is too long says nothing of it."""


_ANSWER_BYTES, _BYTES_A_TOKEN = 16 << 20, 4 << 10
"""Bytes that an answer may have, beside those for its question: some in any case, and more for each
token that is asked for, which may be shown with the twenty likeliest ones."""
_LONGEST_CONNECT = 30.0
"""Seconds until a server that does not take a connection is not there."""


@dataclass(frozen=True, slots=True)
class Server:
    """Which server is asked, and how."""

    arguments: ServerArguments
    secret: Secret
    model: str
    dialect: Dialect
    is_chat: bool
    first_wait: float = 0.5
    """Seconds before the first further try."""
    answer_bytes: int = _ANSWER_BYTES
    """Bytes that an answer may have in any case."""


@dataclass(slots=True)
class Session:
    """An open connection to a server."""

    server: Server
    transport: Transport
    encode: Encode | None = None
    """A text's tokens, without special ones around it; None where no tokenizer is known."""
    failed_in_a_row: int = 0
    counted: Usage = NOTHING
    """What the server counted for all its answers so far."""

    async def ask(self, body: dict[str, object]) -> Reply | Failure:
        """One call for text: completions, or a chat."""
        path = "/chat/completions" if self.server.is_chat else "/completions"
        tokens = body.get(self.server.arguments.limit_field)
        most = self.server.answer_bytes + _BYTES_A_TOKEN * (
            tokens if isinstance(tokens, int) else 0
        )
        reply = await self.transport.post(path, {"model": self.server.model, **body}, most)
        if isinstance(reply, Reply):
            self.counted = added(self.counted, usage_of(reply))
        return reply

    def note(self, response: Response) -> None:
        """Stop a run whose documents all fail, instead of failing them one by one.

        Raises:
            BackendError: So many documents failed one after the other.
        """
        if not isinstance(response, Failure):
            self.failed_in_a_row = 0
        elif response.kind in _COUNTED:
            self.failed_in_a_row += 1
            if self.failed_in_a_row >= self.server.arguments.give_up:
                raise BackendError(
                    f"{self.failed_in_a_row} requests failed one after the other, the last with:"
                    f" {response.message}",
                    "see to the server and run the same command again: without --no_cache"
                    " every answer so far is kept (give_up=N allows more failures in a row)",
                )


@asynccontextmanager
async def open_session(
    server: Server, traffic: Traffic, encode: Encode | None = None
) -> AsyncIterator[Session]:
    """A session that lasts as long as a run's calls."""
    arguments = server.arguments
    longest = min(_LONGEST_CONNECT, arguments.timeout)
    async with open_connections(arguments.base_url, longest) as connections:
        transport = Transport(
            connections,
            server.secret,
            AdaptiveLimit(arguments.concurrency),
            Patience(arguments.retries, server.first_wait),
            arguments.timeout,
            traffic,
        )
        yield Session(server, transport, encode)
