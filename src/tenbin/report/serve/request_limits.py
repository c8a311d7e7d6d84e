"""Limits of time and size for what a client sends and receives.

A socket's own timeout restarts with every byte, so one byte every few seconds would hold a
connection for ever.
"""

from __future__ import annotations

import io
import socket
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server."""

    seconds: float = 10.0
    """For a complete request to arrive, and for each part of an answer to be received."""
    request_bytes: int = 128 << 10
    """Address and headers together."""
    connections: int = 64
    """Open at the same time, of all clients together."""
    part_bytes: int = 256 << 10
    """Part of an answer that must be received within `seconds`."""


class Incoming(io.RawIOBase):
    """The reading side of a connection."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        super().__init__()
        self._connection, self._limits = connection, limits
        self.begin()

    def begin(self) -> None:
        """Restart the limits for a new request."""
        self._ends = time.monotonic() + self._limits.seconds
        self._left = self._limits.request_bytes

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has arrived.

        Raises:
            TimeoutError: The time is over or the request is too long.
        """
        seconds = self._ends - time.monotonic()
        if seconds <= 0 or self._left <= 0:
            raise TimeoutError("the request did not end")
        self._connection.settimeout(seconds)
        count = self._connection.recv_into(memoryview(buffer)[: self._left])
        self._left -= count
        return count


def send_within(connection: socket.socket, content: bytes, limits: Limits) -> None:
    """Send an answer in parts.

    Raises:
        TimeoutError: The client does not receive a part in time.
        OSError: The client is gone.
    """
    view = memoryview(content)
    for start in range(0, len(view), limits.part_bytes):
        connection.settimeout(limits.seconds)
        connection.sendall(view[start : start + limits.part_bytes])
