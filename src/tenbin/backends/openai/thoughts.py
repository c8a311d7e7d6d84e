"""A thought within its budget, and an answer with its whole limit, over a server.

A server knows one limit a call. So the first call is given the thought's budget; where that holds
thought and answer, it was the only one. Else the answer is asked for by a second call that goes on
behind the thought, closed by force where its budget was spent. Knows no address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenbin.backends.openai.conversation import with_answer
from tenbin.backends.openai.counting import joined, usage_of
from tenbin.backends.openai.generation import (
    Said,
    ask_for,
    before_answer,
    count_thought,
    prompt_fields,
    sent_stops,
    split_written,
    text_of,
    what_ended,
)
from tenbin.backends.openai.session import Encode, Session
from tenbin.backends.text.thinking import cut_at_stops, opens_thinking
from tenbin.records import Failure, Generate, Text, Thinking, ThinkingEnd, Usage

_BROKEN_CHARACTER = "\ufffd"
"""What a server shows of a character whose last bytes were not written."""


@dataclass(frozen=True, slots=True)
class _Thought:
    """What stands before an answer that is still to be asked for."""

    head: str
    """Everything behind the prompt, marks included."""
    text: str
    tokens: int
    end: ThinkingEnd
    usage: Usage | None


def holds_budgets(session: Session) -> bool:
    """Whether a server goes on behind a thought: after any prompt, and in a chat where the last
    message may be an answer that has begun."""
    return not session.server.is_chat or session.server.dialect == "llama.cpp"


async def write_thoughtfully(
    session: Session,
    request: Generate,
    thinking: Thinking,
    ids: Sequence[int] | None = None,
    truncated: int = 0,
) -> Text | Failure:
    """Answer one request that thinks first.

    Args:
        session: An open server that `holds_budgets`.
        request: What is asked.
        thinking: Its marks and budget.
        ids: The prompt in tokens, where a tokenizer is known.
        truncated: Tokens that were cut from its left.
    """
    opened = not session.server.is_chat and opens_thinking(request.prompt, thinking)
    if opened and thinking.budget == 0:
        begun = _Thought(thinking.closing_text, "", 0, "budget", None)
        return await _answer(session, request, begun, ids, truncated)
    prompt = _fields(session, request.prompt, ids)
    # One token shows whether a model that may not think would.
    said = await ask_for(session, request, prompt, max(1, thinking.budget), [])
    if isinstance(said, Failure):
        return said
    if said.written.thought or _is_whole(session, request, said):
        return text_of(session, request, said, [], truncated)
    return await _answer(session, request, _left(session, request, said), ids, truncated)


def _is_whole(session: Session, request: Generate, said: Said) -> bool:
    """Whether nothing is left to be asked: an answer ended, and surely within its limit."""
    split, cut_off = split_written(session, request, said.written), said.written.finish == "length"
    if split.end == "open":
        return not cut_off
    answer, stopped = cut_at_stops(split.answer, request.stop)
    return (stopped or not cut_off) and _most_tokens(answer, session.encode) <= request.max_gen_toks


def _most_tokens(text: str, encode: Encode | None) -> int:
    """Tokens of a text; never more than its bytes, where no tokenizer is known."""
    return len(encode(text)) if encode is not None else len(text.encode())


def _left(session: Session, request: Generate, said: Said) -> _Thought:
    """The thought of a call whose answer is still to come; what it wrote of that is given up."""
    assert request.thinking is not None
    split, usage = split_written(session, request, said.written), usage_of(said.reply)
    if split.end != "open":
        head = before_answer(said.written, split)
        return _Thought(head, split.thinking, count_thought(session, said, split), split.end, usage)
    head = said.written.text.rstrip(_BROKEN_CHARACTER) + request.thinking.closing_text
    thought = split.thinking.rstrip(_BROKEN_CHARACTER)
    return _Thought(head, thought, usage.completion_tokens if usage else 0, "budget", usage)


async def _answer(
    session: Session,
    request: Generate,
    begun: _Thought,
    ids: Sequence[int] | None,
    truncated: int,
) -> Text | Failure:
    # White space after the mark belongs to the mark, and a stop string may be white space.
    stops = [] if begun.head else sent_stops(request, session.server.arguments.stops)
    prompt = _continued(session, request.prompt, begun.head, ids)
    said = await ask_for(session, request, prompt, request.max_gen_toks, stops)
    if isinstance(said, Failure):
        return said
    usage = usage_of(said.reply)
    both = joined([begun.usage, usage]) if begun.usage else usage
    if not begun.head:
        return replace(text_of(session, request, said, stops, truncated), usage=both)
    # Some builds of llama.cpp repeat what the answer began with.
    answer, cut = cut_at_stops(said.written.text.removeprefix(begun.head).lstrip(), request.stop)
    return Text(
        text=answer,
        finish="stop" if cut else what_ended(said.written, stops_sent=False),
        token_count=usage.completion_tokens if usage else 0,
        truncated=truncated,
        thinking=begun.text,
        thinking_tokens=begun.tokens,
        thinking_end=begun.end,
        usage=both,
    )


def _continued(
    session: Session, prompt: str, head: str, ids: Sequence[int] | None
) -> Mapping[str, Any]:
    if not head:
        return _fields(session, prompt, ids)
    if session.server.is_chat:
        return _fields(session, with_answer(prompt, head), None)
    if ids is not None and session.encode is not None:
        ids = [*ids, *session.encode(head)]
    return _fields(session, prompt + head, ids)


def _fields(session: Session, prompt: str, ids: Sequence[int] | None) -> Mapping[str, Any]:
    fields = prompt_fields(session, prompt, ids)
    # A thought that llama.cpp keeps apart cannot be gone on from: its exact text is not known.
    return {**fields, "reasoning_format": "none"} if session.server.is_chat else fields
