"""The backend around a backend: the same requests, answered by workers on a Ray cluster.

The driver opens the wrapped backend for its tokenizer and fingerprint and never loads its weights.
Knows the backend protocol; what a model is, the wrapped backend knows.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

from tenbin.backends.base import NONE_KNOWN, Backend, BackendSettings, Capabilities, Workers
from tenbin.backends.ray.capacity import total_resources
from tenbin.backends.ray.cluster import join_cluster, leave_cluster
from tenbin.backends.ray.dispatch import dispatch
from tenbin.backends.ray.resources import device_for, each_worker, memory_share, worker_count
from tenbin.backends.ray.shard_ledger import Ledger, Shard, Tally
from tenbin.backends.ray.sharding import cut
from tenbin.backends.ray.worker import Terms, python_version
from tenbin.backends.ray.worker_pool import Crew
from tenbin.backends.registry import open_backend
from tenbin.errors import BackendError
from tenbin.records import Request, Response
from tenbin.records.model_info import merged
from tenbin.version import __version__


class RayBackend:
    """Any backend, many times."""

    def __init__(
        self,
        wrapped: Backend,
        settings: BackendSettings,
        workers: Workers,
        count: int,
        each: Mapping[str, float],
    ) -> None:
        """Prepare; `open_ray` is the way in. Workers are made by the first run.

        Args:
            wrapped: The backend as the driver needs it, without weights.
            settings: What each worker opens.
            workers: What the user said about them.
            count: How many there will be.
            each: CPUs and GPUs that one takes.
        """
        self.fingerprint = wrapped.fingerprint
        self._wrapped = wrapped
        self._notify: Callable[[str], None] = settings.notify or (lambda text: None)
        self._settings = replace(settings, notify=None)
        self._workers, self._count, self._each = workers, count, dict(each)
        self._crew: Crew | None = None
        self._tallies: list[Tally] = []
        self._is_closed = False

    @property
    def capabilities(self) -> Capabilities:
        """The wrapped backend's, but shards are cut by prefix, and can be cut again."""
        return replace(self._wrapped.capabilities, resumable=True, request_order="prefix")

    def describe(self) -> Mapping[str, Any]:
        """What the workers' backends say of themselves; how the work was spread, under `scale`."""
        told = self._crew.descriptions if self._crew is not None else {}
        described = [told[number] for number in sorted(told)] or [self._wrapped.describe()]
        whole, differing = merged(described)
        return {**whole, "scale": self._scale(differing)}

    def _scale(self, differing: Sequence[str]) -> dict[str, Any]:
        nodes = self._crew.nodes if self._crew is not None else {}
        tally = Tally()
        for one in self._tallies:
            for name, value in asdict(one).items():
                setattr(tally, name, getattr(tally, name) + value)
        return {
            "ray": version("ray"),
            "address": self._workers.address,
            "workers": self._count,
            "num_gpus": self._each["GPU"],
            "num_cpus": self._each["CPU"],
            "nodes": len(set(nodes.values())),
            "deaths": self._crew.deaths if self._crew is not None else 0,
            **{f"shards_{name}": value for name, value in _tally_entries(tally).items()},
            "requests_given_up": tally.given_up,
            "worker_seconds": round(tally.seconds, 3),
            "differing": list(differing),
        }

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        """Answer every request whose key is not known exactly once, a shard at a time.

        Shards are cut as workers ask for them. A run that was interrupted cuts the same requests
        into the same shards; those whose answers are all known are left out.

        Args:
            requests: In the order of their places; a list may be in any order.
            known: Keys of those that are answered.
        """
        if self._is_closed:
            raise BackendError("the backend was closed", "open it again")
        if self._crew is None:
            terms = Terms(
                __version__,
                python_version(),
                self.fingerprint,
                max(1, int(self._each["CPU"])),
            )
            self._crew = Crew(self._settings, terms, self._count, self._each, self._notify)
        if isinstance(requests, Sequence):
            requests = sorted(requests, key=lambda request: request.place)
        ledger = Ledger.of(self._shards(requests, known))
        self._tallies.append(ledger.tally)
        for pairs in dispatch(self._crew, ledger):
            yield from pairs
        self._tell_differences()

    def _shards(self, requests: Iterable[Request], known: Container[str]) -> Iterator[Shard]:
        for shard in cut(requests, self._workers.shard_size):
            there = frozenset(request.key for request in shard if request.key in known)
            if len(there) == len(shard):
                continue
            if there and not self._wrapped.capabilities.resumable:
                yield Shard([request for request in shard if request.key not in there])
            else:
                yield Shard(shard, there)

    def _tell_differences(self) -> None:
        assert self._crew is not None
        _, differing = merged(list(self._crew.descriptions.values()))
        for line in differing:
            self._notify(f"workers differ in {line}: their answers may differ by rounding noise")

    def close(self) -> None:
        """End the workers, and the cluster where it is our own."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._crew is not None:
            self._crew.close()
        self._wrapped.close()
        leave_cluster(self._workers.address)


def _tally_entries(tally: Tally) -> dict[str, int]:
    return {"answered": tally.shards, "sent_again": tally.sent_again, "lost": tally.lost}


def open_ray(settings: BackendSettings) -> Backend:
    """Open the backend that the settings name on many workers.

    Raises:
        ConfigError: An argument is wrong, or asks for what this machine does not have.
        BackendError: The model or the cluster is not there, or a library is missing.
    """
    workers = settings.workers
    assert workers is not None
    join_cluster(workers.address, (workers.count or 1) * workers.num_cpus)
    try:
        there = total_resources()
        each = each_worker(settings, workers, there)
        count = worker_count(workers, each, there)
        chosen = replace(settings, workers=None, device=device_for(settings, each))
        wrapped = open_backend(replace(chosen, loads_elsewhere=True))
    except BaseException:
        leave_cluster(workers.address)
        raise
    return RayBackend(
        wrapped, replace(chosen, memory_share=memory_share(each)), workers, count, each
    )
