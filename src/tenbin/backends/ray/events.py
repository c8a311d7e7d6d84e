"""A worker as the driver sees it, and what can happen to one. Knows no Ray."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tenbin.backends.ray.shard_ledger import Shard
from tenbin.backends.ray.worker import Answered


@dataclass(eq=False, slots=True)
class Member:
    """One worker."""

    number: int
    actor: Any
    opening: Any
    """Ray's reference while it opens; None once it is ready."""
    shards: dict[Any, Shard] = field(default_factory=dict)
    """What it has, by Ray's reference, oldest first: it works in this order."""


@dataclass(frozen=True, slots=True)
class Done:
    """A shard was answered."""

    shard: Shard
    answered: Answered


@dataclass(frozen=True, slots=True)
class Died:
    """A worker is gone with what it had."""

    running: Shard | None
    queued: tuple[Shard, ...]
    reason: str


Event: TypeAlias = Done | Died
