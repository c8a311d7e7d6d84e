"""A server that says anything at all, byte by byte, on the loopback only.

Prompts that begin with `hostile` are answered by what a test brings, every other one well. Unlike
`misbehaving`, nothing here is written by an HTTP library, so that nothing is kept right by one.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.backends.openai.misbehaving import completion

MODELS = {"data": [{"id": "made-up", "owned_by": "tests", "created": 1}]}


def framed(content: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole answer with its length.

    Each says that its connection ends: the client would ask again on one that is being closed.
    """
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + content


def json_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


@dataclass
class Call:
    """One request, and the connection to answer it on."""

    connection: socket.socket
    stream: Any
    """The same, for reading."""
    over: threading.Event
    """Set when the test is over."""
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def repeat(self, data: bytes, pause: float = 0.0) -> None:
        """Send it again and again, until the client goes away."""
        while not self.over.wait(pause) if pause else not self.over.is_set():
            self.connection.sendall(data)

    def reset(self) -> None:
        """Break the connection off instead of closing it."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stream.close()
        self.connection.close()


Behaviour = Callable[[Call], None]


def _well(body: dict[str, Any]) -> Any:
    shown = {"logprobs": {"top_logprobs": [{"A": -0.1, "B": -3.0}]}} if "logprobs" in body else {}
    return completion(f"to {body['prompt']}", **shown)


@dataclass
class Hostile:
    """The server: `behave` answers hostile prompts, `say` others, `list_models` every GET."""

    behave: Behaviour
    list_models: Behaviour = lambda call: call.send(framed(json_bytes(MODELS)))
    say: Callable[[dict[str, Any]], Any] = _well
    calls: list[Call] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"

    def accept(self) -> None:
        while not self.over.is_set():
            with suppress(TimeoutError):
                connection, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(20)
        with suppress(OSError, ValueError), connection, connection.makefile("rb") as stream:
            while call := self._read(connection, stream):
                self.calls.append(call)
                if str(call.body.get("prompt")).startswith("hostile"):
                    self.behave(call)
                    # Closed at once, the connection could be reset before the client has read.
                    connection.shutdown(socket.SHUT_WR)
                    stream.read()
                    return
                if not call.body:
                    self.list_models(call)
                else:
                    call.send(framed(json_bytes(self.say(call.body))))

    def _read(self, connection: socket.socket, stream: Any) -> Call | None:
        first = stream.readline().split()
        if not first:
            return None
        headers = {}
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        content = stream.read(int(headers.get("content-length", 0)))
        body = json.loads(content) if content else {}
        return Call(connection, stream, self.over, first[1].decode(), headers, body)


@contextmanager
def hostile(behave: Behaviour, list_models: Behaviour | None = None) -> Iterator[Hostile]:
    """A server as long as the block lasts."""
    server = Hostile(behave, **({"list_models": list_models} if list_models else {}))
    server.listener.settimeout(0.02)
    thread = threading.Thread(target=server.accept)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        thread.join()
        server.listener.close()
