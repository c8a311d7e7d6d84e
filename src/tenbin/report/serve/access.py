"""Access rules of a server: host names, tokens, and the headers of every answer.

A loopback address is reachable from this machine only, but any web page can make a browser send
requests there. So the Host header must name the bound host, which a page of another origin cannot
forge. On other addresses a token is required: in the address once, then in a cookie.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass
from urllib.parse import quote, unquote

COOKIE = "tenbin_token"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Access:
    """The access rules of one server."""

    host: str
    port: int
    token: str | None

    def allows_host(self, header: str | None) -> bool:
        """Whether the Host header names this server; with a token, any name is accepted."""
        if self.token is not None:
            return header is not None
        names = {"localhost", "127.0.0.1", "[::1]", self.host, f"[{self.host}]"}
        return header is not None and header.lower() in {f"{name}:{self.port}" for name in names}

    def allows(self, given: str | None, cookies: str | None) -> bool:
        """Whether the right token was given."""
        if self.token is None:
            return True
        return any(_same(one, self.token) for one in (given, _cookie(cookies)))

    @property
    def query(self) -> str:
        """The token as a query of an address."""
        return f"token={quote(self.token or '', safe='')}"

    def cookie(self) -> str:
        """Return the cookie header that replaces the token in later addresses."""
        value = quote(self.token or "", safe="")
        return f"{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/"


def _same(given: str | None, token: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), token.encode())


def _cookie(header: str | None) -> str | None:
    """Return our cookie's value, without the library's parser, which is slow on some headers."""
    for part in (header or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return unquote(value)
    return None
