"""Encodes requests into rows of token ids, cut to the model's window.

A request that cannot be asked becomes a Failure here, with the reason, and never reaches the model:
its text has no tokens, does not fit, or the tokenizer fails on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tenbin.backends.base import Encoding
from tenbin.backends.text.tokenizer import HfTokenizer, TokenizerFault
from tenbin.records import Failure, Generate, Rolling, Score

Asked = TypeVar("Asked")
Found = TypeVar("Found")

_TOGETHER = 256
"""Requests encoded at a time: each continuation is held with its whole context meanwhile."""


@dataclass(frozen=True, slots=True)
class Row:
    """One sequence whose last tokens are scored."""

    ids: tuple[int, ...]
    """Context and continuation: at most max_length + 1, since the last one is a target only."""
    scored: int
    """How many of the last ids are the continuation."""


@dataclass(frozen=True, slots=True)
class EncodedScore:
    """A Score in tokens."""

    rows: tuple[Row, ...]
    truncated: int
    """Tokens cut from the left of the longest row."""


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """A Generate in tokens."""

    ids: tuple[int, ...]
    truncated: int


Pair = tuple[tuple[int, ...], tuple[int, ...]]
"""Context and continuation."""


def encode_scores(
    tokenizer: HfTokenizer, encoding: Encoding, requests: Sequence[Score]
) -> Iterator[EncodedScore | Failure]:
    """Encode Score requests in batches, each distinct text of a batch once.

    Yields:
        One item per request, in order.
    """

    def encode(some: Sequence[Score]) -> Iterator[EncodedScore | Failure]:
        pairs = encode_pairs(tokenizer, encoding, some)
        for request, found in zip(some, pairs, strict=True):
            yield fit_window(tokenizer, request, found)

    for at in range(0, len(requests), _TOGETHER):
        yield from each_apart(encode, requests[at : at + _TOGETHER])


def each_apart(
    encode: Callable[[Sequence[Asked]], Iterable[Found | Failure]], requests: Sequence[Asked]
) -> Iterator[Found | Failure]:
    """Encode requests together; if the tokenizer fails on one of them, encode each by itself.

    Yields:
        One item per request, in order.
    """
    try:
        yield from list(encode(requests))
        return
    except TokenizerFault as error:
        fault = error
    if len(requests) == 1:
        yield Failure("tokenizer", fault.message)
        return
    for request in requests:
        yield from each_apart(encode, [request])


def encode_pairs(
    tokenizer: HfTokenizer, encoding: Encoding, requests: Sequence[Score]
) -> Iterator[list[Pair]]:
    """Encode context and continuation of every row, before anything is refused or truncated.

    Yields:
        One list per request, in order.
    """
    pairs = _joint_pairs if encoding == "joint" else _separate_pairs
    for at in range(0, len(requests), _TOGETHER):
        yield from pairs(tokenizer, requests[at : at + _TOGETHER])


def encode_prompts(
    tokenizer: HfTokenizer, requests: Sequence[Generate]
) -> Iterator[EncodedPrompt | Failure]:
    """Encode prompts for generation, truncated from the left to leave room for the answer.

    Yields:
        One item per request, in order.
    """
    yield from each_apart(lambda some: _encoded_prompts(tokenizer, some), requests)


def _encoded_prompts(
    tokenizer: HfTokenizer, requests: Sequence[Generate]
) -> Iterator[EncodedPrompt | Failure]:
    encoded = tokenizer.encode_prompts(request.prompt for request in requests)
    for request in requests:
        room = tokenizer.max_length - request.room
        if room <= 0:
            yield Failure(
                "no_room",
                f"{_wanted(request)} leaves no room for a prompt in max_length"
                f" {tokenizer.max_length}",
            )
            continue
        if failure := no_tokens(tokenizer, request.prompt, encoded[request.prompt]):
            yield failure
            continue
        ids = encoded[request.prompt] or _only(tokenizer.start_token)
        if not ids:
            yield Failure("empty_prompt", "the prompt is empty and the tokenizer has no BOS or EOS")
            continue
        yield EncodedPrompt(ids[-room:], max(0, len(ids) - room))


def no_tokens(tokenizer: HfTokenizer, text: str, ids: tuple[int, ...]) -> Failure | None:
    """Return the failure of a text for which the tokenizer gives no tokens, or None.

    Args:
        tokenizer: The tokenizer.
        text: The text.
        ids: Its tokens, including whatever is put in front of a prompt.
    """
    if len(ids) > max(1, len(tokenizer.prefix)) or not text.strip() or tokenizer.has_tokens(text):
        return None
    return Failure("no_tokens", f"the tokenizer gives no tokens for {text[:40]!r}")


def _wanted(request: Generate) -> str:
    thinking = f" after {request.thinking.budget} tokens of thinking" if request.thinking else ""
    return f"max_gen_toks {request.max_gen_toks}{thinking}"


def _only(token: int | None) -> tuple[int, ...]:
    return () if token is None else (token,)


def _joint_pairs(tokenizer: HfTokenizer, requests: Sequence[Score]) -> Iterator[list[Pair]]:
    """Encode prompt and answer as one text and split where the prompt's tokens end."""
    wholes: list[str] = []
    bare: list[str] = []
    for request in requests:
        if request.prompt:
            wholes.extend((request.prompt.rstrip(), *_wholes(request)))
        else:
            bare.extend(request.continuations)
    encoded, answers = tokenizer.encode_prompts(wholes), tokenizer.encode_answers(bare)
    for request in requests:
        if not request.prompt:
            yield [_after_nothing(tokenizer, answers[text]) for text in request.continuations]
            continue
        context = encoded[request.prompt.rstrip()]
        found = [encoded[whole][len(context) :] for whole in _wholes(request)]
        yield [(context or _only(tokenizer.start_token), ids) for ids in found]


