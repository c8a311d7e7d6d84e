"""The worker: a Ray actor on any node that opens the backend once and answers shards.

Errors that a user can mend are returned as records instead of raised, so that the driver reports
them like its own.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenbin.backends.base import Backend, BackendSettings
from tenbin.backends.registry import open_backend
from tenbin.errors import BackendError, ModelLost, TenbinError
from tenbin.records import Request, Response
from tenbin.version import __version__


@dataclass(frozen=True, slots=True)
class Expected:
    """What a worker must match, since it would give other answers otherwise."""

    version: str
    """tenbin's version."""
    python: str
    fingerprint: str
    threads: int


@dataclass(frozen=True, slots=True)
class Opened:
    """The backend is open."""

    node: str
    pid: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A shard's answers."""

    pairs: Sequence[tuple[str, Response]]
    seconds: float
    description: Mapping[str, Any] | None
    """The backend's description, if it changed since the last shard."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """An error that the user can mend."""

    message: str
    hint: str
    node: str


class Worker:
    """Answers shards with a backend of its own."""

    def __init__(self, settings: BackendSettings, expected: Expected) -> None:
        """Keep what to open; nothing is opened yet, so that making a worker cannot fail."""
        self._expected = expected
        self._notices: list[str] = []
        self._settings = replace(settings, notify=self._notices.append)
        self._backend: Backend | None = None
        self._described: Mapping[str, Any] | None = None

    def open(self) -> Opened | Refused:
        """Open the backend and check that it is the one that the driver expects."""
        node = socket.gethostname()
        try:
            _check_versions(self._expected, node)
            _limit_threads(self._expected.threads)
            self._backend = open_backend(self._settings)
            _check_fingerprint(self._backend.fingerprint, self._expected.fingerprint, node)
        except TenbinError as error:
            return Refused(error.message, error.hint, node)
        return Opened(node, os.getpid())

    def answer(
        self, requests: Sequence[Request], known: frozenset[str] = frozenset()
    ) -> Answered | Refused:
        """Answer a shard whole, but for requests whose answers are known.

        Raises:
            ModelLost: The driver counts it as this worker's death.
        """
        assert self._backend is not None
        started = time.monotonic()
        try:
            # A backend that does not resume is given no known ones and may have no such parameter.
            run = self._backend.run
            pairs = list(run(requests, known) if known else run(requests))
        except ModelLost:
            raise
        except TenbinError as error:
            return Refused(error.message, error.hint, socket.gethostname())
        seconds = time.monotonic() - started
        described = dict(self._backend.describe())
        news = described if described != self._described else None
        self._described = described
        notices, self._notices[:] = tuple(self._notices), []
        return Answered(pairs, seconds, news, notices)

    def close(self) -> None:
        """Close the backend: processes that it started do not end with this one."""
        if self._backend is not None:
            self._backend.close()


def python_version() -> str:
    """Major and minor version, which pickled records may depend on."""
    return ".".join(map(str, sys.version_info[:2]))


def _check_versions(expected: Expected, node: str) -> None:
    here = (__version__, python_version())
    if here != (expected.version, expected.python):
        raise BackendError(
            f"node {node} has tenbin {here[0]} on Python {here[1]}, the driver tenbin "
            f"{expected.version} on Python {expected.python}",
            "install the same version on every node",
        )


def _check_fingerprint(found: str, wanted: str, node: str) -> None:
    if found != wanted:
        raise BackendError(
            f"node {node} has another model under the same name, or another version of the "
            "libraries that run it",
            "every node must see the same files and the same environment: a shared folder, one "
            "container image",
        )


def _limit_threads(threads: int) -> None:
    """Use as many threads as CPUs are reserved, the same on every node: sums depend on it."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    # On a CPU vLLM would bind to all cores, for which several workers would compete.
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
