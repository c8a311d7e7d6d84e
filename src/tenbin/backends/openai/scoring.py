"""Weigh continuations and whole texts by the log-probabilities of prompts that a server shows.

With a tokenizer, rows are encoded exactly as the hf engine encodes them and travel as tokens;
without, the border between prompt and continuation is found in the texts of the server's tokens.
Knows no transport.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.backends.base import Encoding
from tenbin.backends.finite import is_finite, not_finite, summed
from tenbin.backends.openai.counting import joined, usage_of
from tenbin.backends.openai.dialect import decoding_fields
from tenbin.backends.openai.parsing import BadAnswerError
from tenbin.backends.openai.prompt_tokens import (
    PromptToken,
    Way,
    asking_fields,
    read_tokens,
    scored_tokens,
)
from tenbin.backends.openai.pump import together
from tenbin.backends.openai.session import Session
from tenbin.records import Failure, Rolled, Rolling, Score, Scores, Usage

if TYPE_CHECKING:
    from tenbin.backends.text.encoding import Row
    from tenbin.backends.text.tokenizer import HfTokenizer

_TARGETS_AND_ONE = 2
"""Tokens that the engine's window does not count and a server's does: a row's last one, which
the engine never reads, and the one that is written behind it."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """One row, weighed."""

    tokens: tuple[PromptToken, ...]
    """Those that are scored."""
    usage: Usage | None

    @property
    def logprob(self) -> float:
        """Of all of them together."""
        return summed(token.logprob or 0.0 for token in self.tokens)


@dataclass(frozen=True, slots=True)
class Scales:
    """How one server is made to weigh: by which way, with which tokens."""

    way: Way
    tokenizer: HfTokenizer | None
    """With a window that leaves room for what a server counts besides; None: texts are sent."""
    encoding: Encoding = "joint"

    async def score(self, session: Session, request: Score) -> Scores | Failure:
        """All continuations of one prompt, sent one after the other so that they share it."""
        if self.tokenizer is None:
            return await self._score_texts(session, request)
        from tenbin.backends.text.encoding import encode_scores

        encoded = next(iter(encode_scores(self.tokenizer, self.encoding, [request])))
        if isinstance(encoded, Failure):
            return encoded
        rows = [self._weigh_row(session, row) for row in encoded.rows]
        return _scores(await together(*rows), encoded.truncated)

    async def roll(self, session: Session, request: Rolling) -> Rolled | Failure:
        """A whole text, in as many windows as it takes."""
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
        found = await together(*(self._weigh_row(session, row) for row in rows))
        failed = next((one for one in found if isinstance(one, Failure)), None)
        if failed is not None:
            return failed
        weighed = [one for one in found if isinstance(one, Weighed)]
        return Rolled(
            summed(one.logprob for one in weighed),
            sum(len(one.tokens) for one in weighed),
            joined(one.usage for one in weighed),
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
        # As the engine does: white space at the prompt's end belongs to the continuation's tokens.
        border = len(request.prompt.rstrip())
        rows = [
            self._weigh_text(session, request.prompt + continuation, border)
            for continuation in request.continuations
        ]
        return _scores(await together(*rows), 0)

    async def _weigh_row(self, session: Session, row: Row) -> Weighed | Failure:
        return await self._weigh(session, list(row.ids), row.ids, row.scored)

    async def _weigh_text(self, session: Session, text: str, border: int) -> Weighed | Failure:
        return await self._weigh(session, text, None, border)

    async def _weigh(
        self, session: Session, prompt: str | list[int], ids: Sequence[int] | None, where: int
    ) -> Weighed | Failure:
        """One call; `where` counts scored tokens at the end, or characters before them."""
        reply = await session.ask(
            {
                "prompt": prompt,
                session.server.arguments.limit_field: 1,
                **decoding_fields(session.server.dialect, None),
                **asking_fields(self.way),
            }
        )
        if isinstance(reply, Failure):
            return reply
        try:
            tokens = read_tokens(self.way, reply.body, ids)
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
        return Weighed(tuple(scored), usage_of(reply))


def server_tokenizer(tokenizer: HfTokenizer | None) -> HfTokenizer | None:
    """The tokenizer with the window that is left for rows of a server."""
    if tokenizer is None:
        return None
    narrower = copy.copy(tokenizer)
    narrower.max_length = max(1, tokenizer.max_length - _TARGETS_AND_ONE)
    return narrower


def _scores(found: Sequence[Weighed | Failure], truncated: int) -> Scores | Failure:
    weighed = []
    for one in found:
        if isinstance(one, Failure):
            return one
        weighed.append(one)
    return Scores(
        logprobs=tuple(one.logprob for one in weighed),
        token_counts=tuple(len(one.tokens) for one in weighed),
        greedy=tuple(all(token.is_top for token in one.tokens) for one in weighed),
        truncated=truncated,
        usage=joined(one.usage for one in weighed),
    )