def _wholes(request: Score) -> list[str]:
    return [request.prompt + continuation for continuation in request.continuations]


def _after_nothing(tokenizer: HfTokenizer, answer: tuple[int, ...]) -> Pair:
    start = _only(tokenizer.start_token)
    # An answer that itself begins with BOS must not meet a second one.
    return (start, answer[1:]) if start and answer[:1] == start else (start, answer)


def _separate_pairs(tokenizer: HfTokenizer, requests: Sequence[Score]) -> Iterator[list[Pair]]:
    """Encode prompt and answer separately and concatenate them."""
    answers = tokenizer.encode_answers(text for item in requests for text in item.continuations)
    prompts = tokenizer.encode_prompts(item.prompt for item in requests)
    for request in requests:
        context = prompts[request.prompt] or _only(tokenizer.end_token)
        yield [(context, answers[text]) for text in request.continuations]


def fit_window(
    tokenizer: HfTokenizer, request: Score, pairs: Sequence[Pair]
) -> EncodedScore | Failure:
    """Truncate a request's rows to the window, or say why it cannot be asked."""
    rows, truncated = [], 0
    for (context, answer), text in zip(pairs, request.continuations, strict=True):
        if failure := _refusal(tokenizer, request.prompt, text, (context, answer)):
            return failure
        whole = context + answer
        truncated = max(truncated, len(whole) - (tokenizer.max_length + 1))
        rows.append(Row(whole[-(tokenizer.max_length + 1) :], len(answer)))
    return EncodedScore(tuple(rows), truncated)


def _refusal(tokenizer: HfTokenizer, prompt: str, text: str, pair: Pair) -> Failure | None:
    context, answer = pair
    where = f"prompt ending {prompt[-20:]!r}, continuation {text[:40]!r}"
    if failure := no_tokens(tokenizer, prompt, context):
        return failure
    if not answer:
        return Failure(
            "empty_continuation",
            f"no token is left for the continuation ({where}); its text merges with the prompt's"
            " last token, try --encoding separate",
        )
    if len(answer) > tokenizer.max_length:
        return Failure(
            "continuation_too_long",
            f"{len(answer)} tokens do not fit max_length {tokenizer.max_length} ({where})",
        )
    if not context:
        return Failure("empty_context", f"the tokenizer has neither BOS nor EOS ({where})")
    return None


def encode_rolling(
    tokenizer: HfTokenizer, requests: Sequence[Rolling]
) -> Iterator[tuple[Row, ...] | Failure]:
    """Cut whole texts into windows such that every token is predicted exactly once.

    The first window begins after one start token. Every later one is as long as the model takes
    and predicts only what is new: a full window sees one token of what came before, the last one as
    many as fit. Where the tokenizer adds BOS, or the text begins with it, that BOS is part of the
    text and is predicted after the start token, as lm-eval does.

    Yields:
        The windows of each text, in order.
    """
    yield from each_apart(lambda some: _encoded_rolling(tokenizer, some), requests)


def _encoded_rolling(
    tokenizer: HfTokenizer, requests: Sequence[Rolling]
) -> Iterator[tuple[Row, ...] | Failure]:
    encoded = tokenizer.encode_prompts(request.text for request in requests)
    start = tokenizer.start_token
    for request in requests:
        ids = encoded[request.text]
        if not request.text or not ids:
            yield Failure("empty_text", f"no token to score in {request.text[:40]!r}")
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
