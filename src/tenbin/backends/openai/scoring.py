"""Log-likelihoods of continuations and whole texts, from the log-probabilities of prompts.

With a tokenizer, rows are encoded exactly as the hf engine encodes them and sent as tokens;
without, the border between prompt and continuation is found in the texts of the server's tokens.

Before any request is sent, `find_scorer` checks that the server really shows them. Some servers
accept `echo` and ignore it (llama.cpp does), and what comes back then looks like an answer. So both
methods are tried on a sentence whose end is known, and what comes back has to add up.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.backends.base import Encoding
from tenbin.backends.finite import (
    NOT_FINITE,
    NotFiniteError,
    broken_model,
    is_finite,
    not_finite,
    summed,
)
from tenbin.backends.openai.client import Session, sum_usage, usage_of
from tenbin.backends.openai.concurrency import gather
from tenbin.backends.openai.dialect import decoding_fields
from tenbin.backends.openai.http import BadAnswerError
from tenbin.backends.openai.prompt_tokens import (
    Method,
    PromptToken,
    logprob_fields,
    read_tokens,
    scored_tokens,
)
from tenbin.errors import BackendError
from tenbin.records import Failure, Rolled, Rolling, Score, Scores, Usage

if TYPE_CHECKING:
    from tenbin.backends.text.encoding import Row
    from tenbin.backends.text.tokenizer import HfTokenizer


_TARGETS_AND_ONE = 2
"""Tokens that a server counts and the hf engine's window does not: a row's last one, which is only
a target, and the one that is generated after it."""


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One row with its log-probabilities."""

    tokens: tuple[PromptToken, ...]
    """The scored ones."""
    usage: Usage | None

    @property
    def logprob(self) -> float:
        """Sum over all scored tokens."""
        return summed(token.logprob or 0.0 for token in self.tokens)


@dataclass(frozen=True, slots=True)
class PromptScorer:
    """Scores by prompt log-probabilities: by which method, with which tokenizer."""

    method: Method
    tokenizer: HfTokenizer | None
    """With the window of `narrowed_tokenizer`; None: texts are sent instead of tokens."""
    encoding: Encoding = "joint"

    async def score(self, session: Session, request: Score) -> Scores | Failure:
        """Log-likelihoods of all continuations of one prompt."""
        if self.tokenizer is None:
            return await self._score_texts(session, request)
        from tenbin.backends.text.encoding import encode_scores

        encoded = next(iter(encode_scores(self.tokenizer, self.encoding, [request])))
        if isinstance(encoded, Failure):
            return encoded
        rows = [self._score_row(session, row) for row in encoded.rows]
        return _scores(await gather(*rows), encoded.truncated)

    async def rolling(self, session: Session, request: Rolling) -> Rolled | Failure:
        """Rolling log-likelihood of a whole text, in as many windows as it takes."""
        if self.tokenizer is None:
            return Failure(
                "needs_tokenizer",
                "a server shows no log-probability of a text's first token: name the model's"
                " tokenizer with tokenizer=PATH",
            )
        from tenbin.backends.text.encoding import encode_rolling

        rows = next(iter(encode_rolling(self.tokenizer, [request])))
        if isinstance(rows, Failure):
            return rows
        found = await gather(*(self._score_row(session, row) for row in rows))
        failed = next((one for one in found if isinstance(one, Failure)), None)
        if failed is not None:
            return failed
        scored = [one for one in found if isinstance(one, ScoredRow)]
        return Rolled(
            summed(one.logprob for one in scored),
            sum(len(one.tokens) for one in scored),
            sum_usage(one.usage for one in scored),
        )

    async def _score_texts(self, session: Session, request: Score) -> Scores | Failure:
        if self.encoding == "separate":
            return Failure(
                "needs_tokenizer",
                "--encoding separate cuts tokens where a text alone does not: name the model's"
                " tokenizer with tokenizer=PATH",
            )
        if not request.prompt.strip():
            return Failure(
                "needs_tokenizer",
                "a server shows no log-probability of a text's first token: choices without a"
                " prompt need the model's tokenizer, tokenizer=PATH",
            )
        # As in the hf engine, white space at the prompt's end belongs to the continuation's tokens.
        border = len(request.prompt.rstrip())
        rows = [
            self._score_text(session, request.prompt + continuation, border)
            for continuation in request.continuations
        ]
        return _scores(await gather(*rows), 0)

    async def _score_row(self, session: Session, row: Row) -> ScoredRow | Failure:
        return await self._score(session, list(row.ids), row.ids, row.scored)

    async def _score_text(self, session: Session, text: str, border: int) -> ScoredRow | Failure:
        return await self._score(session, text, None, border)

    async def _score(
        self, session: Session, prompt: str | list[int], ids: Sequence[int] | None, where: int
    ) -> ScoredRow | Failure:
        """One call; `where` counts scored tokens at the end, or characters before them."""
        reply = await session.ask(
            {
                "prompt": prompt,
                session.server.arguments.limit_field: 1,
                **decoding_fields(session.server.dialect, None),
                **logprob_fields(self.method),
            }
        )
        if isinstance(reply, Failure):
            return reply
        try:
            tokens = read_tokens(self.method, reply.body, ids)
            if isinstance(prompt, str):
                scored = scored_tokens(tokens, prompt, where)
            else:
                scored = tokens[-where:]
        except BadAnswerError as error:
            return Failure(error.kind, str(error))
        if not scored:
            return Failure("empty_continuation", "no token is left for the continuation")
        broken = [token.logprob for token in scored if not is_finite(token.logprob)]
        if broken:
            return not_finite(broken[0], "the server")
        return ScoredRow(tuple(scored), usage_of(reply))


