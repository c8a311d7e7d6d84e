"""Let a model name a choice by its letter, for servers that weigh no texts.

The likeliest letter among the first tokens, where the server shows their log-probabilities; else
the text is kept, and metrics read the letter out of it. Knows both shapes of log-probabilities;
judges nothing.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.backends.finite import broken_model, is_finite, not_finite
from tenbin.backends.openai.counting import usage_of
from tenbin.backends.openai.dialect import decoding_fields
from tenbin.backends.openai.generation import Written, prompt_fields, read_written
from tenbin.backends.openai.parsing import BadAnswerError, number_of
from tenbin.backends.openai.question import Question, question_of
from tenbin.backends.openai.session import Session
from tenbin.backends.openai.transport import Reply
from tenbin.records import Failure, Picked, Score

_DEPTHS = (20, 5)
"""First tokens that are asked for: 20 is the most that servers show, some show 5."""
_PROBE = Question("Which of these is a colour?\nA. blue\nB. Tuesday\nAnswer:", ("A", "B"), "")


@dataclass(frozen=True, slots=True)
class Letters:
    """How one server is made to name choices."""

    depth: int
    """First tokens whose log-probabilities it shows; 0: none, and texts are read."""
    reason: str = ""
    """Why it shows none."""

    async def pick(self, session: Session, request: Score) -> Picked | Failure:
        """Ask for one letter."""
        server = session.server
        question = question_of(request, server.arguments.instruction, server.is_chat)
        if isinstance(question, Failure):
            return question
        reply = await _ask(session, question, self.depth)
        if isinstance(reply, Failure):
            return reply
        written = read_written(reply)
        if isinstance(written, Failure):
            return written
        try:
            return _picked(question, reply, written, self.depth > 0)
        except BadAnswerError as error:
            return Failure(error.kind, str(error), retryable=True)


async def find_letters(session: Session) -> Letters:
    """Find out whether a server shows the log-probabilities of first tokens.

    Raises:
        BackendError: Nothing can be asked of this server.
        NotFiniteError: Its model gives no finite numbers.
    """
    if session.server.arguments.logprobs == "never":
        return Letters(0, "logprobs=never")
    reason = ""
    for depth in _DEPTHS:
        reply = await _ask(session, _PROBE, depth)
        if isinstance(reply, Reply):
            return _found(depth, reply)
        # Refused: with fewer of them it may go, and without any the documents may.
        reason = reply.message
    return Letters(0, reason)


def _found(depth: int, reply: Reply) -> Letters:
    try:
        shown = first_tokens(reply.body) or []
    except BadAnswerError as error:
        return Letters(0, f"asked for, and not as the protocol has it: {error}")
    if any(value is not None and math.isnan(value) for _, value in shown):
        raise broken_model("the server gives nan for the first token of an answer")
    shows = any(is_finite(value) for _, value in shown)
    return Letters(depth) if shows else Letters(0, "asked for, not sent")


async def _ask(session: Session, question: Question, depth: int) -> Reply | Failure:
    arguments = session.server.arguments
    return await session.ask(
        {
            **prompt_fields(session, question.prompt, None),
            arguments.limit_field: arguments.choice_tokens,
            **decoding_fields(session.server.dialect, None),
            **_depth_fields(depth, session.server.is_chat),
        }
    )


def _depth_fields(depth: int, is_chat: bool) -> dict[str, Any]:
    if depth == 0:
        return {}
    return {"logprobs": True, "top_logprobs": depth} if is_chat else {"logprobs": depth}


def _picked(question: Question, reply: Reply, written: Written, asked: bool) -> Picked | Failure:
    # A thought comes before the answer: its first token says nothing of the letters.
    thinks = written.thought or written.text.lstrip().startswith("<think>")
    shown = first_tokens(reply.body) if asked and not thinks else None
    for token, value in shown or ():
        # What is impossible may have minus infinity, unless it is one of the choices.
        if (value is not None and math.isnan(value)) or (
            not is_finite(value) and _name(token) in question.labels
        ):
            return not_finite(value, "the server")
    logprobs = label_logprobs(shown, question.labels) if shown else ()
    known = [(value, -at) for at, value in enumerate(logprobs) if value is not None]
    choice = -max(known)[1] if known else None
    return Picked(
        choice=choice,
        way="generated" if choice is None else "letter_logprobs",
        text=written.text,
        labels=question.labels,
        added=question.added,
        logprobs=logprobs if known else (),
        usage=usage_of(reply),
    )


def label_logprobs(
    shown: Sequence[tuple[str, float | None]], labels: Sequence[str]
) -> tuple[float | None, ...]:
    """Of each label the log-probability that it comes first, with a space before it or without."""
    found: dict[str, list[float]] = {}
    for token, value in shown:
        if value is not None and math.isfinite(value):
            found.setdefault(_name(token), []).append(value)
    return tuple(_summed(found[label]) if label in found else None for label in labels)


def _name(token: str) -> str:
    return unicodedata.normalize("NFKC", token).strip()


def _summed(values: Sequence[float]) -> float:
    if len(values) == 1:
        return values[0]
    try:
        return math.log(math.fsum(map(math.exp, values)))
    except (ValueError, OverflowError):
        # Beyond what can be exponentiated, the largest is all that counts.
        return max(values)


def first_tokens(body: Mapping[str, Any]) -> list[tuple[str, float | None]] | None:
    """The likeliest first tokens of what was written; None where the server shows none.

    A token's value is None where the server says null or something that is no number.

    Raises:
        BadAnswerError: What it shows are no tokens.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    shown = choice.get("logprobs") if isinstance(choice, Mapping) else None
    if not isinstance(shown, Mapping):
        return None
    content, tops = shown.get("content"), shown.get("top_logprobs")
    if isinstance(content, list) and content and isinstance(content[0], Mapping):
        others = content[0].get("top_logprobs") or []
        entries = [content[0], *(others if isinstance(others, list) else [others])]
        if not all(isinstance(one, Mapping) for one in entries):
            raise BadAnswerError("the likeliest first tokens are no list of tokens")
        pairs = [(one.get("token"), one.get("logprob")) for one in entries]
    elif isinstance(tops, list) and tops and isinstance(tops[0], Mapping):
        pairs = list(tops[0].items())
    else:
        return None
    # The written token stands among the likeliest too, or apart from them: it counts once.
    return list({_token(token): number_of(value) for token, value in pairs}.items()) or None


def _token(token: Any) -> str:
    if not isinstance(token, str):
        raise BadAnswerError("a first token is no text")
    return token
