"""The state of all shards of a run: waiting, given out, answered, lost, sent again, given up.

Every request is answered exactly once, whatever happens to workers. Shards are cut when they are
needed: memory holds those that are given out. Needs neither Ray nor a clock: the caller passes the
time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tenbin.records import Failure, Request, Response

_DEATHS = 3
"""Deaths over a shard before it is halved: a worker may die for another reason."""
_SLOW = 2.0
"""A shard is sent to a second worker after this many times the average duration."""

Pairs = Sequence[tuple[str, Response]]


@dataclass(eq=False, slots=True)
class Shard:
    """Requests that one worker answers together."""

    requests: Sequence[Request]
    known: frozenset[str] = frozenset()
    """Keys of requests that are answered already; they complete the batches of the others."""
    deaths_allowed: int = _DEATHS
    """Workers that may die over it before it is halved or given up."""
    deaths: int = 0
    copies: int = 0
    """Number of workers that have it now."""
    since: float = 0.0
    """When it was given out."""
    is_done: bool = False
    reason: str = ""
    """Why the last worker died over it."""


@dataclass(slots=True)
class ShardCounts:
    """What happened to shards, for the results."""

    shards: int = 0
    sent_again: int = 0
    """Shards that were also given to a second worker because the first was slow."""
    lost: int = 0
    """Shards whose worker died while it worked on them."""
    given_up: int = 0
    """Requests that every worker died over."""
    seconds: float = 0.0
    """Time that workers spent on shards whose answers were used."""


@dataclass(slots=True)
class ShardLedger:
    """The state of all shards of one run."""

    _uncut: Iterator[Shard] = field(default_factory=lambda: iter(()))
    _new: deque[Shard] = field(default_factory=deque)
    """The next shards, as far as they were cut."""
    _returned: deque[Shard] = field(default_factory=deque)
    _out: dict[int, Shard] = field(default_factory=dict)
    counts: ShardCounts = field(default_factory=ShardCounts)

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> ShardLedger:
        """A ledger of shards that no worker has yet."""
        return cls(iter(shards))

    @property
    def is_complete(self) -> bool:
        """Whether everything was answered."""
        return not (self._out or self.has_more_than(0))

    def has_more_than(self, count: int) -> bool:
        """Whether more than `count` shards are waiting for a worker."""
        while len(self._new) + len(self._returned) <= count:
            shard = next(self._uncut, None)
            if shard is None:
                return False
            self._new.append(shard)
        return True

    def take(self, now: float, held: Iterable[Shard]) -> Shard | None:
        """The next shard for a worker: a waiting one, or one that is slow at another worker.

        Args:
            now: The time.
            held: Shards that the worker has already; it takes over slow ones only without any.
        """
        mine = {id(shard) for shard in held}
        # Returned shards come after those that were never given out.
        source = self._new if self.has_more_than(len(self._returned)) else self._returned
        if source:
            shard = source.popleft()
            shard.since = now
            self._out[id(shard)] = shard
        else:
            straggler = None if mine else self._straggler(now)
            if straggler is None:
                return None
            shard = straggler
            self.counts.sent_again += 1
        shard.copies += 1
        return shard

    def _straggler(self, now: float) -> Shard | None:
        # Not a shard that workers died over: a second one would die too.
        unsuspected = (shard for shard in self._out.values() if shard.deaths_allowed == _DEATHS)
        alone = [shard for shard in unsuspected if shard.copies == 1 and not shard.deaths]
        oldest = min(alone, key=lambda shard: shard.since, default=None)
        if oldest is None or not self.counts.shards:
            return None
        usual = self.counts.seconds / self.counts.shards
        return oldest if now - oldest.since > _SLOW * usual else None

    def answered(self, shard: Shard, seconds: float) -> bool:
        """Record an answer; False if another worker was first and it must be dropped."""
        shard.copies -= 1
        if shard.is_done:
            return False
        shard.is_done = True
        del self._out[id(shard)]
        self.counts.shards += 1
        self.counts.seconds += seconds
        return True

    def lost(self, shard: Shard, reason: str | None) -> list[tuple[str, Response]]:
        """Record that a worker died that had a shard.

        Args:
            shard: The shard.
            reason: Why it died while working on this shard; None if the shard was still queued.

        Returns:
            A failure in place of an answer, if the shard was one request and is given up.
        """
        shard.copies -= 1
        if shard.is_done:
            return []
        if reason is not None:
            shard.deaths += 1
            shard.reason = reason
            self.counts.lost += 1
        if shard.copies:
            return []
        if shard.deaths < shard.deaths_allowed:
            del self._out[id(shard)]
            # Behind the others: a shard that kills workers must not delay the rest.
            self._returned.append(shard)
            return []
        return self._halve(shard)

    def _halve(self, shard: Shard) -> list[tuple[str, Response]]:
        """Halve a shard that workers keep dying over, until the one request is found."""
        del self._out[id(shard)]
        shard.is_done = True
        if shard.known:
            # Known requests only complete batches: the one that kills is among the others.
            unanswered = [one for one in shard.requests if one.key not in shard.known]
            self._returned.append(Shard(unanswered, deaths_allowed=1))
            return []
        if len(shard.requests) > 1:
            middle = len(shard.requests) // 2
            for half in (shard.requests[:middle], shard.requests[middle:]):
                # Under suspicion: the first death counts.
                self._returned.append(Shard(half, deaths_allowed=1))
            return []
        request = shard.requests[0]
        self.counts.given_up += 1
        message = f"every worker that was asked this died: {shard.reason}"
        return [(request.key, Failure("worker_died", message, retryable=True))]
