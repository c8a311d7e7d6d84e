"""Generated text: a Generate becomes one or two calls, the server's answer a Text.

Stop strings beyond those that the server accepts, and all of them where the model thinks first, are
applied here. A server knows one limit per call. So a request with a thinking budget is first sent
with that budget as its limit; if thinking and answer fit, that call was enough. Otherwise a second
call continues after the thinking section, which is closed where its budget was spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tenbin.backends.openai.client import (
    Encode,
    Reply,
    Session,
    sum_usage,
    thinking_tokens_of,
    usage_of,
)
from tenbin.backends.openai.conversation import read_conversation, variables_of, with_answer
from tenbin.backends.openai.dialect import cannot_sample, decoding_fields
from tenbin.backends.openai.http import BadAnswerError, only_choice
from tenbin.backends.text.thinking import Split, cut_at_stops, opens_thinking, split_thinking
from tenbin.records import Failure, Generate, Text, Thinking, ThinkingEnd, Usage

Finish = Literal["stop", "end", "length"]


@dataclass(frozen=True, slots=True)
class Generated:
    """Generated text, from completions or chat completions."""

    text: str
    finish: str
    """The server's finish reason: `stop`, `length`, …"""
    stopped_by: Any
    """The stop string, where the server names it; `...` where it does not say."""
    thinking: str
    """The thinking section, where the server separates it from the text."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply and the text in it."""

    reply: Reply
    generated: Generated


async def generate(
    session: Session, request: Generate, ids: Sequence[int] | None = None, truncated: int = 0
) -> Text | Failure:
    """Answer a request by one call, in which thinking and answer share one limit.

    Args:
        session: The open session.
        request: The request.
        ids: The prompt in tokens, where a tokenizer is known.
        truncated: Tokens that were cut from its left.
    """
    stops = [] if request.thinking else sent_stops(request, session.server.arguments.stops)
    limit = request.max_gen_toks + (request.thinking.budget if request.thinking else 0)
    completion = await complete(
        session, request, prompt_fields(session, request.prompt, ids), limit, stops
    )
    return (
        completion
        if isinstance(completion, Failure)
        else text_of(session, request, completion, stops, truncated)
    )


async def complete(
    session: Session,
    request: Generate,
    prompt: Mapping[str, Any],
    limit: int,
    stops: Sequence[str],
) -> Completion | Failure:
    """One call that generates at most `limit` tokens after a prompt."""
    dialect = session.server.dialect
    if reason := cannot_sample(dialect, request):
        return Failure("unsupported", reason)
    reply = await session.ask(
        {
            **prompt,
            session.server.arguments.limit_field: limit,
            **decoding_fields(dialect, request),
            **({"stop": list(stops)} if stops else {}),
        }
    )
    if isinstance(reply, Failure):
        return reply
    generated = read_generated(reply)
    return generated if isinstance(generated, Failure) else Completion(reply, generated)


def text_of(
    session: Session,
    request: Generate,
    completion: Completion,
    stops: Sequence[str],
    truncated: int,
) -> Text:
    """The Text of one call, with thinking and answer separated."""
    split = split_generated(session, request, completion.generated)
    answer, cut = cut_at_stops(split.answer, request.stop)
    usage = usage_of(completion.reply)
    thinking_tokens = count_thinking(session, completion, split)
    return Text(
        text=answer,
        finish="stop" if cut else finish_of(completion.generated, bool(stops)),
        token_count=max(0, (usage.completion_tokens if usage else 0) - thinking_tokens),
        truncated=truncated,
        thinking=split.thinking,
        thinking_tokens=thinking_tokens,
        thinking_end=split.end,
        usage=usage,
    )


def prompt_fields(session: Session, prompt: str, ids: Sequence[int] | None) -> dict[str, Any]:
    """Fields of a call that hold the prompt: messages, a text, or tokens."""
    if session.server.is_chat:
        variables = variables_of(prompt)
        return {
            "messages": read_conversation(prompt),
            **({"chat_template_kwargs": variables} if variables else {}),
        }
    return {"prompt": prompt if ids is None else list(ids)}


def sent_stops(request: Generate, most: int) -> list[str]:
    """The stop strings that are sent to the server; the others are applied here."""
    return [stop for stop in request.stop if stop][:most]


def read_generated(reply: Reply) -> Generated | Failure:
    """The text of a reply's only choice, or why there is none."""
    try:
        choice = only_choice(reply.body)
    except BadAnswerError as error:
        return Failure(error.kind, str(error), retryable=True)
    message = choice.get("message")
    source = message if isinstance(message, Mapping) else choice
    reason = choice.get("finish_reason")
    finish = reason if isinstance(reason, str) else ""
    text = source.get("content") if source is message else choice.get("text")
    thinking = source.get("reasoning_content") or source.get("reasoning") or ""
    if finish == "content_filter":
        return Failure("content_filter", "the server's filter withheld the answer")
    if text is None and source.get("refusal"):
        text = source["refusal"]
    if text is None and thinking:
        text = ""
    if not isinstance(text, str):
        return Failure("malformed", "the answer's only choice holds no text", retryable=True)
    stopped_by = choice.get("stop_reason", ...)
    return Generated(text, finish, stopped_by, thinking if isinstance(thinking, str) else "")


def count_thinking(session: Session, completion: Completion, split: Split) -> int:
    """Tokens of the thinking section with its marks, as counted by server or tokenizer; else 0."""
    if split.end == "none":
        return 0
    counted = thinking_tokens_of(completion.reply)
    if counted is None and session.encode is not None:
        before = (
            completion.generated.thinking or before_answer(completion.generated, split).rstrip()
        )
        return len(session.encode(before))
    return counted or 0


