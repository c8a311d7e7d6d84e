"""One call over HTTP, bounded: so many seconds for all of it, so many bytes once unpacked.

httpx bounds neither: its limits on time begin anew with every byte, and it unpacks whatever comes.
Redirects are not followed and cookies not kept. Knows no key and no answer's shape.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

ACCEPTED = "gzip, deflate"
"""Ways of packing that are asked for, and the only ones that are unpacked."""
_ERROR_BYTES = 1 << 18
"""Bytes of a refusal that are read; the rest is left."""


@dataclass(frozen=True, slots=True)
class Received:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    """Unpacked."""

    @property
    def words(self) -> str:
        """The content as text, for messages: what is no UTF-8 is replaced."""
        return self.content.decode("utf-8-sig", errors="replace")


class UnreadableError(Exception):
    """An answer that is not read to its end; the message says what it is."""

    def __init__(self, message: str, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting
        """Whether another try would meet it again."""


async def receive(
    client: httpx.AsyncClient, request: httpx.Request, seconds: float, most: int
) -> Received:
    """Send a request and read what comes back.

    Args:
        client: An open connection.
        request: What is sent.
        seconds: For all of it, from the connection to the last byte.
        most: Bytes of a good answer, unpacked.

    Raises:
        UnreadableError: It is larger, or packed in a way that was not asked for.
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
            return b""  # The status alone says what became of the call.
    if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        # Such a stream need not end, and its parts are no answer.
        raise UnreadableError("a stream of events, which was not asked for", lasting=True)
    return await _read(response, most, cuts=False)


async def _read(response: httpx.Response, most: int, cuts: bool) -> bytes:
    unpacker = _Unpacker(response.headers.get("content-encoding", ""))
    content, came = bytearray(), 0
    async for piece in response.aiter_raw():
        came += len(piece)
        # One byte more than is allowed shows that there is more.
        content += unpacker.unpack(piece, most + 1 - len(content))
        # Packed bytes count too: they may unpack to nothing for ever.
        if len(content) > most or came > most:
            if cuts:
                return bytes(content[:most])
            raise UnreadableError(f"longer than {_size(most)}", lasting=True)
    unpacker.check_end()
    return bytes(content)


def _size(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB" if count >= 2**20 else f"{count:,} bytes"


class _Unpacker:
    """Undoes one layer of gzip or deflate, a bounded piece at a time."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._began = False
        self._inner: Any = None
        if self._encoding in ("gzip", "x-gzip"):
            self._inner = zlib.decompressobj(zlib.MAX_WBITS | 16)
        elif self._encoding == "deflate":
            self._inner = zlib.decompressobj()
        elif self._encoding not in ("", "identity"):
            raise UnreadableError("packed in a way that was not asked for", lasting=True)

    def unpack(self, piece: bytes, most: int) -> bytes:
        if self._inner is None:
            return piece[:most]
        if not piece:
            return b""
        try:
            if not self._began and self._encoding == "deflate" and piece[0] & 0x0F != 8:
                # Some servers leave out the two bytes in front that the name promises.
                self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
            self._began = True
            return self._inner.decompress(piece, most) if most > 0 else b""
        except zlib.error:
            raise UnreadableError(f"no whole {self._encoding}") from None

    def check_end(self) -> None:
        if self._inner is not None and self._began and not self._inner.eof:
            raise UnreadableError(f"no whole {self._encoding}")
