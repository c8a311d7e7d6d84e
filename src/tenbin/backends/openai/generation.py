"""Ask for text: a Generate into a call, the server's answer into a Text.

Knows the two shapes of answers, stop strings and thoughts. Stop strings beyond what the server
takes, and all of them where the model thinks first, are cut here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tenbin.backends.openai.conversation import read_conversation, variables_of
from tenbin.backends.openai.counting import thinking_tokens_of, usage_of
from tenbin.backends.openai.dialect import cannot_draw, decoding_fields
from tenbin.backends.openai.parsing import BadAnswerError, only_choice
from tenbin.backends.openai.session import Session
from tenbin.backends.openai.transport import Reply
from tenbin.backends.text.thinking import Split, cut_at_stops, split_thinking
from tenbin.records import Failure, Generate, Text

Finish = Literal["stop", "end", "length"]


@dataclass(frozen=True, slots=True)
class Written:
    """What a server wrote, in the words of either protocol."""

    text: str
    finish: str
    """As the server calls it: `stop`, `length`, …"""
    stopped_by: Any
    """The stop string, where the server names it; `...` where it never does."""
    thought: str
    """What it kept apart from the text as reasoning."""


@dataclass(frozen=True, slots=True)
class Said:
    """One good answer of a server, and what it holds."""

    reply: Reply
    written: Written


async def write(
    session: Session, request: Generate, ids: Sequence[int] | None = None, truncated: int = 0
) -> Text | Failure:
    """Answer one request by one call.

    A thought and its answer share the limit then; `thoughts` holds a budget by a second call.

    Args:
        session: The open server.
        request: What is asked.
        ids: The prompt in tokens, where a tokenizer is known.
        truncated: Tokens that were cut from its left.
    """
    stops = [] if request.thinking else sent_stops(request, session.server.arguments.stops)
    limit = request.max_gen_toks + (request.thinking.budget if request.thinking else 0)
    said = await ask_for(
        session, request, prompt_fields(session, request.prompt, ids), limit, stops
    )
    return said if isinstance(said, Failure) else text_of(session, request, said, stops, truncated)


async def ask_for(
    session: Session,
    request: Generate,
    prompt: Mapping[str, Any],
    limit: int,
    stops: Sequence[str],
) -> Said | Failure:
    """One call for so many tokens after a prompt."""
    dialect = session.server.dialect
    if reason := cannot_draw(dialect, request):
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
    written = read_written(reply)
    return written if isinstance(written, Failure) else Said(reply, written)


def text_of(
    session: Session, request: Generate, said: Said, stops: Sequence[str], truncated: int
) -> Text:
    """All that one call wrote, thought and answer told apart."""
    split = split_written(session, request, said.written)
    answer, cut = cut_at_stops(split.answer, request.stop)
    usage = usage_of(said.reply)
    thought_tokens = count_thought(session, said, split)
    return Text(
        text=answer,
        finish="stop" if cut else what_ended(said.written, bool(stops)),
        token_count=max(0, (usage.completion_tokens if usage else 0) - thought_tokens),
        truncated=truncated,
        thinking=split.thinking,
        thinking_tokens=thought_tokens,
        thinking_end=split.end,
        usage=usage,
    )


def prompt_fields(session: Session, prompt: str, ids: Sequence[int] | None) -> dict[str, Any]:
    """The prompt as the server takes it: messages, a text, or tokens."""
    if session.server.is_chat:
        variables = variables_of(prompt)
        return {
            "messages": read_conversation(prompt),
            **({"chat_template_kwargs": variables} if variables else {}),
        }
    return {"prompt": prompt if ids is None else list(ids)}


def sent_stops(request: Generate, most: int) -> list[str]:
    """The stop strings that the server looks for; further ones are cut here."""
    return [stop for stop in request.stop if stop][:most]


def read_written(reply: Reply) -> Written | Failure:
    """The only choice of an answer, or why it holds none."""
    try:
        choice = only_choice(reply.body)
    except BadAnswerError as error:
        return Failure(error.kind, str(error), retryable=True)
    message = choice.get("message")
    source = message if isinstance(message, Mapping) else choice
    reason = choice.get("finish_reason")
    finish = reason if isinstance(reason, str) else ""
    text = source.get("content") if source is message else choice.get("text")
    thought = source.get("reasoning_content") or source.get("reasoning") or ""
    if finish == "content_filter":
        return Failure("content_filter", "the server's filter withheld the answer")
    if text is None and source.get("refusal"):
        text = source["refusal"]
    if text is None and thought:
        text = ""
    if not isinstance(text, str):
        return Failure("malformed", "the answer's only choice holds no text", retryable=True)
    stopped_by = choice.get("stop_reason", ...)
    return Written(text, finish, stopped_by, thought if isinstance(thought, str) else "")


def count_thought(session: Session, said: Said, split: Split) -> int:
    """Tokens of a thought with its marks, by the server or by the tokenizer; else 0."""
    if split.end == "none":
        return 0
    counted = thinking_tokens_of(said.reply)
    if counted is None and session.encode is not None:
        before = said.written.thought or before_answer(said.written, split).rstrip()
        return len(session.encode(before))
    return counted or 0


def before_answer(written: Written, split: Split) -> str:
    """What stands before the answer in a text: the thought, its marks, white space."""
    return written.text[: len(written.text) - len(split.answer)]


def split_written(session: Session, request: Generate, written: Written) -> Split:
    """Thought and answer of what one call wrote."""
    if written.thought:
        # Some servers keep the thought apart by themselves; no answer yet: it was never closed.
        is_open = not written.text and written.finish == "length"
        return Split(
            written.thought.strip(), written.text.lstrip(), "open" if is_open else "closed"
        )
    if request.thinking is None:
        return Split("", written.text, "none")
    prompt = None if session.server.is_chat else request.prompt
    return split_thinking(written.text, request.thinking, prompt)


def what_ended(written: Written, stops_sent: bool) -> Finish:
    """What ended an answer, as far as the server tells.

    Most servers say `stop` both for a stop string and for the model's own end. Where one names the
    string, that settles it; elsewhere a call that sent stop strings is taken to have met one.
    """
    if written.finish == "length":
        return "length"
    if written.stopped_by is ...:
        return "stop" if stops_sent and written.finish == "stop" else "end"
    return "stop" if isinstance(written.stopped_by, str) else "end"
