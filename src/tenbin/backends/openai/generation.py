"""Ask for text: a Generate into a call, the server's answer into a Text.

Knows the two shapes of answers, stop strings and thoughts. Stop strings beyond what the server
takes, and all of them where the model thinks first, are cut here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tenbin.backends.openai.conversation import read_conversation
from tenbin.backends.openai.counting import thinking_tokens_of, usage_of
from tenbin.backends.openai.dialect import cannot_draw, decoding_fields
from tenbin.backends.openai.session import Session
from tenbin.backends.openai.transport import Reply
from tenbin.backends.thinking import Split, cut_at_stops, split_thought
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


async def write(
    session: Session, request: Generate, ids: Sequence[int] | None = None, truncated: int = 0
) -> Text | Failure:
    """Answer one request.

    Args:
        session: The open server.
        request: What is asked.
        ids: The prompt in tokens, where a tokenizer is known.
        truncated: Tokens that were cut from its left.
    """
    dialect = session.server.dialect
    if reason := cannot_draw(dialect, request):
        return Failure("unsupported", reason)
    arguments = session.server.arguments
    sent = sent_stops(request, arguments.stops)
    limit = request.max_gen_toks + (request.thinking.budget if request.thinking else 0)
    body: dict[str, Any] = {
        **prompt_fields(session, request.prompt, ids),
        arguments.limit_field: limit,
        **decoding_fields(dialect, request),
        **({"stop": sent} if sent else {}),
    }
    reply = await session.ask(body)
    if isinstance(reply, Failure):
        return reply
    written = read_written(reply)
    if isinstance(written, Failure):
        return written
    prompt = None if session.server.is_chat else request.prompt
    split = _split(request, written, prompt)
    answer, cut = cut_at_stops(split.answer, request.stop)
    usage = usage_of(reply)
    thought_tokens = _thought_tokens(session, reply, split)
    return Text(
        text=answer,
        finish="stop" if cut else _finish(written, bool(sent)),
        token_count=max(0, (usage.completion_tokens if usage else 0) - thought_tokens),
        truncated=truncated,
        thinking=split.thought,
        thinking_tokens=thought_tokens,
        thinking_end=split.end,
        usage=usage,
    )


def prompt_fields(session: Session, prompt: str, ids: Sequence[int] | None) -> dict[str, Any]:
    """The prompt as the server takes it: messages, a text, or tokens."""
    if session.server.is_chat:
        return {"messages": read_conversation(prompt)}
    return {"prompt": prompt if ids is None else list(ids)}


def sent_stops(request: Generate, most: int) -> list[str]:
    """The stop strings that the server looks for: none of them may end a thought."""
    if request.thinking is not None:
        return []
    return [stop for stop in request.stop if stop][:most]


def read_written(reply: Reply) -> Written | Failure:
    """The first choice of an answer, or why it holds none."""
    choices = reply.body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return Failure("malformed", "the answer holds no choices", retryable=True)
    choice = choices[0]
    message = choice.get("message")
    source = message if isinstance(message, Mapping) else choice
    finish = str(choice.get("finish_reason") or "")
    text = source.get("content") if source is message else choice.get("text")
    thought = source.get("reasoning_content") or source.get("reasoning") or ""
    if finish == "content_filter":
        return Failure("content_filter", "the server's filter withheld the answer")
    if text is None and source.get("refusal"):
        text = source["refusal"]
    if text is None and thought:
        text = ""
    if not isinstance(text, str):
        return Failure("malformed", "the answer's first choice holds no text", retryable=True)
    stopped_by = choice.get("stop_reason", ...)
    return Written(text, finish, stopped_by, thought if isinstance(thought, str) else "")


def _thought_tokens(session: Session, reply: Reply, split: Split) -> int:
    """Tokens of a thought, by the server or by the tokenizer; 0 where nobody counts them apart."""
    if split.end == "none":
        return 0
    counted = thinking_tokens_of(reply)
    if counted is None and session.count_tokens is not None:
        return session.count_tokens(split.thought)
    return counted or 0


def _split(request: Generate, written: Written, prompt: str | None) -> Split:
    if written.thought:
        # Some servers keep the thought apart by themselves; no answer yet: it was never closed.
        is_open = not written.text and written.finish == "length"
        return Split(
            written.thought.strip(), written.text.lstrip(), "open" if is_open else "closed"
        )
    if request.thinking is None:
        return Split("", written.text, "none")
    return split_thought(written.text, request.thinking, prompt)


def _finish(written: Written, stops_sent: bool) -> Finish:
    """What ended an answer, as far as the server tells.

    Most servers say `stop` both for a stop string and for the model's own end. Where one names the
    string, that settles it; elsewhere a call that sent stop strings is taken to have met one.
    """
    if written.finish == "length":
        return "length"
    if written.stopped_by is ...:
        return "stop" if stops_sent and written.finish == "stop" else "end"
    return "stop" if isinstance(written.stopped_by, str) else "end"
