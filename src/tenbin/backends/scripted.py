"""A backend with scripted answers: for tests, dry runs and crash drills.

One character is one token, so that lengths, truncation and boundaries can be worked out by hand;
scores come from a callable or from a hash of the texts, the same on every machine.
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
    BaseBackend,
    Boundary,
    Capabilities,
    Encoding,
    refuse_argument,
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
"""Generated text by prompt; several texts are the sampled answers to it, in turn."""


class CharacterTokenizer:
    """One token per character, and a BOS token."""

    has_chat_template = True
    thinking_marks = None
    bos_count = 1

    def __init__(self, max_length: int = 4096) -> None:
        self.max_length = max_length

    def prompt_lengths(self, texts: Sequence[str]) -> list[int]:
        """Characters of each text, and one for BOS."""
        return [len(text) + self.bos_count for text in texts]

    def answer_lengths(self, texts: Sequence[str]) -> list[int]:
        """Characters of each text."""
        return [len(text) for text in texts]

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        variables: Mapping[str, Any] | None = None,
        drop_system: bool = False,
    ) -> str:
        """Each turn as `<role>text</role>`, then an open assistant turn with its variables.

        An assistant's turn at the end is the open one.
        """
        begun = ""
        if messages and messages[-1]["role"] == "assistant":
            *messages, last = messages
            begun = last["content"]
        turns = [f"<{turn['role']}>{turn['content']}</{turn['role']}>" for turn in messages]
        shown = "".join(f" {name}={value}" for name, value in (variables or {}).items())
        return "".join([*turns, f"<assistant{shown}>{begun}"])

    def examine(
        self, prompt: str, continuations: Sequence[str] | None, max_gen_toks: int
    ) -> Boundary:
        """Characters on both sides; nothing ever merges."""
        length = len(prompt) + self.bos_count
        counts = tuple(len(text) for text in continuations or ())
        # The last token of a scored row is only a target and never part of the input.
        needed = length + (max(counts, default=1) - 1 if continuations else max_gen_toks)
        return Boundary(length, counts, self.bos_count, False, max(0, needed - self.max_length))


def hashed_score(prompt: str, continuation: str) -> float:
    """A log-likelihood derived from the texts: between -2 and 0 for each character."""
    digest = hashlib.sha256(f"{prompt}\0{continuation}".encode()).digest()
    share = int.from_bytes(digest[:6], "big") / 2**48
    return -2.0 * share * max(1, len(continuation))


class ScriptedBackend(BaseBackend):
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
            texts: Generated text by prompt; a prompt that a mapping lacks gets a hash.
            failures: Request key → message; these requests are answered with a Failure.
            raise_after: Raise BackendError once this many answers were given, over all runs.
            max_length: The context window in characters.
            encoding: Only recorded: characters never merge.
            fingerprint: Replaces the one made from the settings.
            delay: Seconds that each answer takes.
            burst: Answers that come at once, after as many delays, as from a batching model.
            poison: Kills the process, as the system does when memory runs out, at the first
                request whose prompt or text contains these words.
            not_finite: Gives NaN as log-likelihood, as after an overflow, for each request whose
                prompt or text contains these words; generation fails then.
        """
        super().__init__()
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
        self.capabilities = Capabilities(tokenizer=self._tokenizer)

    @property
    def tokenizer(self) -> CharacterTokenizer:
        """One token per character."""
        return self._tokenizer

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
            self._delay_or_die(request)
            self.answered += 1
            yield request.key, self.answer(request)

    def close(self) -> None:
        """Record that it was closed."""
        self.closed = True

    def _delay_or_die(self, request: Request) -> None:
        if self._delay and self.answered % self._burst == 0:
            time.sleep(self._delay * self._burst)
        if self._poison is not None and self._poison in _text_of(request):
            os.kill(os.getpid(), signal.SIGKILL)

    def answer(self, request: Request) -> Response:
        """The scripted failure of a request, or its answer."""
        if request.key in self._failures:
            return Failure("scripted", self._failures[request.key])
        return super().answer(request)

    def _overflows(self, request: Request) -> bool:
        return self._not_finite is not None and self._not_finite in _text_of(request)

    def _logprob(self, request: Request) -> ScoreFunction:
        return _nan if self._overflows(request) else self._score

    def score(self, request: Score) -> Scores:
        """Scores by the given function; the highest ones are greedy."""
        logprob = self._logprob(request)
        logprobs = tuple(logprob(request.prompt, text) for text in request.continuations)
        best = max(logprobs, default=0.0)
        counts = tuple(self._tokenizer.answer_lengths(request.continuations))
        boundary = self._tokenizer.examine(request.prompt, request.continuations, 0)
        return Scores(
            logprobs, counts, tuple(value == best for value in logprobs), boundary.overflow
        )

    def generate(self, request: Generate) -> Text | Failure:
        """The scripted text, cut at stop strings and limits."""
        if self._overflows(request):
            return failed_not_finite(math.nan)
        text = self._whole_text(request)
        if request.thinking is not None:
            return _with_thinking(text, request, request.thinking)
        text, finish = _ended(text, request)
        return Text(text, finish, len(text))

    def _whole_text(self, request: Generate) -> str:
        if callable(self._texts):
            return self._texts(request.prompt)
        known = (self._texts or {}).get(request.prompt)
        if known is None:
            seed = f"\0{request.seed}" if request.sampling else ""
            return hashlib.sha256(f"{request.prompt}{seed}".encode()).hexdigest()[:8]
        return known if isinstance(known, str) else known[request.sample % len(known)]

    def rolling(self, request: Rolling) -> Rolled:
        """The score of the whole text."""
        return Rolled(self._logprob(request)("", request.text), max(1, len(request.text)))


def _text_of(request: Request) -> str:
    return request.text if isinstance(request, Rolling) else request.prompt


def _nan(prompt: str, continuation: str) -> float:
    return math.nan


def _ended(answer: str, request: Generate) -> tuple[str, Finish]:
    """An answer up to its first stop string or its limit."""
    answer, stopped = cut_at_stops(answer, request.stop)
    if len(answer) > request.max_gen_toks:
        return answer[: request.max_gen_toks], "length"
    return answer, "stop" if stopped else "end"


def _with_thinking(text: str, request: Generate, thinking: Thinking) -> Text:
    """A text with a thinking section; where the budget cuts it, the answer stays the same."""
    found = split_thinking(text, thinking, request.prompt)
    before = text[: len(text) - len(found.answer)]
    if found.end == "closed":
        before = before.rstrip()
    if len(before) > thinking.budget:
        before = before[: thinking.budget]
        section = split_thinking(before, thinking, request.prompt).thinking
        found = replace(found, thinking=section, end="budget")
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
        settings: Their model_args may name max_length, raise_after, fingerprint, text (the answer
            to every prompt), delay, burst, poison and not_finite.

    Raises:
        ConfigError: An argument is unknown or has a wrong value.
    """
    options: dict[str, Any] = {}
    for name, value in settings.model_args.items():
        if name not in _OPTIONS:
            refuse_argument(name, "scripted", _OPTIONS)
        try:
            options[name] = _OPTIONS[name](value)
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(f"model argument {name}={value!r} is not a number") from None
    text = options.pop("text", None)
    if text is not None:
        # The text is part of the fingerprint: another text must not find these answers.
        options.setdefault("fingerprint", f"scripted-{settings.encoding}-writes-{text}")
    source: TextSource | None = None if text is None else lambda prompt: str(text)
    return ScriptedBackend(texts=source, encoding=settings.encoding, **options)
