"""Answers requests; read-only.

/                       the runs of the folder, as a page that polls /runs.json
/runs.json?known=MARK   the same as JSON, if it is no longer what the mark says
/leaderboard.json?known=MARK   the leaderboard of all runs, as far as it is known
/report?run=A&run=B     the report of these runs
/blocks/KEY/NUMBER      a block of a report's samples
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tenbin.errors import ResultError
from tenbin.report.html.model import PageSummary
from tenbin.report.html.page import Page, Place, content_policy, page_text
from tenbin.report.html.sample_blocks import Blocks
from tenbin.report.serve.access import HEADERS
from tenbin.report.serve.index import find_runs, list_runs
from tenbin.report.serve.pages import PageCache, UnknownRunError
from tenbin.report.serve.request_limits import Incoming, send_within
from tenbin.version import __version__

if TYPE_CHECKING:
    from tenbin.report.serve.server import Server

_MOST_FIELDS = 300
_BLOCK = re.compile(r"/blocks/([0-9a-f]{24})/([0-9]{1,9})", re.ASCII)
_TOKEN = re.compile(r"(token=)[^&\s]*", re.IGNORECASE)
_REASONS = {
    HTTPStatus.REQUEST_URI_TOO_LONG: "the address is too long",
    HTTPStatus.NOT_IMPLEMENTED: "only GET and HEAD are supported",
}
BUSY = (
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n"
    "Retry-After: 10\r\n" + "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
).encode() + b"\r\n"
"""The answer to a connection beyond the limit."""


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "tenbin"
    sys_version = ""

    def setup(self) -> None:
        """Read requests within the limits."""
        super().setup()
        self._incoming = Incoming(self.connection, self.server.limits)
        self.rfile = io.BufferedReader(self._incoming)

    def handle_one_request(self) -> None:
        """Answer one request and restart its time limit."""
        self._incoming.begin()
        super().handle_one_request()

    def do_GET(self) -> None:
        """Check the request and answer it; errors are answered with one sentence."""
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            # An unread body would be parsed as the next request.
            return self._refuse(HTTPStatus.BAD_REQUEST, "requests with a body are not accepted")
        try:
            address = urlsplit(self.path)
            query = parse_qs(address.query, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return self._refuse(HTTPStatus.BAD_REQUEST, "the address is malformed")
        access = self.server.access
        if not access.allows_host(self.headers.get("Host")):
            return self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "the host name is not this server")
        given = query.get("token", [None])[0]
        if not access.allows(given, self.headers.get("Cookie")):
            return self._refuse(HTTPStatus.FORBIDDEN, "open the address that tenbin serve printed")
        if given is not None and access.token is not None:
            return self._send(
                b"", "text/plain", HTTPStatus.SEE_OTHER,
                {"Location": "/", "Set-Cookie": access.cookie()},
            )  # fmt: skip
        return self._answer_or_say_why(address.path, query)

    do_HEAD = do_GET

    def _answer_or_say_why(self, path: str, query: dict[str, list[str]]) -> None:
        try:
            found = self._answer(path, query)
        except UnknownRunError as error:
            return self._refuse(HTTPStatus.NOT_FOUND, error.message)
        except ResultError as error:
            return self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, error.message)
        except Exception as error:
            # Files of the folder may change or vanish at any step.
            self.log_message("%s: %s", path, type(error).__name__)
            return self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "this cannot be shown")
        if found is None:
            return self._refuse(HTTPStatus.NOT_FOUND, "not found")
        content, kind, more = found
        return self._send(content, kind, more=more)

    def _answer(
        self, path: str, query: dict[str, list[str]]
    ) -> tuple[bytes, str, dict[str, str]] | None:
        """Return content, content type and further headers; None if the address is unknown."""
        pages = self.server.pages
        if path == "/":
            return _shown(_listing_page(pages), "")
        if path == "/runs.json":
            return _listed(pages, query.get("known", [""])[0]), "application/json", {}
        if path == "/leaderboard.json":
            known = query.get("known", [""])[0]
            return self.server.boards.answer(known), "application/json", {}
        if path == "/report":
            names = query.get("run", [])
            key, page = pages.open(names)
            try:
                return _shown(page, f"/blocks/{key}/")
            except ValueError:
                # Numbers that JSON does not have, or text that UTF-8 does not.
                shown = ", ".join(dict.fromkeys(names))
                raise ResultError(f"{shown}: damaged and cannot be shown") from None
        if found := _BLOCK.fullmatch(path):
            block = pages.block(found[1], int(found[2]))
            return None if block is None else (block, "application/octet-stream", {})
        return None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer an error that the library found with one sentence instead of HTML."""
        status = HTTPStatus(code)
        reason = _REASONS.get(status, "the request is malformed")
        if status is HTTPStatus.NOT_IMPLEMENTED:
            return self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, reason, {"Allow": "GET, HEAD"})
        return self._refuse(status, reason)

    def _refuse(self, status: HTTPStatus, reason: str, more: dict[str, str] | None = None) -> None:
        self.close_connection = True
        more = {"Connection": "close", **(more or {})}
        content = f"{reason}\n".encode("utf-8", "backslashreplace")
        self._send(content, "text/plain; charset=utf-8", status, more)

    def _send(
        self,
        content: bytes,
        kind: str,
        status: HTTPStatus = HTTPStatus.OK,
        more: dict[str, str] | None = None,
    ) -> None:
        if self.request_version == "HTTP/0.9":
            # The library would leave out the headers of a request without a version.
            self.request_version = "HTTP/1.0"
        self.send_response(status)
        for name, value in {**HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.connection.settimeout(self.server.limits.seconds)
        self.end_headers()
        if self.command != "HEAD":
            send_within(self.connection, content, self.server.limits)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log a request without its token and without control characters."""
        if self.server.log is not None:
            line = _TOKEN.sub(r"\1…", format % arguments)
            self.server.log(ascii(line)[1:-1] if not line.isprintable() else line)


def _shown(page: Page, blocks: str) -> tuple[bytes, str, dict[str, str]]:
    place = Place("server", blocks)
    policy = content_policy(place) + "; frame-ancestors 'none'"
    content = "".join(page_text(page, place)).encode()
    return content, "text/html; charset=utf-8", {"Content-Security-Policy": policy}


def _listed(pages: PageCache, known: str) -> bytes:
    """The runs as JSON; without them if they are what the page knows."""
    listed = json.dumps(list_runs(pages.root), ensure_ascii=False, allow_nan=False)
    mark = hashlib.sha256(listed.encode()).hexdigest()[:24]
    return f'{{"mark": "{mark}", "runs": {"null" if mark == known else listed}}}'.encode()


def _listing_page(pages: PageCache) -> Page:
    title = pages.root.name or str(pages.root)
    stored = sum(found.finished for found in find_runs(pages.root))
    summary = PageSummary(__version__, title, listing=True, stored=stored)
    return Page("tenbin", summary, Blocks(), pages.language)
