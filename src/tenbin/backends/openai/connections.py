"""Connections to one server, each lent to one call at a time.

One client a connection, instead of one client with many: httpx's own pool looks at all of its
connections for each of them at every call, which costs more than the call where there are dozens.
Knows an address; knows no key and no body.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


class Connections:
    """Opens a connection when none is free, and uses the one that rested least."""

    def __init__(self, base_url: str, connect_timeout: float) -> None:
        self.base_url = base_url
        self._connect_timeout = connect_timeout
        self._free: list[httpx.AsyncClient] = []
        self._all: list[httpx.AsyncClient] = []
        # Reading the certificates takes longer than opening a connection: once for all.
        self._verify = _certificates()

    @contextmanager
    def lent(self) -> Iterator[httpx.AsyncClient]:
        """A connection of one's own inside."""
        client = self._free.pop() if self._free else self._opened()
        try:
            yield client
        finally:
            self._free.append(client)

    def _opened(self) -> httpx.AsyncClient:
        import httpx

        client = httpx.AsyncClient(
            base_url=self.base_url,
            # A whole call has a limit of its own; this one is for a server that is not there.
            timeout=httpx.Timeout(None, connect=self._connect_timeout),
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
            headers={"User-Agent": "tenbin"},
            verify=self._verify,
        )
        self._all.append(client)
        return client

    async def close(self) -> None:
        """Close all of them."""
        for client in self._all:
            await client.aclose()


@asynccontextmanager
async def open_connections(base_url: str, connect_timeout: float) -> AsyncIterator[Connections]:
    """Connections that last as long as the block."""
    connections = Connections(base_url, connect_timeout)
    try:
        yield connections
    finally:
        await connections.close()


def _certificates() -> Any:
    import httpx

    return httpx.create_ssl_context()
