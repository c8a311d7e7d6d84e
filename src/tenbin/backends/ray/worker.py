"""The worker: a process of its own that opens the model once and answers shards.

Runs as a Ray actor, on any node. What a user can mend travels back as a record and not as an
exception, so that the driver says it in its own words. Knows the backend protocol; knows neither
the other workers nor the plan.
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
class Terms:
    """What the driver expects of a worker: whoever differs would give other answers."""

    version: str
    """Of tenbin."""
    python: str
    fingerprint: str
    threads: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A worker that is ready."""

    node: str
    pid: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A shard's answers."""

    pairs: Sequence[tuple[str, Response]]
    seconds: float
    description: Mapping[str, Any] | None
    """What the backend says of itself, where that is news."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Something the user can mend, said by a worker."""

    message: str
    hint: str
    node: str


class Worker:
    """Answers shards with a backend of its own."""

    def __init__(self, settings: BackendSettings, terms: Terms) -> None:
        """Remember what to open; nothing is opened yet, so that making a worker cannot fail."""
        self._terms = terms
        self._notices: list[str] = []
        self._settings = replace(settings, notify=self._notices.append)
        self._backend: Backend | None = None
        self._described: Mapping[str, Any] | None = None

    def open(self) -> Opened | Refused:
        """Open the backend and see that it is the one that the driver means."""
        node = socket.gethostname()
        try:
            _check_versions(self._terms, node)
            _limit_threads(self._terms.threads)
            self._backend = open_backend(self._settings)
            _check_fingerprint(self._backend.fingerprint, self._terms.fingerprint, node)
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
        """Free what the model holds: processes that a backend started do not end with this one."""
        if self._backend is not None:
            self._backend.close()


def python_version() -> str:
    """Major and minor: what pickled records may depend on."""
    return ".".join(map(str, sys.version_info[:2]))


def _check_versions(terms: Terms, node: str) -> None:
    here = (__version__, python_version())
    if here != (terms.version, terms.python):
        raise BackendError(
            f"node {node} has tenbin {here[0]} on Python {here[1]}, the driver tenbin "
            f"{terms.version} on Python {terms.python}",
            "install the same version on every node",
        )


def _check_fingerprint(found: str, expected: str, node: str) -> None:
    if found != expected:
        raise BackendError(
            f"node {node} has another model under the same name, or another version of the "
            "libraries that run it",
            "every node must see the same files and the same environment: a shared folder, one "
            "container image",
        )


def _limit_threads(threads: int) -> None:
    """As many threads as CPUs were asked for, the same on every node: sums depend on it."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    # On a CPU vLLM takes all cores and binds to them, which several workers would then fight for.
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
