"""Rows of tokens into scores, through vLLM.

An input is put to vLLM once, whatever tokens may follow it. The last token of every answer is one
of those that vLLM is asked to weigh behind the prompt; tokens before it are part of the prompt and
are weighed there. Knows how vLLM is asked and what it says; knows no text.

Asked for the log-probabilities of a prompt, vLLM by itself reads nothing from its prefix cache,
since tokens that come from there have none. Only the answer's tokens are wanted here, so what
stands before it is read first, the cache is allowed, and vLLM's count of cached tokens shows
whether it ended before the answer. Where it did not, the input is asked once more without it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tenbin.backends.hf.desk import Desk, GroupScore, Target
from tenbin.backends.hf.encoding import Row
from tenbin.backends.vllm.engine import Asked, Engine
from tenbin.records import Failure

PREFIX_CACHE = "prefix_cache"
PROMPT_LOGPROBS = "prompt_logprobs"
_TOGETHER = 128
"""Tokens that vLLM weighs behind one prompt, at most."""

TokenScore = tuple[float, bool]
"""Log-probability of a token, and whether it is the likeliest."""


@dataclass(eq=False, slots=True)
class _Input:
    """What is known of one input so far."""

    ids: tuple[int, ...]
    targets: Sequence[Target]
    open: int = 0
    """Questions that are not answered yet."""
    inner: list[TokenScore] = field(default_factory=list)
    """Of the last tokens of the input itself, as many as the longest answer holds."""
    last: dict[int, TokenScore] = field(default_factory=dict)
    """Of tokens that follow the input."""
    failure: Failure | None = None

    @property
    def depth(self) -> int:
        """How many of the input's own tokens belong to an answer."""
        return max(len(target.answer) for target in self.targets) - 1

    def scores(self) -> list[tuple[float, bool]]:
        """Each target's log-likelihood and greediness."""
        found = []
        for target in self.targets:
            count = len(target.answer) - 1
            tokens = [*self.inner[len(self.inner) - count :], self.last[target.answer[-1]]]
            found.append((math.fsum(value for value, _ in tokens), all(top for _, top in tokens)))
        return found


@dataclass(frozen=True, slots=True)
class _Question:
    """One thing asked of vLLM about an input."""

    about: _Input
    tokens: tuple[int, ...]
    """What is weighed behind it."""
    depth: int
    """How many of its own last tokens are weighed too."""
    cached: bool
    """Whether the prefix cache may be read."""


