"""A server of our own that breaks the protocol on demand, on the loopback only.

Each call is answered by what a script says of it: well, with an error, with half an answer, slowly,
or not at all. Calls are remembered with their bodies and headers.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tenbin.backends.base import BackendSettings
from tenbin.backends.openai.backend import ServerBackend, _open


@dataclass(frozen=True)
class Answer:
    """What goes over the wire for one call."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """Bytes of the body that are sent before the connection is dropped."""
    promised: int | None = None
    """Content-Length, where it is not the body's own."""
    drip: float = 0.0
    """Seconds between two bytes."""
    delay: float = 0.0
    raw: bytes | None = None
    """The body as it is, instead of JSON."""


DROPPED = Answer(cut_after=-1)
"""The connection is closed before a word was said."""


def completion(text: str, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A good answer of the completions protocol."""
    return {
        "choices": [{"index": 0, "text": text, "finish_reason": finish, **more}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }


def chat(text: str | None, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A good answer of the chat protocol."""
    message = {"role": "assistant", "content": text, **more}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }


Script = Callable[[int, Mapping[str, Any]], Answer]
"""(how often this prompt was asked before, the call's body) → what to do."""


class Misbehaving(ThreadingHTTPServer):
    """Serves `/v1/models` and answers everything else from a script."""

    daemon_threads = True

    def __init__(self, script: Script, models: Any = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.models = models or {"data": [{"id": "made-up", "owned_by": "tests", "created": 1}]}
        self.calls: list[Mapping[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.moments: list[float] = []
        self.most_at_once = self._now = 0
        self._asked: dict[str, int] = {}
        self._lock = threading.Lock()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def enter(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> int:
        """Remember a call; how often its prompt came before."""
        with self._lock:
            self.calls.append(body)
            self.paths.append(path)
            self.headers.append(headers)
            self.moments.append(time.monotonic())
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            prompt = json.dumps(body.get("prompt", body.get("messages")))
            before = self._asked.get(prompt, 0)
            self._asked[prompt] = before + 1
            return before

    def leave(self) -> None:
        with self._lock:
            self._now -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Misbehaving

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        found = self.server.models
        self._send(found if isinstance(found, Answer) else Answer(found))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        before = self.server.enter(self.path, dict(self.headers), body)
        try:
            self._send(self.server.script(before, body))
        finally:
            self.server.leave()

    def _send(self, answer: Answer) -> None:
        time.sleep(answer.delay)
        if answer.cut_after == -1:
            self.close_connection = True
            return
        written = answer.raw if answer.raw is not None else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        length = len(written) if answer.promised is None else answer.promised
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if answer.cut_after is not None:
            written, self.close_connection = written[: answer.cut_after], True
        if not answer.drip:
            self.wfile.write(written)
            return
        for byte in written:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(answer.drip)


@contextmanager
def misbehaving(script: Script, models: Any = None) -> Iterator[Misbehaving]:
    """A server as long as the block lasts."""
    server = Misbehaving(script, models)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def opened(server: Misbehaving, is_chat: bool = False, **arguments: Any) -> ServerBackend:
    """A backend of that server whose waits are short."""
    given = {"base_url": server.base_url, "model": "made-up", **arguments}
    backend = _open(BackendSettings("openai", given), is_chat)
    backend._server = replace(backend._server, first_wait=0.01)
    return backend
