"""What a server says besides answers: its list of models, its version. Asked once, within bounds.

Knows tries and limits; knows no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tenbin.backends.openai.arguments import ServerArguments
from tenbin.backends.openai.connections import Connections, open_connections
from tenbin.backends.openai.parsing import BadAnswerError, cleaned, parse_answer
from tenbin.backends.openai.receiving import Received, UnreadableError, receive
from tenbin.backends.openai.secret import Secret
from tenbin.backends.openai.verdict import Verdict, judge_refusal, one_line, read_error
from tenbin.errors import BackendError

_TRIES = 3
_WAIT = 0.5
"""Seconds before the second try; twice that before the third."""
_SECONDS, _SECONDS_TO_CONNECT = 20.0, 10.0
_MOST_BYTES = 16 << 20
_SHOWN = 80
"""Characters of a wrong answer that a message repeats."""


@dataclass(frozen=True, slots=True)
class Page:
    """What one address gave."""

    address: str
    received: Received
    body: Any
    """Its JSON without the key; None where there is none that can be used."""
    secret: Secret

    @property
    def refusal(self) -> Verdict:
        """What a status other than 200 means."""
        elsewhere = self.received.headers.get("location", "")
        return judge_refusal(self.received.status, self.received.words, self.secret, elsewhere)

    @property
    def summary(self) -> str:
        """Status and first words, for a message."""
        words, _ = read_error(self.received.words, self.secret)
        return f"HTTP {self.received.status}" + (f": {one_line(words, _SHOWN)}" if words else "")


@dataclass(frozen=True, slots=True)
class Lookup:
    """Asks one server for pages."""

    connections: Connections
    secret: Secret
    seconds: float

    async def get(self, address: str) -> Page:
        """A page that must be there, whatever its status.

        Raises:
            BackendError: Nothing answers, or it cannot be read.
        """
        for attempt in range(1, _TRIES + 1):
            try:
                received = await self._received(address)
            except UnreadableError as error:
                raise BackendError(
                    f"{address}: the answer is {error}", "check base_url: it usually ends in /v1"
                ) from None
            except _no_answer() as error:
                self._give_up(address, error, attempt == _TRIES)
            else:
                if received.status < 500 or attempt == _TRIES:
                    return Page(address, received, self._body(received), self.secret)
            await asyncio.sleep(_WAIT * attempt)
        raise AssertionError("the loop above returns or raises")

    async def read(self, address: str) -> Mapping[str, Any]:
        """A page beside the protocol; empty where the server has none that can be used."""
        try:
            received = await self._received(address)
        except UnreadableError:
            return {}
        except _no_answer():
            return {}
        body = self._body(received)
        return body if isinstance(body, Mapping) else {}

    async def _received(self, address: str) -> Received:
        with self.connections.lent() as client:
            request = client.build_request("GET", address, headers=self.secret.headers())
            return await receive(client, request, self.seconds, _MOST_BYTES)

    def _body(self, received: Received) -> Any:
        if received.status != 200:
            return None
        try:
            return cleaned(parse_answer(received.content, self.secret), self.secret.scrubbed)
        except BadAnswerError:
            return None

    def _give_up(self, address: str, error: Exception, is_last: bool) -> None:
        """Raise what is worth no further try."""
        reason = one_line(self.secret.scrubbed(str(error))) or type(error).__name__
        if isinstance(error, asyncio.TimeoutError):
            reason = f"no whole answer within {self.seconds:g} s"
        if "certificate" in reason.lower():
            raise BackendError(
                f"no safe connection to {address}: {reason}",
                "check base_url; SSL_CERT_FILE=FILE names the certificate of an authority of"
                " your own",
            ) from None
        if "ssl" in reason.lower():
            raise BackendError(
                f"no safe connection to {address}: {reason}",
                "a server of your own usually speaks plain http: base_url=http://…",
            ) from None
        if is_last:
            raise BackendError(
                f"no server answers at {address}: {reason}",
                "start it, or check base_url; a server that is loading its model needs a while",
            ) from None


def _no_answer() -> tuple[type[Exception], ...]:
    import httpx

    return asyncio.TimeoutError, httpx.HTTPError


@asynccontextmanager
async def open_lookup(arguments: ServerArguments, secret: Secret) -> AsyncIterator[Lookup]:
    """Look things up as long as the block lasts."""
    seconds = min(_SECONDS, arguments.timeout)
    connecting = min(_SECONDS_TO_CONNECT, seconds)
    async with open_connections(arguments.base_url, connecting) as connections:
        yield Lookup(connections, secret, seconds)
