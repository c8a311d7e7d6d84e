"""HTTP within bounds: connections to one server, one call, and the JSON that comes back.

Every call has a limit in seconds and in unpacked bytes, which httpx does not have: its time limits
start again with every byte, and it unpacks whatever comes. Redirects are not followed and cookies
not kept. The JSON is checked for what JSON itself leaves open (depth, lone surrogates, the size of
numbers), and the key is removed from its strings.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

from tenbin.backends.openai.secret import Secret
from tenbin.errors import BackendError, ConfigError

if TYPE_CHECKING:
    import httpx


ACCEPTED = "gzip, deflate"
"""Content encodings that are requested, and the only ones that are decoded."""
_ERROR_BYTES = 1 << 18
"""Bytes of an error body that are read; the rest is ignored."""


@dataclass(frozen=True, slots=True)
class Received:
    """An HTTP response, read within its bounds."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    """Decoded."""

    @property
    def text(self) -> str:
        """The content as text, for messages; invalid UTF-8 is replaced."""
        return self.content.decode("utf-8-sig", errors="replace")


class UnreadableError(Exception):
    """A response that was not read to its end; the message completes "the answer is …"."""

    def __init__(self, message: str, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
        """Whether another attempt would give the same."""


async def receive(
    client: httpx.AsyncClient, request: httpx.Request, seconds: float, most: int
) -> Received:
    """Send a request and read its response.

    Args:
        client: An open connection.
        request: The request.
        seconds: Limit for all of it, from connecting to the last byte.
        most: Most bytes of a successful response, decoded.

    Raises:
        UnreadableError: It is larger, or in an encoding that was not requested.
        asyncio.TimeoutError: The time is over.
        httpx.HTTPError: The connection could not be made, or broke.
    """
    return await asyncio.wait_for(_receive(client, request, most), seconds)


async def _receive(client: httpx.AsyncClient, request: httpx.Request, most: int) -> Received:
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        content = await _content(response, most)
        return Received(response.status_code, response.headers, content)
    finally:
        await response.aclose()


async def _content(response: httpx.Response, most: int) -> bytes:
    if response.status_code != 200:
        try:
            return await _read(response, _ERROR_BYTES, cuts=True)
        except UnreadableError:
            return b""  # The status alone says what happened to the call.
    if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        # Such a stream may never end, and its parts are not an answer.
        raise UnreadableError("a stream of events, which was not requested", permanent=True)
    return await _read(response, most, cuts=False)


async def _read(response: httpx.Response, most: int, cuts: bool) -> bytes:
    decoder = _Decoder(response.headers.get("content-encoding", ""))
    content, came = bytearray(), 0
    async for piece in response.aiter_raw():
        came += len(piece)
        # One byte more than allowed shows that the response is too long.
        content += decoder.decode(piece, most + 1 - len(content))
        # Encoded bytes count too: they may decode to nothing for ever.
        if len(content) > most or came > most:
            if cuts:
                return bytes(content[:most])
            raise UnreadableError(f"longer than {_size(most)}", permanent=True)
    decoder.check_end()
    return bytes(content)


def _size(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB" if count >= 2**20 else f"{count:,} bytes"


class _Decoder:
    """Decodes gzip or deflate, a bounded piece at a time."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._began = False
        self._inner: Any = None
        if self._encoding in ("gzip", "x-gzip"):
            self._inner = zlib.decompressobj(zlib.MAX_WBITS | 16)
        elif self._encoding == "deflate":
            self._inner = zlib.decompressobj()
        elif self._encoding not in ("", "identity"):
            raise UnreadableError("in a content encoding that was not requested", permanent=True)

    def decode(self, piece: bytes, most: int) -> bytes:
        if self._inner is None:
            return piece[:most]
        if not piece:
            return b""
        try:
            if not self._began and self._encoding == "deflate" and piece[0] & 0x0F != 8:
                # Some servers leave out the two-byte zlib header that `deflate` calls for.
                self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
            self._began = True
            return self._inner.decompress(piece, most) if most > 0 else b""
        except zlib.error:
            raise UnreadableError(f"incomplete {self._encoding}") from None

    def check_end(self) -> None:
        if self._inner is not None and self._began and not self._inner.eof:
            raise UnreadableError(f"incomplete {self._encoding}")


