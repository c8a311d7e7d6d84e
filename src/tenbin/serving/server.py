"""Addresses → answers. Reads only: there is no address that changes anything.

/                       the runs of the folder, as a page that asks again now and then
/runs.json              the same as JSON
/report?run=A&run=B     the report of these runs
/blocks/KEY/NUMBER      a block of a report's samples
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tenbin.errors import ConfigError, TenbinError
from tenbin.report.html.packing import Blocks
from tenbin.report.html.page import Page, Place, content_policy, page_text
from tenbin.report.html.wording import messages
from tenbin.serving.access import HEADERS, Access
from tenbin.serving.library import Library
from tenbin.serving.listing import list_runs
from tenbin.version import __version__


class Server(ThreadingHTTPServer):
    """A server over one folder."""

    daemon_threads = True

    def __init__(
        self,
        root: Path,
        host: str,
        port: int,
        token: str | None,
        language: str = "en",
        log: Callable[[str], None] | None = None,
    ) -> None:
        messages(language)
        list_runs(root)
        self.library = Library(root, language)
        self.log = log
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise ConfigError(
                f"cannot serve at {host} port {port}: {error.strerror}", "choose another --port"
            ) from error
        self.access = Access(host, self.server_address[1], token)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        shown = self.access.host if ":" not in self.access.host else f"[{self.access.host}]"
        secret = f"?token={self.access.token}" if self.access.token else ""
        return f"http://{shown}:{self.access.port}/{secret}"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "tenbin"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer; a fault in what was asked is a plain sentence."""
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        access = self.server.access
        if not access.allows_host(self.headers.get("Host")):
            return self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "this is not the host you asked")
        given = query.get("token", [None])[0]
        if not access.allows(given, self.headers.get("Cookie")):
            return self._refuse(HTTPStatus.FORBIDDEN, "open the address that tenbin serve printed")
        if given is not None and access.token is not None:
            return self._send(
                b"", "text/plain", HTTPStatus.SEE_OTHER,
                {"Location": address.path, "Set-Cookie": access.cookie()},
            )  # fmt: skip
        try:
            answer = self._answer(address.path, query)
        except TenbinError as error:
            return self._refuse(HTTPStatus.NOT_FOUND, error.message)
        return answer()

    do_HEAD = do_GET

    def _answer(self, path: str, query: dict[str, list[str]]) -> Callable[[], None]:
        library = self.server.library
        if path == "/":
            return partial(self._page, _listing_page(library), "")
        if path == "/runs.json":
            listed = json.dumps({"runs": list_runs(library.root)}, ensure_ascii=False)
            return partial(self._send, listed.encode(), "application/json")
        if path == "/report":
            key, page = library.open(query.get("run", []))
            return partial(self._page, page, f"/blocks/{key}/")
        parts = path.split("/")
        if len(parts) == 4 and parts[1] == "blocks" and parts[3].isdecimal():
            block = library.block(parts[2], int(parts[3]))
            if block is not None:
                return partial(self._send, block, "application/octet-stream")
        return partial(self._refuse, HTTPStatus.NOT_FOUND, "there is nothing at this address")

    def _page(self, page: Page, blocks: str) -> None:
        place = Place("server", blocks)
        text = "".join(page_text(page, place)).encode()
        policy = content_policy(place) + "; frame-ancestors 'none'"
        self._send(text, "text/html; charset=utf-8", more={"Content-Security-Policy": policy})

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self._send(f"{reason}\n".encode(), "text/plain; charset=utf-8", status)

    def _send(
        self,
        content: bytes,
        kind: str,
        status: HTTPStatus = HTTPStatus.OK,
        more: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say what was asked, without a token."""
        if self.server.log is not None:
            line = format % arguments
            token = self.server.access.token
            self.server.log(line.replace(token, "…") if token else line)


def _listing_page(library: Library) -> Page:
    summary = {
        "format": 1,
        "tenbin_version": __version__,
        "title": library.root.name or str(library.root),
        "listing": True,
        "runs": [],
    }
    return Page("tenbin", summary, Blocks(), library.language)
