"""Connections to one server, each lent to one call at a time.

One client a connection, instead of one client with many: httpx's own pool looks at all of its
connections for each of them at every call, which costs more than the call where there are dozens.
A connection follows no redirect, keeps no cookie and asks for packing that can be undone within
bounds. Knows an address; knows no key and no body.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

from tenbin.backends.openai.receiving import ACCEPTED
from tenbin.errors import BackendError, ConfigError

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

        try:
            client = httpx.AsyncClient(
                base_url=self.base_url,
                # A whole call has a limit of its own; this one is for a server that is not there.
                timeout=httpx.Timeout(None, connect=self._connect_timeout),
                limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
                headers={"User-Agent": "tenbin", "Accept-Encoding": ACCEPTED},
                verify=self._verify,
            )
        except httpx.InvalidURL as error:
            raise ConfigError(f"model argument base_url={self.base_url}: {error}") from None
        except (ImportError, ValueError):
            # Not httpx's own words: a proxy's address may hold a password.
            raise BackendError(
                "a proxy that the environment names cannot be used",
                "look at HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; NO_PROXY=HOST leaves a server out",
            ) from None
        # A server could make every call longer with what it wants to be kept.
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
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
    return _read_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=4)
def _read_certificates(file: str | None, folder: str | None) -> Any:
    """The authorities that are trusted, by what the environment says of them."""
    import httpx

    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise BackendError(
            f"the certificates of trusted authorities cannot be read: {error.strerror or error}",
            f"look at SSL_CERT_FILE={file or ''} and SSL_CERT_DIR={folder or ''}",
        ) from None
