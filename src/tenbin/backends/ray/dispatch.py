"""Gives shards to workers and collects their answers, until none is left.

Needs no Ray: tests dispatch to a pool whose workers die at random.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from tenbin.backends.ray.shard_ledger import Pairs, Shard, ShardLedger
from tenbin.backends.ray.worker import Answered

_AHEAD = 2
"""Shards per worker: the one it works on, and the next, so that it never waits for the driver."""
_SECONDS = 0.5
"""Longest wait for an event."""


@dataclass(eq=False, slots=True)
class WorkerHandle:
    """One worker as the driver sees it."""

    number: int
    actor: Any
    opening: Any
    """Ray's reference while the worker opens its backend; None once it is ready."""
    shards: dict[Any, Shard] = field(default_factory=dict)
    """Its shards by Ray's reference, oldest first: it works in this order."""


@dataclass(frozen=True, slots=True)
class Done:
    """A shard was answered."""

    shard: Shard
    answered: Answered


@dataclass(frozen=True, slots=True)
class Died:
    """A worker died with the shards that it had."""

    running: Shard | None
    queued: tuple[Shard, ...]
    reason: str


Event: TypeAlias = Done | Died


class Pool(Protocol):
    """The workers that shards are given to."""

    @property
    def ready(self) -> Sequence[WorkerHandle]:
        """Workers that can be given shards."""
        ...

    def give(self, worker: WorkerHandle, shard: Shard) -> None:
        """Give a shard to a worker."""
        ...

    def events(self, timeout: float) -> Sequence[Event]:
        """What happened since the last call, after at most `timeout` seconds."""
        ...


def dispatch(
    pool: Pool, ledger: ShardLedger, clock: Callable[[], float] = time.monotonic
) -> Iterator[Pairs]:
    """Answers of all shards, each request once, a shard at a time."""
    while not ledger.is_complete:
        _hand_out(pool, ledger, clock())
        for event in pool.events(_SECONDS):
            if isinstance(event, Done):
                if ledger.answered(event.shard, event.answered.seconds):
                    yield event.answered.pairs
            else:
                failures = _after_death(event, ledger)
                if failures:
                    yield failures


def _hand_out(pool: Pool, ledger: ShardLedger, now: float) -> None:
    """Give every worker its first shard before any gets a second; near the end, none gets one."""
    for depth in range(_AHEAD):
        for worker in pool.ready:
            if len(worker.shards) != depth or (depth and not ledger.has_more_than(len(pool.ready))):
                continue
            shard = ledger.take(now, worker.shards.values())
            if shard is not None:
                pool.give(worker, shard)


def _after_death(event: Died, ledger: ShardLedger) -> Pairs:
    failures = list(ledger.lost(event.running, event.reason)) if event.running else []
    for shard in event.queued:
        failures += ledger.lost(shard, None)
    return failures
