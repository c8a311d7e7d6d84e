"""Answers Score and Rolling requests with a scoring engine: tokens in, responses out.

A row whose log-likelihood is not finite is scored once more by itself: in a batch, a masked
neighbour that overflowed still takes part in a product, and 0 times NaN is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

from tenbin.backends.finite import not_finite
from tenbin.backends.text.encoding import EncodedScore, Row
from tenbin.backends.text.score_collector import GroupScore, RowScore, ScoringEngine, total
from tenbin.records import Failure, Response, Rolled, Rolling, Score, Scores

OUT_OF_MEMORY = Failure(
    "out_of_memory", "one row alone does not fit the device's memory", retryable=True
)


def answer_scores(
    engine: ScoringEngine,
    requests: Sequence[Score],
    encoded: Iterable[EncodedScore | Failure],
    single: ScoringEngine | None = None,
    known: Collection[str] = (),
) -> Iterator[tuple[str, Response]]:
    """Answer every Score once, each as soon as its last row is scored.

    Args:
        engine: Scores rows in batches.
        requests: The requests.
        encoded: The tokens of each.
        single: Scores one row at a time; used where the engine's numbers are not finite.
        known: Keys of requests that need no answer: they are here for the batches of the others.
    """
    asked: list[tuple[str, EncodedScore]] = []
    for request, found in zip(requests, encoded, strict=True):
        if not isinstance(found, Failure) and found.rows:
            asked.append((request.key, found))
        elif request.key not in known:
            yield request.key, found if isinstance(found, Failure) else Scores((), (), ())
    groups = [item.rows for _, item in asked]
    for number, scores in _scored(engine, single, groups, _numbers(asked, known)):
        key, item = asked[number]
        yield key, scores if isinstance(scores, Failure) else _scores(item, scores)


def answer_rolling(
    engine: ScoringEngine,
    requests: Sequence[Rolling],
    encoded: Iterable[tuple[Row, ...] | Failure],
    single: ScoringEngine | None = None,
    known: Collection[str] = (),
) -> Iterator[tuple[str, Response]]:
    """Answer every Rolling once, as soon as its last window is scored; see `answer_scores`."""
    asked: list[tuple[str, tuple[Row, ...]]] = []
    for request, found in zip(requests, encoded, strict=True):
        if not isinstance(found, Failure):
            asked.append((request.key, found))
        elif request.key not in known:
            yield request.key, found
    groups = [rows for _, rows in asked]
    for number, scores in _scored(engine, single, groups, _numbers(asked, known)):
        key, rows = asked[number]
        if isinstance(scores, Failure):
            yield key, scores
        else:
            yield key, Rolled(total(scores), sum(row.scored for row in rows))


def _numbers(asked: Sequence[tuple[str, object]], known: Collection[str]) -> frozenset[int]:
    return frozenset(number for number, (key, _) in enumerate(asked) if key in known)


def _scored(
    engine: ScoringEngine,
    single: ScoringEngine | None,
    groups: Sequence[Sequence[Row]],
    known: Collection[int] = (),
) -> Iterator[tuple[int, tuple[RowScore, ...] | Failure]]:
    """Yield finite scores, or a Failure that says what came instead."""
    again: list[int] = []
    for number, scores in engine.score(groups, known):
        value = _first_not_finite(scores)
        if value is None:
            yield number, OUT_OF_MEMORY if scores is None else scores
        elif single is None:
            yield number, not_finite(value)
        else:
            again.append(number)
    if single is not None and again:
        yield from (
            (again[at], scores)
            for at, scores in _scored(single, None, [groups[number] for number in again])
        )


def _first_not_finite(scores: GroupScore) -> float | None:
    rows = scores if isinstance(scores, tuple) else ()
    return next((row.logprob for row in rows if not math.isfinite(row.logprob)), None)


def _scores(item: EncodedScore, scores: Sequence[RowScore]) -> Scores:
    return Scores(
        tuple(score.logprob for score in scores),
        tuple(row.scored for row in item.rows),
        tuple(score.greedy for score in scores),
        item.truncated,
    )
