"""A backend around any other: the same requests, answered by workers on a Ray cluster.

The driver opens the wrapped backend for its tokenizer and fingerprint and never loads its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

from tenbin.backends.base import (
    NONE_KNOWN,
    AnswerGroups,
    Backend,
    BackendSettings,
    Capabilities,
    Workers,
)
from tenbin.backends.ray.capacity import (
    device_for,
    memory_share,
    total_resources,
    worker_count,
    worker_resources,
)
from tenbin.backends.ray.cluster import join_cluster, leave_cluster
from tenbin.backends.ray.dispatch import dispatch
from tenbin.backends.ray.shard_ledger import Pairs, Shard, ShardCounts, ShardLedger
from tenbin.backends.ray.sharding import cut
from tenbin.backends.ray.worker import Expected, python_version
from tenbin.backends.ray.worker_pool import WorkerPool
from tenbin.backends.registry import open_backend
from tenbin.errors import BackendError
from tenbin.records import Request
from tenbin.records.model_info import merged
from tenbin.version import __version__


class RayBackend:
    """Answers requests by workers that each open the wrapped backend."""

    def __init__(
        self,
        wrapped: Backend,
        settings: BackendSettings,
        workers: Workers,
        count: int,
        each: Mapping[str, float],
    ) -> None:
        """Prepare; see `open_ray`. Workers are started by the first run.

        Args:
            wrapped: The backend as the driver needs it, without weights.
            settings: What each worker opens.
            workers: What the user said about workers.
            count: Number of workers.
            each: CPUs and GPUs that one worker reserves.
        """
        self.fingerprint = wrapped.fingerprint
        self._wrapped = wrapped
        self._notify: Callable[[str], None] = settings.notify or (lambda text: None)
        self._settings = replace(settings, notify=None)
        self._workers, self._count, self._each = workers, count, dict(each)
        self._pool: WorkerPool | None = None
        self._counts: list[ShardCounts] = []
        self._is_closed = False

    @property
    def capabilities(self) -> Capabilities:
        """The wrapped backend's, but shards are cut by prefix, and can be cut again."""
        return replace(self._wrapped.capabilities, resumable=True, request_order="prefix")

    def describe(self) -> Mapping[str, Any]:
        """Merged descriptions of the workers' backends; `scale` says how the work was spread."""
        descriptions = self._pool.descriptions if self._pool is not None else {}
        described = [descriptions[number] for number in sorted(descriptions)] or [
            self._wrapped.describe()
        ]
        whole, differing = merged(described)
        return {**whole, "scale": self._scale(differing)}

    def _scale(self, differing: Sequence[str]) -> dict[str, Any]:
        nodes = self._pool.nodes if self._pool is not None else {}
        total = ShardCounts()
        for one in self._counts:
            for name, value in asdict(one).items():
                setattr(total, name, getattr(total, name) + value)
        return {
            "ray": version("ray"),
            "address": self._workers.address,
            "workers": self._count,
            "num_gpus": self._each["GPU"],
            "num_cpus": self._each["CPU"],
            "nodes": len(set(nodes.values())),
            "deaths": self._pool.deaths if self._pool is not None else 0,
            **{f"shards_{name}": value for name, value in _shard_entries(total).items()},
            "requests_given_up": total.given_up,
            "worker_seconds": round(total.seconds, 3),
            "differing": list(differing),
        }

    def run(self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN) -> AnswerGroups:
        """Answer every request whose key is not known exactly once, a shard at a time.

        Shards are cut as workers ask for them. A run that was interrupted cuts the same requests
        into the same shards; those whose answers are all known are left out.

        Args:
            requests: In the order of their places; a list may be in any order.
            known: Keys of those that are answered.
        """
        return AnswerGroups(self._run(requests, known))

    def _run(self, requests: Iterable[Request], known: Container[str]) -> Iterator[Pairs]:
        if self._is_closed:
            raise BackendError("the backend was closed", "open it again")
        if self._pool is None:
            expected = Expected(
                __version__,
                python_version(),
                self.fingerprint,
                max(1, int(self._each["CPU"])),
            )
            self._pool = WorkerPool(self._settings, expected, self._count, self._each, self._notify)
        if isinstance(requests, Sequence):
            requests = sorted(requests, key=lambda request: request.place)
        ledger = ShardLedger.of(self._shards(requests, known))
        self._counts.append(ledger.counts)
        yield from dispatch(self._pool, ledger)
        self._report_differences()

    def _shards(self, requests: Iterable[Request], known: Container[str]) -> Iterator[Shard]:
        for shard in cut(requests, self._workers.shard_size):
            there = frozenset(request.key for request in shard if request.key in known)
            if len(there) == len(shard):
                continue
            if there and not self._wrapped.capabilities.resumable:
                yield Shard([request for request in shard if request.key not in there])
            else:
                yield Shard(shard, there)

    def _report_differences(self) -> None:
        assert self._pool is not None
        _, differing = merged(list(self._pool.descriptions.values()))
        for line in differing:
            self._notify(f"workers differ in {line}: their answers may differ by rounding noise")

    def close(self) -> None:
        """End the workers, and the cluster if it was started here."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._pool is not None:
            self._pool.close()
        self._wrapped.close()
        leave_cluster(self._workers.address)


def _shard_entries(counts: ShardCounts) -> dict[str, int]:
    return {"answered": counts.shards, "sent_again": counts.sent_again, "lost": counts.lost}


def open_ray(settings: BackendSettings) -> Backend:
    """Open the backend that the settings name on workers.

    Raises:
        ConfigError: An argument is wrong, or asks for what this machine does not have.
        BackendError: The model or the cluster is not there, or a library is missing.
    """
    workers = settings.workers
    assert workers is not None
    join_cluster(workers.address, (workers.count or 1) * workers.num_cpus)
    try:
        available = total_resources()
        each = worker_resources(settings, workers, available)
        count = worker_count(workers, each, available)
        chosen = replace(settings, workers=None, device=device_for(settings, each))
        wrapped = open_backend(replace(chosen, loads_elsewhere=True))
    except BaseException:
        leave_cluster(workers.address)
        raise
    return RayBackend(
        wrapped, replace(chosen, memory_share=memory_share(each)), workers, count, each
    )
