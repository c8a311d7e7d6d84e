"""Ledger and dispatch with workers that die at random: every request answered exactly once."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from tenbin.backends.ray.dispatch import Died, Done, Event, WorkerHandle, dispatch
from tenbin.backends.ray.shard_ledger import Shard, ShardLedger
from tenbin.backends.ray.worker import Answered
from tenbin.records import Failure, Response, Rolled, Rolling


def _shards(count: int, each: int) -> list[Shard]:
    numbers = range(count * each)
    requests = [Rolling(f"k{number}", f"text {number}") for number in numbers]
    return [Shard(requests[at : at + each]) for at in range(0, len(requests), each)]


class FakePool:
    """Workers that take their time, die by chance and always over some requests."""

    def __init__(self, workers: int, seed: int, death: float, poison: frozenset[str]) -> None:
        self.generator = random.Random(seed)
        self.ready = [WorkerHandle(number, None, None) for number in range(workers)]
        self.death, self.poison = death, poison
        self.now, self.given = 0.0, 0
        self.deaths = 0
        self.slow: int | None = None

    def clock(self) -> float:
        return self.now

    def give(self, worker: WorkerHandle, shard: Shard) -> None:
        assert len(worker.shards) < 2
        self.given += 1
        worker.shards[self.given] = shard

    def events(self, timeout: float) -> Sequence[Event]:
        self.now += 1.0
        found: list[Event] = []
        for at, worker in enumerate(self.ready):
            if not worker.shards or worker.number == self.slow or self.generator.random() < 0.3:
                continue
            ref, shard = next(iter(worker.shards.items()))
            dies = any(request.key in self.poison for request in shard.requests)
            if dies or self.generator.random() < self.death:
                held = list(worker.shards.values())
                self.deaths += 1
                self.ready[at] = WorkerHandle(100 + self.deaths, None, None)
                found.append(Died(held[0], tuple(held[1:]), "killed"))
                continue
            del worker.shards[ref]
            pairs = [(request.key, Rolled(-1.0, 1)) for request in shard.requests]
            found.append(Done(shard, Answered(pairs, 1.0, None)))
        return found


def _run(pool: FakePool, ledger: ShardLedger) -> dict[str, Response]:
    answers: dict[str, Response] = {}
    for pairs in dispatch(pool, ledger, pool.clock):
        for key, response in pairs:
            assert key not in answers
            answers[key] = response
        assert pool.now < 100_000
    return answers


@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_lost_or_doubled(seed: int) -> None:
    pool = FakePool(1 + seed % 5, seed, death=0.05 * (seed % 4), poison=frozenset())
    answers = _run(pool, ShardLedger.of(_shards(30, 1 + seed % 7)))
    assert len(answers) == 30 * (1 + seed % 7)
    # By chance a worker may die over one request again and again; that must be rare.
    assert sum(isinstance(response, Failure) for response in answers.values()) <= 2


@pytest.mark.parametrize("seed", range(10))
def test_a_request_that_kills_is_found_and_alone_given_up(seed: int) -> None:
    poison = frozenset({"k7", "k300"})
    pool = FakePool(1 + seed % 4, seed, death=0.0, poison=poison)
    ledger = ShardLedger.of(_shards(20, 64))
    answers = _run(pool, ledger)
    failed = {key: r for key, r in answers.items() if isinstance(r, Failure)}
    assert set(failed) == poison
    assert all("killed" in response.message and response.retryable for response in failed.values())
    assert len(answers) == 20 * 64 and ledger.counts.given_up == 2
    # Three deaths, then one for each halving of 64, and the last for the one request alone.
    assert pool.deaths == 2 * (3 + 6)


def test_a_straggler_is_sent_to_another_and_the_first_answer_counts() -> None:
    pool = FakePool(3, 5, death=0.0, poison=frozenset())
    pool.slow = 1
    ledger = ShardLedger.of(_shards(12, 4))
    assert len(_run(pool, ledger)) == 48
    assert ledger.counts.sent_again >= 1
    # The slow one answers after all: nobody waits for it any more.
    (shard, *_) = pool.ready[1].shards.values()
    assert ledger.answered(shard, 99.0) is False


def test_nobody_gets_two_while_another_has_none() -> None:
    pool = FakePool(4, 1, death=0.0, poison=frozenset())
    ledger = ShardLedger.of(_shards(4, 2))
    run = dispatch(pool, ledger, pool.clock)
    next(run)
    assert pool.given == 4


def test_shards_are_cut_when_they_are_needed() -> None:
    """Whoever plans a million requests holds those that workers have, and a few ahead."""
    shards, cut = _shards(500, 2), 0

    def cutting() -> Iterator[Shard]:
        nonlocal cut
        for cut, shard in enumerate(shards, start=1):  # noqa: B007
            yield shard

    pool = FakePool(3, 7, death=0.0, poison=frozenset())
    ledger, answered = ShardLedger.of(cutting()), 0
    for pairs in dispatch(pool, ledger, pool.clock):
        answered += len(pairs)
        assert cut <= answered // 2 + 30
    assert answered == 1000


def test_a_copy_that_lives_answers_for_one_that_died() -> None:
    ledger = ShardLedger.of(_shards(2, 3))
    first, other = ledger.take(0.0, []), ledger.take(0.0, [])
    assert first is not None and other is not None
    assert ledger.answered(other, 1.0)
    assert ledger.take(1.0, []) is None  # not yet slow
    assert ledger.take(10.0, []) is first
    assert ledger.lost(first, "gone") == []
    assert not ledger.has_more_than(0)  # the second worker still has it
    assert ledger.answered(first, 11.0)
    assert ledger.is_complete


def test_known_requests_of_a_shard_that_kills_are_not_examined() -> None:
    """They only complete batches: the request that kills is among the others."""
    (whole,) = _shards(1, 8)
    ledger = ShardLedger.of([Shard(whole.requests, frozenset(f"k{at}" for at in range(6)))])
    for _ in range(3):
        shard = ledger.take(0.0, [])
        assert shard is not None and len(shard.requests) == 8
        assert ledger.lost(shard, "killed") == []
    rest = ledger.take(0.0, [])
    assert rest is not None
    assert [request.key for request in rest.requests] == ["k6", "k7"] and not rest.known