def narrowed_tokenizer(tokenizer: HfTokenizer | None) -> HfTokenizer | None:
    """The tokenizer with the window that a server leaves for rows."""
    if tokenizer is None:
        return None
    narrower = copy.copy(tokenizer)
    narrower.max_length = max(1, tokenizer.max_length - _TARGETS_AND_ONE)
    return narrower


def _scores(found: Sequence[ScoredRow | Failure], truncated: int) -> Scores | Failure:
    scored = []
    for one in found:
        if isinstance(one, Failure):
            return one
        scored.append(one)
    return Scores(
        logprobs=tuple(one.logprob for one in scored),
        token_counts=tuple(len(one.tokens) for one in scored),
        greedy=tuple(all(token.is_top for token in one.tokens) for one in scored),
        truncated=truncated,
        usage=sum_usage(one.usage for one in scored),
    )


_PROMPT = "The capital of France is"
_LIKELY = " Paris"
_NONSENSE = " qvx 7 zzt wug 40 blorf nth"
REMEDIES = (
    "let the model name choices by letter (--model openai-chat, or choices=letters), run generation"
    " tasks, or load the same model with --model hf"
)


async def find_scorer(
    session: Session, tokenizer: HfTokenizer | None, encoding: Encoding
) -> PromptScorer:
    """Find the method by which this server shows log-probabilities of prompts.

    Args:
        session: The open server.
        tokenizer: The model's, from `narrowed_tokenizer`; None: texts are sent.
        encoding: How prompt and answer meet.

    Raises:
        BackendError: It shows none.
        NotFiniteError: It shows them, and its model gives no finite numbers.
    """
    if session.server.arguments.logprobs == "never":
        raise BackendError(
            "logprobs=never: choices and whole texts need log-probabilities", REMEDIES
        )
    methods: tuple[Method, ...] = ("echo", "prompt_logprobs")
    if session.server.dialect == "vllm":
        methods = ("prompt_logprobs", "echo")
    reasons = []
    broken: NotFiniteError | None = None
    for method in methods:
        scorer = PromptScorer(method, tokenizer, encoding)
        try:
            reason = await _fault(session, scorer)
        except NotFiniteError as error:
            # The other method is tried first: servers that do not score prompts may say null too.
            broken, reason = error, error.message
        if reason is None:
            return scorer
        reasons.append(f"{method}: {reason}")
    if broken is not None:
        raise broken
    raise BackendError(
        "this server shows no log-probabilities of prompts, so it cannot score choices or whole"
        f" texts ({'; '.join(reasons)})",
        REMEDIES,
    )


async def _fault(session: Session, scorer: PromptScorer) -> str | None:
    """What is wrong with a method; None if it works."""
    found = await scorer.score(session, Score("probe", _PROMPT, (_LIKELY, _NONSENSE, _LIKELY)))
    if isinstance(found, Failure):
        if found.kind == NOT_FINITE:
            raise broken_model(f"{found.message.split(';')[0]}, for {_PROMPT + _LIKELY!r}")
        return found.message
    return _implausible(found)


def _implausible(found: Scores) -> str | None:
    likely, nonsense, again = found.logprobs
    counts: Sequence[int] = found.token_counts
    if not nonsense < likely < 0:
        return f"{_LIKELY!r} has {likely:.2f} and {_NONSENSE!r} {nonsense:.2f}: not likelihoods"
    if counts[0] != counts[2] or counts[1] <= counts[0]:
        return f"{_LIKELY!r} has {counts[0]} tokens and {_NONSENSE!r} {counts[1]}"
    if not math.isclose(likely, again, rel_tol=0.05, abs_tol=0.2):
        return f"the same text has {likely:.3f} and {again:.3f}"
    return None
