"""Choices named by letter, for servers that show no log-likelihoods of texts.

The model is asked for one letter. The likeliest letter among the first tokens is the answer where
the server shows their log-probabilities; otherwise the text is kept, and metrics read the letter
from it. Where the prompt shows labels for its choices already, it is sent as it is; otherwise a
lettered list follows it, and an instruction in the script of the prompt.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.backends.finite import broken_model, is_finite, not_finite
from tenbin.backends.openai.client import Reply, Session, usage_of
from tenbin.backends.openai.conversation import read_conversation, with_text
from tenbin.backends.openai.dialect import decoding_fields
from tenbin.backends.openai.generation import Generated, prompt_fields, read_generated
from tenbin.backends.openai.http import BadAnswerError, number_of
from tenbin.records import Failure, Picked, Score


@dataclass(frozen=True, slots=True)
class Wording:
    """The words that ask for a letter, in one script."""

    script: str
    asks: str
    """The instruction below the list of choices."""
    cue: str
    """The end of the prompt for a model that continues texts."""


_WORDINGS: tuple[tuple[re.Pattern[str], Wording], ...] = (
    (re.compile("[\u3040-\u30ff]"), Wording(
        "kana", "上の選択肢から最も適切なものを一つ選び、その記号だけを答えてください。", "回答:")),
    (re.compile("[\uac00-\ud7af]"), Wording(
        "hangul", "위 선택지 중에서 가장 알맞은 것을 하나 골라 그 기호만 답하세요.", "답:")),
    (re.compile("[\u4e00-\u9fff]"), Wording(
        "han", "请从以上选项中选出最合适的一项，只回答其字母。", "答案：")),
    (re.compile("[\u0e00-\u0e7f]"), Wording(
        "thai", "เลือกคำตอบที่เหมาะสมที่สุดหนึ่งข้อจากตัวเลือกข้างต้น และตอบเฉพาะตัวอักษรเท่านั้น", "คำตอบ:")),
    (re.compile("[\u0600-\u06ff]"), Wording(
        "arabic", "اختر الإجابة الأنسب من الخيارات أعلاه، وأجب بالحرف فقط.", "الإجابة:")),
)  # fmt: skip
_LATIN = Wording(
    "latin", "Choose the most suitable of the options above and answer with its letter only.",
    "Answer:",
)  # fmt: skip
_SHARE = 0.05
"""Share of a text's letters that a script must exceed: names and quotations are not enough."""


def wording_for(text: str) -> Wording:
    """The words for a prompt, by the first script that exceeds its share.

    A backend does not know the task's language, so the script decides: kana means Japanese, hangul
    Korean, Han characters without kana Chinese. Latin script is asked in English.
    """
    letters = sum(mark.isalpha() for mark in text) or 1
    for pattern, wording in _WORDINGS:
        if len(pattern.findall(text)) / letters > _SHARE:
            return wording
    return _LATIN


def all_wordings() -> dict[str, str]:
    """Every instruction by script, for the results."""
    return {wording.script: wording.asks for _, wording in _WORDINGS} | {_LATIN.script: _LATIN.asks}


_LABEL = re.compile(r"([0-9A-Za-z])(?:[.):：．、）]\s*\S.*)?", re.DOTALL)
_LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True)
class Question:
    """A choice turned into a question for a letter."""

    prompt: str
    """A text, or a conversation whose last message was extended."""
    labels: tuple[str, ...]
    added: str
    """What was appended to the prompt."""


def letter_question(request: Score, instruction: str | None, is_chat: bool) -> Question | Failure:
    """Turn a Score into a question for a letter.

    Args:
        request: The prompt and its continuations.
        instruction: The user's instruction instead of the built-in one.
        is_chat: Whether the model answers in a turn of its own and needs no cue.
    """
    if not request.prompt.strip():
        return Failure(
            "unsupported", "choices without a prompt can only be scored by likelihood, not named"
        )
    if len(request.continuations) < 2:
        return Failure(
            "unsupported", "one given answer can only be scored by likelihood, not named"
        )
    shown = "\n".join(turn["content"] for turn in read_conversation(request.prompt))
    choices = [text.strip() for text in request.continuations]
    labels = own_labels(choices, shown)
    if labels is not None:
        return Question(request.prompt, labels, "")
    if len(choices) > len(_LETTERS):
        return Failure("unsupported", f"{len(choices)} choices are more than there are letters")
    wording = wording_for(shown)
    lines = [f"{letter}. {choice}" for letter, choice in zip(_LETTERS, choices, strict=False)]
    added = "\n\n" + "\n".join(lines) + f"\n\n{instruction or wording.asks}"
    if not is_chat:
        added += f"\n{wording.cue}"
    prompt = with_text(request.prompt.rstrip() if not is_chat else request.prompt, added)
    return Question(prompt, tuple(_LETTERS[: len(choices)]), added)


