"""Hands shards to workers and gathers what they answer, until nothing is left.

Joins ledger and crew. Knows no Ray: any crew with these three members will do, and tests have one
that dies at random.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from tenbin.backends.ray.events import Died, Done, Event, Member
from tenbin.backends.ray.shard_ledger import Ledger, Pairs, Shard

_AHEAD = 2
"""Shards that a worker has: one to work on, and the next, so that it never waits for the driver."""
_SECONDS = 0.5


class Team(Protocol):
    """Those who answer."""

    @property
    def ready(self) -> Sequence[Member]:
        """Workers that can be given shards."""
        ...

    def give(self, member: Member, shard: Shard) -> None:
        """Hand a shard over."""
        ...

    def events(self, timeout: float) -> Sequence[Event]:
        """What happened since."""
        ...


def dispatch(
    team: Team, ledger: Ledger, clock: Callable[[], float] = time.monotonic
) -> Iterator[Pairs]:
    """Every answer once, a shard at a time."""
    while not ledger.is_complete:
        _hand_out(team, ledger, clock())
        for event in team.events(_SECONDS):
            if isinstance(event, Done):
                if ledger.answered(event.shard, event.answered.seconds):
                    yield event.answered.pairs
            else:
                failures = _after_death(event, ledger)
                if failures:
                    yield failures


def _hand_out(team: Team, ledger: Ledger, now: float) -> None:
    """Everybody gets something before anybody gets more; at the end nobody gets more."""
    for depth in range(_AHEAD):
        for member in team.ready:
            if len(member.shards) != depth or (depth and not ledger.has_more_than(len(team.ready))):
                continue
            shard = ledger.take(now, member.shards.values())
            if shard is not None:
                team.give(member, shard)


def _after_death(event: Died, ledger: Ledger) -> Pairs:
    failures = list(ledger.lost(event.running, event.reason)) if event.running else []
    for shard in event.queued:
        failures += ledger.lost(shard, None)
    return failures
