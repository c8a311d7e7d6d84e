"""A backend whose answers are given beforehand: for tests, dry runs and crash drills.

Knows no model and no weights. One character is one token, so that lengths, truncation and
boundaries can be worked out on paper; scores come from a callable or from a hash of the texts,
the same on every machine.
"""

from __future__ import annotations

import hashlib
import math
import os
import signal
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tenbin.backends.base import (
    NONE_KNOWN,
    BackendSettings,
    Boundary,
    Capabilities,
    Encoding,
)
from tenbin.backends.finite import not_finite as failed_not_finite
from tenbin.backends.text.thinking import cut_at_stops, split_thinking
from tenbin.errors import BackendError, ConfigError
from tenbin.records import (
    Failure,
    Finish,
    Generate,
    Request,
    Response,
    Rolled,
    Rolling,
    Score,
    Scores,
    Text,
    Thinking,
)

ScoreFunction = Callable[[str, str], float]
"""(prompt, continuation) → log-likelihood."""
TextSource = Callable[[str], str] | Mapping[str, str | Sequence[str]]
"""What the model would write after a prompt; several texts are the answers drawn to it, in turn."""


class CharacterTokenizer:
    """One token per character, and one more for the beginning of a sequence."""

    has_chat_template = True
    thinking_marks = None

    def __init__(self, max_length: int = 4096, add_bos: bool = True) -> None:
        self.max_length = max_length
        self.bos_count = int(add_bos)

    def prompt_lengths(self, texts: Sequence[str]) -> list[int]:
        """Characters of each text, and one for the beginning."""
        return [len(text) + self.bos_count for text in texts]

    def answer_lengths(self, texts: Sequence[str]) -> list[int]:
        """Characters of each text."""
        return [len(text) for text in texts]

    def chat(
        self, messages: Sequence[Mapping[str, str]], variables: Mapping[str, Any] | None = None
    ) -> str:
        """Each turn as `<role>text</role>`, then an open assistant turn with its variables."""
        turns = [f"<{turn['role']}>{turn['content']}</{turn['role']}>" for turn in messages]
        shown = "".join(f" {name}={value}" for name, value in (variables or {}).items())
        return "".join([*turns, f"<assistant{shown}>"])

    def examine(
        self, prompt: str, continuations: Sequence[str] | None, max_gen_toks: int
    ) -> Boundary:
        """Characters on both sides; nothing ever merges."""
        length = len(prompt) + self.bos_count
        counts = tuple(len(text) for text in continuations or ())
        # The last token of a scored row is a target only and is never put in.
        needed = length + (max(counts, default=1) - 1 if continuations else max_gen_toks)
        return Boundary(length, counts, self.bos_count, False, max(0, needed - self.max_length))


def hashed_score(prompt: str, continuation: str) -> float:
    """A log-likelihood out of the texts alone: between -2 and 0 for each character."""
    digest = hashlib.sha256(f"{prompt}\0{continuation}".encode()).digest()
    share = int.from_bytes(digest[:6], "big") / 2**48
    return -2.0 * share * max(1, len(continuation))