def own_labels(choices: Sequence[str], shown: str) -> tuple[str, ...] | None:
    """The labels that the choices begin with and the prompt shows; None without such labels."""
    labels = []
    for choice in choices:
        found = _LABEL.fullmatch(choice)
        if found is None or not _stands_in(found[1], shown):
            return None
        labels.append(found[1])
    return tuple(labels) if len(set(labels)) == len(labels) > 1 else None


def _stands_in(label: str, text: str) -> bool:
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(label)}(?![0-9A-Za-z])", text) is not None


_DEPTHS = (20, 5)
"""Numbers of first tokens to request: 20 is the most that servers show, some show 5."""
_PROBE = Question("Which of these is a colour?\nA. blue\nB. Tuesday\nAnswer:", ("A", "B"), "")


@dataclass(frozen=True, slots=True)
class LetterChooser:
    """Lets a server's model name a choice by its letter."""

    depth: int
    """Number of first tokens with log-probabilities; 0: none are shown, and texts are read."""
    reason: str = ""
    """Why none are shown."""

    async def pick(self, session: Session, request: Score) -> Picked | Failure:
        """Ask for the letter of a choice."""
        server = session.server
        question = letter_question(request, server.arguments.instruction, server.is_chat)
        if isinstance(question, Failure):
            return question
        reply = await _ask(session, question, self.depth)
        if isinstance(reply, Failure):
            return reply
        generated = read_generated(reply)
        if isinstance(generated, Failure):
            return generated
        try:
            return _picked(question, reply, generated, self.depth > 0)
        except BadAnswerError as error:
            return Failure(error.kind, str(error), retryable=True)


async def find_chooser(session: Session) -> LetterChooser:
    """Find out how many first tokens the server shows with log-probabilities.

    Raises:
        BackendError: The server cannot be used.
        NotFiniteError: Its model gives no finite numbers.
    """
    if session.server.arguments.logprobs == "never":
        return LetterChooser(0, "logprobs=never")
    reason = ""
    for depth in _DEPTHS:
        reply = await _ask(session, _PROBE, depth)
        if isinstance(reply, Reply):
            return _found(depth, reply)
        # Refused: fewer of them may be accepted, or none.
        reason = reply.message
    return LetterChooser(0, reason)


def _found(depth: int, reply: Reply) -> LetterChooser:
    try:
        shown = first_tokens(reply.body) or []
    except BadAnswerError as error:
        return LetterChooser(0, f"asked for, and not as the protocol has it: {error}")
    if any(value is not None and math.isnan(value) for _, value in shown):
        raise broken_model("the server gives nan for the first token of an answer")
    shows = any(is_finite(value) for _, value in shown)
    return LetterChooser(depth) if shows else LetterChooser(0, "asked for, not sent")


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


def _picked(
    question: Question, reply: Reply, generated: Generated, asked: bool
) -> Picked | Failure:
    # Thinking comes before the answer: its first token says nothing about the letters.
    thinks = generated.thinking or generated.text.lstrip().startswith("<think>")
    shown = first_tokens(reply.body) if asked and not thinks else None
    for token, value in shown or ():
        # An impossible token may have minus infinity, unless it is one of the labels.
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
        text=generated.text,
        labels=question.labels,
        added=question.added,
        logprobs=logprobs if known else (),
        usage=usage_of(reply),
    )


def label_logprobs(
    shown: Sequence[tuple[str, float | None]], labels: Sequence[str]
) -> tuple[float | None, ...]:
    """Log-probability of each label as the first token, with or without a space before it."""
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
        # Where exp overflows or underflows, the largest value dominates.
        return max(values)


def first_tokens(body: Mapping[str, Any]) -> list[tuple[str, float | None]] | None:
    """The likeliest first tokens of a generated text; None where the server shows none.

    A token's value is None where the server says null or something else that is not a number.

    Raises:
        BadAnswerError: They do not have the shape of tokens.
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
            raise BadAnswerError("the likeliest first tokens are not a list of tokens")
        pairs = [(one.get("token"), one.get("logprob")) for one in entries]
    elif isinstance(tops, list) and tops and isinstance(tops[0], Mapping):
        pairs = list(tops[0].items())
    else:
        return None
    # The generated token may be listed twice, as itself and among the likeliest: it counts once.
    return list({_token(token): number_of(value) for token, value in pairs}.items()) or None


def _token(token: Any) -> str:
    if not isinstance(token, str):
        raise BadAnswerError("a first token is not text")
    return token