def before_answer(generated: Generated, split: Split) -> str:
    """What precedes the answer: the thinking section, its marks, white space."""
    return generated.text[: len(generated.text) - len(split.answer)]


def split_generated(session: Session, request: Generate, generated: Generated) -> Split:
    """Thinking section and answer of one call's text."""
    if generated.thinking:
        # Some servers separate the thinking section; without an answer it was not closed.
        is_open = not generated.text and generated.finish == "length"
        return Split(
            generated.thinking.strip(), generated.text.lstrip(), "open" if is_open else "closed"
        )
    if request.thinking is None:
        return Split("", generated.text, "none")
    prompt = None if session.server.is_chat else request.prompt
    return split_thinking(generated.text, request.thinking, prompt)


def finish_of(generated: Generated, stops_sent: bool) -> Finish:
    """What ended an answer, as far as the server says.

    Most servers say `stop` both for a stop string and for the model's end-of-sequence token. Where
    one names the string, that settles it; elsewhere a call that sent stop strings is taken to have
    ended at one.
    """
    if generated.finish == "length":
        return "length"
    if generated.stopped_by is ...:
        return "stop" if stops_sent and generated.finish == "stop" else "end"
    return "stop" if isinstance(generated.stopped_by, str) else "end"


_BROKEN_CHARACTER = "\ufffd"
"""What a server shows for a character whose last bytes were not generated."""


@dataclass(frozen=True, slots=True)
class _Section:
    """The thinking section before an answer that a second call will generate."""

    head: str
    """All text after the prompt, marks included."""
    text: str
    tokens: int
    end: ThinkingEnd
    usage: Usage | None


def supports_budget(session: Session) -> bool:
    """Whether the server can continue after a thinking section: completions always can, chats where
    the last message may be an unfinished answer."""
    return not session.server.is_chat or session.server.dialect == "llama.cpp"


async def generate_with_budget(
    session: Session,
    request: Generate,
    thinking: Thinking,
    ids: Sequence[int] | None = None,
    truncated: int = 0,
) -> Text | Failure:
    """Answer a request whose thinking section has a budget of its own, by at most two calls.

    Args:
        session: The session of a server that `supports_budget`.
        request: The request.
        thinking: Its marks and budget.
        ids: The prompt in tokens, where a tokenizer is known.
        truncated: Tokens that were cut from its left.
    """
    opened = not session.server.is_chat and opens_thinking(request.prompt, thinking)
    if opened and thinking.budget == 0:
        section = _Section(thinking.closing_text, "", 0, "budget", None)
        return await _answer(session, request, section, ids, truncated)
    prompt = _fields(session, request.prompt, ids)
    # With a budget of 0, one token shows whether the model starts to think.
    completion = await complete(session, request, prompt, max(1, thinking.budget), [])
    if isinstance(completion, Failure):
        return completion
    if completion.generated.thinking or _is_whole(session, request, completion):
        return text_of(session, request, completion, [], truncated)
    return await _answer(session, request, _left(session, request, completion), ids, truncated)


def _is_whole(session: Session, request: Generate, completion: Completion) -> bool:
    """Whether one call was enough: the answer ended, certainly within its limit."""
    split, cut_off = (
        split_generated(session, request, completion.generated),
        completion.generated.finish == "length",
    )
    if split.end == "open":
        return not cut_off
    answer, stopped = cut_at_stops(split.answer, request.stop)
    return (stopped or not cut_off) and _most_tokens(answer, session.encode) <= request.max_gen_toks


def _most_tokens(text: str, encode: Encode | None) -> int:
    """Tokens of a text; without a tokenizer its bytes, which is an upper bound."""
    return len(encode(text)) if encode is not None else len(text.encode())


def _left(session: Session, request: Generate, completion: Completion) -> _Section:
    """The thinking section of a call whose answer is incomplete; that part of it is dropped."""
    assert request.thinking is not None
    split, usage = (
        split_generated(session, request, completion.generated),
        usage_of(completion.reply),
    )
    if split.end != "open":
        head = before_answer(completion.generated, split)
        return _Section(
            head, split.thinking, count_thinking(session, completion, split), split.end, usage
        )
    head = completion.generated.text.rstrip(_BROKEN_CHARACTER) + request.thinking.closing_text
    thinking = split.thinking.rstrip(_BROKEN_CHARACTER)
    return _Section(head, thinking, usage.completion_tokens if usage else 0, "budget", usage)


async def _answer(
    session: Session,
    request: Generate,
    section: _Section,
    ids: Sequence[int] | None,
    truncated: int,
) -> Text | Failure:
    # White space after the closing mark belongs to it, and a stop string may be white space.
    stops = [] if section.head else sent_stops(request, session.server.arguments.stops)
    prompt = _continued(session, request.prompt, section.head, ids)
    completion = await complete(session, request, prompt, request.max_gen_toks, stops)
    if isinstance(completion, Failure):
        return completion
    usage = usage_of(completion.reply)
    both = sum_usage([section.usage, usage]) if section.usage else usage
    if not section.head:
        return replace(text_of(session, request, completion, stops, truncated), usage=both)
    # Some builds of llama.cpp repeat the beginning of the answer that they were given.
    answer, cut = cut_at_stops(
        completion.generated.text.removeprefix(section.head).lstrip(), request.stop
    )
    return Text(
        text=answer,
        finish="stop" if cut else finish_of(completion.generated, stops_sent=False),
        token_count=usage.completion_tokens if usage else 0,
        truncated=truncated,
        thinking=section.text,
        thinking_tokens=section.tokens,
        thinking_end=section.end,
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
    # A thinking section that llama.cpp separates cannot be continued: its exact text is not known.
    return {**fields, "reasoning_format": "none"} if session.server.is_chat else fields
