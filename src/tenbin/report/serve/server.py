"""The HTTP server of one folder: a thread per connection, a limited number at a time."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from errno import EADDRINUSE
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from tenbin.errors import ConfigError
from tenbin.report.html.messages import messages
from tenbin.report.serve.access import Access
from tenbin.report.serve.handler import BUSY, Handler
from tenbin.report.serve.index import list_runs
from tenbin.report.serve.leaderboards import BoardCache
from tenbin.report.serve.pages import PageCache
from tenbin.report.serve.request_limits import Limits

_LAST_PORT = 65_535


class Server(ThreadingHTTPServer):
    """A server over one folder."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        root: Path,
        host: str,
        port: int,
        token: str | None,
        language: str = "en",
        log: Callable[[str], None] | None = None,
        limits: Limits | None = None,
        watch: Callable[[int, int], None] | None = None,
    ) -> None:
        messages(language)
        if not 0 <= port <= _LAST_PORT:
            raise ConfigError(f"--port {port}: ports are 0 to {_LAST_PORT}", "choose another")
        list_runs(root, watch)
        self.pages = PageCache(root, language)
        self.boards = BoardCache(root)
        self.log = log
        self.limits = limits or Limits()
        self._slots = BoundedSemaphore(self.limits.connections)
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            raise ConfigError(
                f"cannot serve at {host} port {port}: {error.strerror}",
                "choose another --port" if error.errno == EADDRINUSE else "choose another --host",
            ) from error
        self.access = Access(host, self.server_address[1], token)

    @property
    def address(self) -> str:
        """The address to open in a browser, with the token if there is one."""
        shown = self.access.host if ":" not in self.access.host else f"[{self.access.host}]"
        secret = f"?{self.access.query}" if self.access.token else ""
        return f"http://{shown}:{self.access.port}/{secret}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection, or answer 503 if there are too many."""
        if not self._slots.acquire(blocking=False):
            with suppress(OSError):
                request.setblocking(False)
                request.send(BUSY)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of one connection and release its slot."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: socket.socket | Any, client_address: Any) -> None:
        """Log a broken connection without a traceback."""
        if self.log is not None:
            self.log("a connection broke")