class ScriptedBackend:
    """Answers requests from a script and remembers what it was asked."""

    def __init__(
        self,
        *,
        score: ScoreFunction = hashed_score,
        texts: TextSource | None = None,
        failures: Mapping[str, str] | None = None,
        raise_after: int | None = None,
        max_length: int = 4096,
        encoding: Encoding = "joint",
        fingerprint: str | None = None,
        delay: float = 0.0,
        burst: int = 1,
        poison: str | None = None,
        not_finite: str | None = None,
    ) -> None:
        """Prepare the script.

        Args:
            score: Log-likelihood of a continuation after a prompt.
            texts: What is written after a prompt; a mapping without the prompt gives a hash.
            failures: Request key → message; these requests are answered with a Failure.
            raise_after: Raise BackendError once this many answers were given, over all runs.
            max_length: The tokenizer's window, in characters.
            encoding: Recorded only: characters never merge.
            fingerprint: Stands in for the one made from the settings.
            delay: Seconds that each answer takes.
            burst: Answers that come at once, after as many delays: as from a model that batches.
            poison: Kills the process, as one is killed that runs out of memory, at the first
                request whose prompt or text holds these words.
            not_finite: Gives NaN as log-likelihood, as a model does whose numbers overflow, for
                each request whose prompt or text holds these words; texts are Failures then.
        """
        self.fingerprint = fingerprint or f"scripted-{encoding}-{max_length}"
        self.asked: list[Request] = []
        self.answered = 0
        self.closed = False
        self._score = score
        self._texts = texts
        self._failures = dict(failures or {})
        self._raise_after = raise_after
        self._delay, self._burst = delay, burst
        self._poison = poison
        self._not_finite = not_finite
        self._encoding = encoding
        self._tokenizer = CharacterTokenizer(max_length)

    @property
    def tokenizer(self) -> CharacterTokenizer:
        """One token per character."""
        return self._tokenizer

    @property
    def capabilities(self) -> Capabilities:
        """Scores and generates; its tokenizer counts characters."""
        return Capabilities(tokenizer=self._tokenizer)

    def describe(self) -> Mapping[str, Any]:
        """What results record."""
        return {
            "engine": {"name": "scripted", "mode": "script", "version": "1"},
            "model": "scripted",
            "dtype": "none",
            "device": "none",
            "encoding": self._encoding,
            "max_length": self._tokenizer.max_length,
        }

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        """Answer every request once, in order, until told to raise."""
        for request in requests:
            self.asked.append(request)
            if self._raise_after is not None and self.answered >= self._raise_after:
                raise BackendError(
                    f"the script ends after {self._raise_after} answers",
                    "this is a drill: run again without raise_after",
                )
            self._suffer(request)
            self.answered += 1
            yield request.key, self._answer(request)

    def close(self) -> None:
        """Note that it was closed."""
        self.closed = True

    def _suffer(self, request: Request) -> None:
        if self._delay and self.answered % self._burst == 0:
            time.sleep(self._delay * self._burst)
        if self._poison is not None and self._poison in _read(request):
            os.kill(os.getpid(), signal.SIGKILL)

    def _answer(self, request: Request) -> Response:
        if request.key in self._failures:
            return Failure("scripted", self._failures[request.key])
        overflows = self._not_finite is not None and self._not_finite in _read(request)
        if isinstance(request, Score):
            return self._scores(request, _nan if overflows else self._score)
        if isinstance(request, Generate):
            return failed_not_finite(math.nan) if overflows else self._write(request)
        return self._roll(request, _nan if overflows else self._score)

    def _scores(self, request: Score, score: ScoreFunction) -> Scores:
        logprobs = tuple(score(request.prompt, text) for text in request.continuations)
        best = max(logprobs, default=0.0)
        counts = tuple(self._tokenizer.answer_lengths(request.continuations))
        boundary = self._tokenizer.examine(request.prompt, request.continuations, 0)
        return Scores(
            logprobs, counts, tuple(value == best for value in logprobs), boundary.overflow
        )

    def _write(self, request: Generate) -> Text:
        text = self._whole_text(request)
        if request.thinking is not None:
            return _thoughtful(text, request, request.thinking)
        text, finish = _ended(text, request)
        return Text(text, finish, len(text))

    def _whole_text(self, request: Generate) -> str:
        if callable(self._texts):
            return self._texts(request.prompt)
        known = (self._texts or {}).get(request.prompt)
        if known is None:
            drawn = f"\0{request.seed}" if request.sampling else ""
            return hashlib.sha256(f"{request.prompt}{drawn}".encode()).hexdigest()[:8]
        return known if isinstance(known, str) else known[request.sample % len(known)]

    def _roll(self, request: Rolling, score: ScoreFunction) -> Rolled:
        return Rolled(score("", request.text), max(1, len(request.text)))


def _read(request: Request) -> str:
    return request.text if isinstance(request, Rolling) else request.prompt


def _nan(prompt: str, continuation: str) -> float:
    return math.nan


def _ended(answer: str, request: Generate) -> tuple[str, Finish]:
    """An answer up to its first stop string or its limit."""
    answer, stopped = cut_at_stops(answer, request.stop)
    if len(answer) > request.max_gen_toks:
        return answer[: request.max_gen_toks], "length"
    return answer, "stop" if stopped else "end"


def _thoughtful(written: str, request: Generate, thinking: Thinking) -> Text:
    """A script that thinks; where the budget cuts its thought, it answers as it would have."""
    found = split_thinking(written, thinking, request.prompt)
    before = written[: len(written) - len(found.answer)]
    if found.end == "closed":
        before = before.rstrip()
    if len(before) > thinking.budget:
        before = before[: thinking.budget]
        thought = split_thinking(before, thinking, request.prompt).thinking
        found = replace(found, thinking=thought, end="budget")
    answer, finish = _ended(found.answer, request)
    return Text(answer, finish, len(answer), 0, found.thinking, len(before), found.end)


_OPTIONS = {
    "max_length": int,
    "raise_after": int,
    "fingerprint": str,
    "text": str,
    "delay": float,
    "burst": int,
    "poison": str,
    "not_finite": str,
}


def open_scripted(settings: BackendSettings) -> ScriptedBackend:
    """A scripted backend from the command line's model arguments.

    Args:
        settings: Their model_args may name max_length, raise_after, fingerprint, text (written
            after every prompt), delay, poison and not_finite.

    Raises:
        ConfigError: An argument is unknown or has no meaning.
    """
    options: dict[str, Any] = {}
    for name, value in settings.model_args.items():
        if name not in _OPTIONS:
            known = ", ".join(sorted(_OPTIONS))
            raise ConfigError(f"unknown model argument {name!r}", f"scripted knows: {known}")
        try:
            options[name] = _OPTIONS[name](value)
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(f"model argument {name}={value!r} is not a number") from None
    text = options.pop("text", None)
    if text is not None:
        # What it writes is what this model is: another text must not find these answers.
        options.setdefault("fingerprint", f"scripted-{settings.encoding}-writes-{text}")
    source: TextSource | None = None if text is None else lambda prompt: str(text)
    return ScriptedBackend(texts=source, encoding=settings.encoding, **options)
