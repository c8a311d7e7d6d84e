"""A whole text into windows, each token predicted exactly once.

Knows the windows; knows no model. The first window begins after one start token; every later
one is as long as the model takes and predicts only what is new: a full window sees one token of
what came before, the last one as many as fit. Where the tokenizer adds BOS, or the text begins
with it, that BOS is part of the text and is predicted after the start token: so does lm-eval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tenbin.backends.text.encoding import Row, each_apart, no_tokens
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.records import Failure, Rolling


def encode_rolls(
    tokenizer: HfTokenizer, requests: Sequence[Rolling]
) -> Iterator[tuple[Row, ...] | Failure]:
    """Encode texts together, each distinct text once.

    Yields:
        The windows of each text, in order.
    """
    yield from each_apart(lambda some: _encoded(tokenizer, some), requests)


def _encoded(
    tokenizer: HfTokenizer, requests: Sequence[Rolling]
) -> Iterator[tuple[Row, ...] | Failure]:
    encoded = tokenizer.encode_prompts(request.text for request in requests)
    start = tokenizer.start_token
    for request in requests:
        ids = encoded[request.text]
        if not request.text or not ids:
            yield Failure("empty_text", f"no token to weigh in {request.text[:40]!r}")
        elif failure := no_tokens(tokenizer, request.text, ids):
            yield failure
        elif start is None:
            yield Failure("empty_context", "the tokenizer has neither BOS nor EOS to begin with")
        else:
            yield tuple(_windows(ids, start, tokenizer.max_length))


def _windows(ids: tuple[int, ...], start: int, max_length: int) -> Iterator[Row]:
    first = min(max_length, len(ids))
    yield Row((start, *ids[:first]), first)
    done = first
    while done < len(ids):
        new = min(max_length, len(ids) - done)
        done += new
        yield Row(ids[done - max_length - 1 : done], new)