class VllmCore:
    """Scores rows; implements the ScoringCore protocol of the hf engine."""

    def __init__(self, engine: Engine, way: str) -> None:
        """Score by a way that was found to be right.

        Args:
            engine: The running engine.
            way: `prefix_cache` or `prompt_logprobs`.
        """
        self.mode = way
        self.budget = 0
        self.asked_again = 0
        """Inputs whose answer the cache had reached into."""
        self._engine = engine
        self._block = int(engine.config.cache_config.block_size or 1)

    def score(self, groups: Sequence[Sequence[Row]]) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done."""
        desk = Desk(groups)
        failures: dict[tuple[int, ...], Failure] = {}
        waiting: deque[Asked] = deque()
        # Sorted, so that what begins alike is asked in a row and meets its beginning in the cache.
        for ids in sorted(desk.inputs):
            waiting.extend(self._questions(_Input(ids, desk.targets([ids]))))
        waiting = self._after_beginnings(waiting)
        for asked, output in self._engine.outputs(waiting):
            if asked.purpose is None:
                continue
            question: _Question = asked.purpose
            about = question.about
            if not isinstance(output, Failure) and not self._note(question, output):
                self.asked_again += 1
                waiting.appendleft(self._ask(replace(question, cached=False)))
                continue
            about.failure = output if isinstance(output, Failure) else about.failure
            about.open -= 1
            if about.open:
                continue
            if about.failure is not None:
                failures[about.ids] = about.failure
            scores = None if about.failure else about.scores()
            for number, found in desk.collect([about.ids], scores):
                yield number, found or _reason(groups[number], failures)

    def _after_beginnings(self, waiting: deque[Asked]) -> deque[Asked]:
        """Let what stands before answers be read first, by itself.

        Asked for a prompt's log-probabilities, vLLM works out a row of logits for every token that
        is not cached: for a whole context that takes time and, with large vocabularies, memory.
        """
        ordered: deque[Asked] = deque()
        read: set[tuple[int, ...]] = set()
        for asked in waiting:
            question: _Question = asked.purpose
            if question.cached and question.depth:
                whole = (len(asked.ids) - question.depth) // self._block * self._block
                beginning = asked.ids[:whole]
                if beginning not in read:
                    read.add(beginning)
                    ordered.append(Asked(beginning, _params()))
            ordered.append(asked)
        return ordered

    def _questions(self, about: _Input) -> Iterator[Asked]:
        tokens = list(dict.fromkeys(target.answer[-1] for target in about.targets))
        size = _TOGETHER if self.mode == PREFIX_CACHE else 1
        parts = [tuple(tokens[at : at + size]) for at in range(0, len(tokens), size)]
        about.open = len(parts)
        # An answer that begins within the first block has nothing before it that could be cached.
        cached = self.mode == PREFIX_CACHE and len(about.ids) - about.depth > self._block
        for at, part in enumerate(parts):
            yield self._ask(_Question(about, part, 0 if at else about.depth, cached))

    def _ask(self, question: _Question) -> Asked:
        options: dict[str, Any] = {}
        if self.mode == PREFIX_CACHE:
            options["logprob_token_ids"] = list(question.tokens)
        else:
            # Log-probabilities are those of the model, whatever tokens are allowed.
            options |= {"allowed_token_ids": list(question.tokens), "logprobs": 0}
        if question.depth:
            options["prompt_logprobs"] = 0
            if self.mode == PREFIX_CACHE:
                options["skip_reading_prefix_cache"] = not question.cached
                options["flat_logprobs"] = True
        return Asked(question.about.ids, _params(**options), question)

    def _note(self, question: _Question, output: Any) -> bool:
        """Write down what vLLM says; False when the cache reached into the answer."""
        about = question.about
        first = len(about.ids) - question.depth
        if question.depth and question.cached and (output.num_cached_tokens or 0) >= first:
            return False
        try:
            last = output.outputs[0].logprobs[0]
            for token in question.tokens:
                about.last[token] = (last[token].logprob, self._is_top(output, last, token))
            if question.depth:
                about.inner = _inner(about, output.prompt_logprobs)
        except (KeyError, IndexError, TypeError):
            about.failure = Failure("no_logprobs", "vLLM left out log-probabilities it was asked")
        return True

    def _is_top(self, output: Any, last: Any, token: int) -> bool:
        if self.mode == PREFIX_CACHE:
            # What greedy decoding wrote; a rank is that of this token alone.
            return bool(output.outputs[0].token_ids[0] == token)
        return bool(last[token].rank == 1)


def _params(**options: Any) -> Any:
    """One token is written, the likeliest; what is wanted besides."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    kind = RequestOutputKind.FINAL_ONLY
    return SamplingParams(
        max_tokens=1, temperature=0.0, detokenize=False, output_kind=kind, **options
    )


def _inner(about: _Input, logprobs: Any) -> list[TokenScore]:
    """Of the input's last tokens; counted from the end, since cached ones may be left out."""
    found = []
    for back in range(about.depth, 0, -1):
        entry = logprobs[len(logprobs) - back][about.ids[-back]]
        found.append((entry.logprob, entry.rank == 1))
    return found


def _reason(rows: Sequence[Row], failures: dict[tuple[int, ...], Failure]) -> Failure:
    return next(failures[row.ids[:-1]] for row in rows if row.ids[:-1] in failures)
