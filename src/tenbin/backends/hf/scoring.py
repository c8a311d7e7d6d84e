"""Score and Roll requests: tokens in, answers out.

Joins the encoding of requests with a scoring core; knows neither how texts become tokens nor
how a core runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tenbin.backends.base import Encoding
from tenbin.backends.hf.desk import RowScore, ScoringCore, total
from tenbin.backends.hf.encoding import EncodedScore, Row, encode_scores
from tenbin.backends.hf.rolling import encode_rolls
from tenbin.backends.hf.tokenizer import HfTokenizer
from tenbin.records import Failure, Response, Roll, Rolled, Score, Scores

OUT_OF_MEMORY = Failure(
    "out_of_memory", "one row alone does not fit the device's memory", retryable=True
)


def answer_scores(
    core: ScoringCore, tokenizer: HfTokenizer, encoding: Encoding, requests: Sequence[Score]
) -> Iterator[tuple[str, Response]]:
    """Answer every Score once, each as soon as its last row is done."""
    asked: list[tuple[str, EncodedScore]] = []
    encoded = encode_scores(tokenizer, encoding, requests)
    for request, found in zip(requests, encoded, strict=True):
        if isinstance(found, Failure):
            yield request.key, found
        elif not found.rows:
            yield request.key, Scores((), (), ())
        else:
            asked.append((request.key, found))
    for number, scores in core.score([item.rows for _, item in asked]):
        key, item = asked[number]
        if scores is None or isinstance(scores, Failure):
            yield key, scores or OUT_OF_MEMORY
        else:
            yield key, _scores(item, scores)


def answer_rolls(
    core: ScoringCore, tokenizer: HfTokenizer, requests: Sequence[Roll]
) -> Iterator[tuple[str, Response]]:
    """Answer every Roll once, each as soon as its last window is done."""
    asked: list[tuple[str, tuple[Row, ...]]] = []
    for request, found in zip(requests, encode_rolls(tokenizer, requests), strict=True):
        if isinstance(found, Failure):
            yield request.key, found
        else:
            asked.append((request.key, found))
    for number, scores in core.score([rows for _, rows in asked]):
        key, rows = asked[number]
        if scores is None or isinstance(scores, Failure):
            yield key, scores or OUT_OF_MEMORY
        else:
            yield key, Rolled(total(scores), sum(row.scored for row in rows))


def _scores(item: EncodedScore, scores: Sequence[RowScore]) -> Scores:
    return Scores(
        tuple(score.logprob for score in scores),
        tuple(row.scored for row in item.rows),
        tuple(score.greedy for score in scores),
        item.truncated,
    )
