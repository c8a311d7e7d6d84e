"""Which shard is where: what was handed out, answered, lost, sent again, given up.

Shards that nobody has yet are cut when they are needed: memory holds those that are out. Every
request is answered exactly once, whatever happens to workers. Knows no Ray and no clock: whoever
asks says what time it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tenbin.records import Failure, Request, Response

_STRIKES = 3
"""Workers that die over a shard before it is looked at more closely: one may die by chance."""
_SLOW = 2.0
"""A shard is sent again when it takes so many times as long as others took on average."""

Pairs = Sequence[tuple[str, Response]]


@dataclass(eq=False, slots=True)
class Shard:
    """Requests that are answered together, by one worker."""

    requests: Sequence[Request]
    known: frozenset[str] = frozenset()
    """Keys of requests that are answered already and complete the batches of the others."""
    patience: int = _STRIKES
    """Workers that may die over it."""
    strikes: int = 0
    copies: int = 0
    """Workers that have it now."""
    since: float = 0.0
    """When it was first handed out."""
    is_done: bool = False
    reason: str = ""
    """Why the last worker died over it."""


@dataclass(slots=True)
class Tally:
    """What happened, for people to read."""

    shards: int = 0
    sent_again: int = 0
    """Shards that a second worker was given while the first still had them."""
    lost: int = 0
    """Shards that went down with their worker and were done again."""
    given_up: int = 0
    """Requests that no worker survived."""
    seconds: float = 0.0
    """Time that workers spent on shards which counted."""


@dataclass(slots=True)
class Ledger:
    """The state of all shards of one run."""

    _uncut: Iterator[Shard] = field(default_factory=lambda: iter(()))
    _new: deque[Shard] = field(default_factory=deque)
    """The next ones, as far ahead as anybody looked."""
    _returned: deque[Shard] = field(default_factory=deque)
    _out: dict[int, Shard] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> Ledger:
        """A ledger of shards that nobody has yet."""
        return cls(iter(shards))

    @property
    def is_complete(self) -> bool:
        """Whether everything was answered."""
        return not (self._out or self.has_more_than(0))

    def has_more_than(self, count: int) -> bool:
        """Whether more shards than that are with nobody."""
        while len(self._new) + len(self._returned) <= count:
            shard = next(self._uncut, None)
            if shard is None:
                return False
            self._new.append(shard)
        return True

    def take(self, now: float, held: Iterable[Shard]) -> Shard | None:
        """The next shard for a worker: one that nobody has, else one that takes long elsewhere.

        Args:
            now: The time.
            held: What the worker has already. One that has some gets no other's.
        """
        mine = {id(shard) for shard in held}
        # Returned ones wait behind those that nobody had.
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
            self.tally.sent_again += 1
        shard.copies += 1
        return shard

    def _straggler(self, now: float) -> Shard | None:
        # Not where workers died already: it would be two of them.
        unsuspected = (shard for shard in self._out.values() if shard.patience == _STRIKES)
        alone = [shard for shard in unsuspected if shard.copies == 1 and not shard.strikes]
        oldest = min(alone, key=lambda shard: shard.since, default=None)
        if oldest is None or not self.tally.shards:
            return None
        usual = self.tally.seconds / self.tally.shards
        return oldest if now - oldest.since > _SLOW * usual else None

    def answered(self, shard: Shard, seconds: float) -> bool:
        """Note an answer; False where another worker was first and it is to be dropped."""
        shard.copies -= 1
        if shard.is_done:
            return False
        shard.is_done = True
        del self._out[id(shard)]
        self.tally.shards += 1
        self.tally.seconds += seconds
        return True

    def lost(self, shard: Shard, reason: str | None) -> list[tuple[str, Response]]:
        """Note that a worker died which had a shard.

        Args:
            shard: What it had.
            reason: Why it died, where it was at work on this shard; None where the shard was
                waiting behind another and has nothing to do with it.

        Returns:
            Failures that stand in for answers: the shard was one request, and given up.
        """
        shard.copies -= 1
        if shard.is_done:
            return []
        if reason is not None:
            shard.strikes += 1
            shard.reason = reason
            self.tally.lost += 1
        if shard.copies:
            return []
        if shard.strikes < shard.patience:
            del self._out[id(shard)]
            # Behind the others: a shard that kills must not hold up what does not.
            self._returned.append(shard)
            return []
        return self._examine(shard)

    def _examine(self, shard: Shard) -> list[tuple[str, Response]]:
        """Halve a shard that workers keep dying over, until the one request is found."""
        del self._out[id(shard)]
        shard.is_done = True
        if shard.known:
            # Known requests only complete batches: the one that kills is among the others.
            unanswered = [one for one in shard.requests if one.key not in shard.known]
            self._returned.append(Shard(unanswered, patience=1))
            return []
        if len(shard.requests) > 1:
            middle = len(shard.requests) // 2
            for half in (shard.requests[:middle], shard.requests[middle:]):
                # Suspects by now: their first death counts.
                self._returned.append(Shard(half, patience=1))
            return []
        request = shard.requests[0]
        self.tally.given_up += 1
        message = f"every worker that was asked this died: {shard.reason}"
        return [(request.key, Failure("worker_died", message, retryable=True))]