class Connections:
    """Connections to one server, each lent to one call at a time.

    One client per connection instead of one client with many: at every call httpx's own pool looks
    at all of its connections for each of them, which costs more than the call where there are
    dozens.
    """

    def __init__(self, base_url: str, connect_timeout: float) -> None:
        self.base_url = base_url
        self._connect_timeout = connect_timeout
        self._free: list[httpx.AsyncClient] = []
        self._all: list[httpx.AsyncClient] = []
        # Reading the certificates takes longer than opening a connection, so they are shared.
        self._verify = _certificates()

    @contextmanager
    def borrow(self) -> Iterator[httpx.AsyncClient]:
        """The most recently used free connection, or a new one, for the length of the block."""
        client = self._free.pop() if self._free else self._opened()
        try:
            yield client
        finally:
            self._free.append(client)

    def _opened(self) -> httpx.AsyncClient:
        import httpx

        try:
            client = httpx.AsyncClient(
                base_url=self.base_url,
                # `receive` limits the whole call; this limit is for a server that is not there.
                timeout=httpx.Timeout(None, connect=self._connect_timeout),
                limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
                headers={"User-Agent": "tenbin", "Accept-Encoding": ACCEPTED},
                verify=self._verify,
            )
        except httpx.InvalidURL as error:
            raise ConfigError(f"model argument base_url={self.base_url}: {error}") from None
        except (ImportError, ValueError):
            # httpx's own message is not shown: a proxy's address may hold a password.
            raise BackendError(
                "a proxy that the environment names cannot be used",
                "look at HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; NO_PROXY=HOST leaves a server out",
            ) from None
        # With cookies a server could make every call longer.
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._all.append(client)
        return client

    async def close(self) -> None:
        """Close all of them."""
        for client in self._all:
            await client.aclose()


@asynccontextmanager
async def open_connections(base_url: str, connect_timeout: float) -> AsyncIterator[Connections]:
    """Connections that are closed at the end of the block."""
    connections = Connections(base_url, connect_timeout)
    try:
        yield connections
    finally:
        await connections.close()


def _certificates() -> Any:
    return _read_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=4)
def _read_certificates(file: str | None, folder: str | None) -> Any:
    """The trusted certificate authorities that the environment names."""
    import httpx

    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise BackendError(
            f"the certificates of trusted authorities cannot be read: {error.strerror or error}",
            f"look at SSL_CERT_FILE={file or ''} and SSL_CERT_DIR={folder or ''}",
        ) from None


_DEEPEST = 100
"""Levels of JSON whose strings are searched; the protocol has about eight."""
_MOST_TOKENS = 10**9
"""A higher number cannot be the token count of one call."""
_SHOWN = 40
"""Characters of a wrong value that a message shows."""


class BadAnswerError(Exception):
    """An answer breaks the protocol; the message says how."""

    kind = "malformed"


def parse_answer(content: bytes, secret: Secret) -> Any:
    """The JSON of a successful response, without the key.

    Raises:
        BadAnswerError: It is not JSON, or holds text that cannot be stored.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadAnswerError("not text in UTF-8") from None
    body = _loaded(text)
    # A lone surrogate can only come from an escape: UTF-8 has none.
    if "\\ud" in text or "\\uD" in text or secret.may_be_in(text):
        return cleaned(body, secret.scrubbed_answer)
    return body


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise BadAnswerError("nested too deeply") from None
    except ValueError:
        begins = text[:200].lstrip()
        if begins.startswith("<"):
            raise BadAnswerError("a web page: does base_url end in /v1?") from None
        if begins.startswith(("data:", "event:")):
            raise BadAnswerError("a stream of events, which was not requested") from None
        raise BadAnswerError("not complete JSON") from None


def cleaned(value: Any, scrub: Callable[[str], str], depth: int = 0) -> Any:
    """JSON with a function applied to all its strings, names included.

    Raises:
        BadAnswerError: A string cannot be written as UTF-8, or it is nested too deeply.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadAnswerError("text with half of a character (a lone surrogate)") from None
        return scrub(value)
    if not isinstance(value, dict | list):
        return value
    if depth == _DEEPEST:
        raise BadAnswerError("nested too deeply")
    if isinstance(value, list):
        return [cleaned(one, scrub, depth + 1) for one in value]
    return {cleaned(name, scrub): cleaned(one, scrub, depth + 1) for name, one in value.items()}


def only_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one choice that was requested.

    Raises:
        BadAnswerError: There is none, there are several, or its index is not 0.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise BadAnswerError("the answer holds no choices")
    if len(choices) > 1:
        raise BadAnswerError(f"the answer holds {len(choices):,} choices instead of one")
    index = choices[0].get("index")
    if index is not None and (index != 0 or isinstance(index, bool)):
        raise BadAnswerError(f"the answer's only choice has index {shown(index)}, not 0")
    return choices[0]


def number_of(value: Any) -> float | None:
    """A JSON value as a float, infinite where it is too large; None if it is not a number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def read_count(value: Any) -> int | None:
    """A JSON value as a token count; None if it cannot be one."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and 0 <= value <= _MOST_TOKENS else None


def shown(value: Any) -> str:
    """A wrong value for a message: its type where it has parts, else its first characters."""
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and not -(10**_SHOWN) < value < 10**_SHOWN:
        return "a number of many digits"
    written = repr(value)
    return written if len(written) <= _SHOWN else written[: _SHOWN - 1] + "…"
