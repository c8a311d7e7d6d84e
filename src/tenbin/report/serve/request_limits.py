"""What a client sends, within bounds: so many seconds for a whole request, so many bytes.

A socket's own limit begins anew with every byte, so that one byte every few seconds would hold a
connection for ever. Knows no HTTP.
"""

from __future__ import annotations

import io
import socket
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may take of a server."""

    seconds: float = 10.0
    """For a request to come whole, and for each part of an answer to be taken."""
    request_bytes: int = 128 << 10
    """Address and headers together."""
    connections: int = 64
    """At a time, of all clients together."""
    part_bytes: int = 256 << 10
    """Of an answer that must be taken within `seconds`."""


class Incoming(io.RawIOBase):
    """The reading side of a connection."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        super().__init__()
        self._connection, self._limits = connection, limits
        self.begin()

    def begin(self) -> None:
        """A new request: its time and its bytes begin."""
        self._ends = time.monotonic() + self._limits.seconds
        self._left = self._limits.request_bytes

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come.

        Raises:
            TimeoutError: The time is over, or the request too long.
        """
        seconds = self._ends - time.monotonic()
        if seconds <= 0 or self._left <= 0:
            raise TimeoutError("the request did not end")
        self._connection.settimeout(seconds)
        count = self._connection.recv_into(memoryview(buffer)[: self._left])
        self._left -= count
        return count


def send_within(connection: socket.socket, content: bytes, limits: Limits) -> None:
    """Send an answer to a client that takes it.

    Raises:
        TimeoutError: It does not take the next part in time.
        OSError: It went away.
    """
    view = memoryview(content)
    for start in range(0, len(view), limits.part_bytes):
        connection.settimeout(limits.seconds)
        connection.sendall(view[start : start + limits.part_bytes])
