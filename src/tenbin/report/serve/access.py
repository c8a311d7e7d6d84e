"""Who may ask a server what: host names, tokens, and the headers that every answer carries.

On a loopback address the machine itself is the border, but any web page can send a browser there:
a request must name the host that was bound, which a page of another name cannot make it do. Bound
elsewhere, a token is asked for, in the address once and in a cookie from then on.
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
    """The rules of one server."""

    host: str
    port: int
    token: str | None

    def allows_host(self, header: str | None) -> bool:
        """Whether the Host header names this server; behind a token, any name will do."""
        if self.token is not None:
            return header is not None
        names = {"localhost", "127.0.0.1", "[::1]", self.host, f"[{self.host}]"}
        return header is not None and header.lower() in {f"{name}:{self.port}" for name in names}

    def allows(self, given: str | None, cookies: str | None) -> bool:
        """Whether a token that opens this server was given."""
        if self.token is None:
            return True
        return any(_same(one, self.token) for one in (given, _cookie(cookies)))

    @property
    def query(self) -> str:
        """The token as an address carries it."""
        return f"token={quote(self.token or '', safe='')}"

    def cookie(self) -> str:
        """The header that spares further requests the token in their address."""
        value = quote(self.token or "", safe="")
        return f"{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/"


def _same(given: str | None, token: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), token.encode())


def _cookie(header: str | None) -> str | None:
    """Our cookie's value. Not by the library's parser, which takes long over some headers."""
    for part in (header or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return unquote(value)
    return None
