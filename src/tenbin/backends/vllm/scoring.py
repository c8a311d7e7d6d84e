"""Rows of tokens into scores, through vLLM.

An input is put to vLLM once, whatever tokens may follow it. The last token of every answer is one
of those that vLLM is asked to weigh behind the prompt; tokens before it are part of the prompt and
are weighed there. Knows how vLLM is asked and what it says; knows no text.

Asked for the log-probabilities of a prompt, vLLM by itself reads nothing from its prefix cache,
since tokens that come from there have none. Only the answer's tokens are wanted here, so what
stands before it is read first, the cache is allowed, and vLLM's count of cached tokens shows
whether it ended before the answer. Where it did not, each token that it reached is weighed behind a
prompt of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenbin.backends.finite import summed
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, ScoreCollector, Target
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
    found: dict[tuple[int, int], TokenScore] = field(default_factory=dict)
    """By how many tokens stand before it, and the token."""
    failure: Failure | None = None

    @property
    def depth(self) -> int:
        """How many of the input's own tokens belong to an answer."""
        return max(len(target.answer) for target in self.targets) - 1

    def scores(self) -> list[tuple[float, bool]]:
        """Each target's log-likelihood and greediness."""
        scores = []
        for target in self.targets:
            tokens = [self.found[place] for place in enumerate(target.answer, target.start + 1)]
            scores.append((summed(value for value, _ in tokens), all(top for _, top in tokens)))
        return scores


@dataclass(frozen=True, slots=True)
class _Question:
    """One thing asked of vLLM about an input."""

    about: _Input
    length: int
    """How many of its tokens are put in."""
    tokens: tuple[int, ...]
    """What is weighed behind them."""
    depth: int = 0
    """How many of the last ones that are put in are weighed too."""

    @property
    def ids(self) -> tuple[int, ...]:
        """What is put in."""
        return self.about.ids[: self.length]


class VllmCore:
    """Scores rows; implements the ScoringEngine protocol of the hf engine."""

    def __init__(self, engine: Engine, way: str) -> None:
        """Score by a way that was found to be right.

        Args:
            engine: The running engine.
            way: `prefix_cache` or `prompt_logprobs`.
        """
        self.mode = way
        self.budget = 0
        self.asked_again = 0
        """Tokens of answers that the cache had reached."""
        self._engine = engine
        self._block = int(engine.config.cache_config.block_size or 1)

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done."""
        desk = ScoreCollector(groups, known)
        failures: dict[tuple[int, ...], Failure] = {}
        # Sorted, so that what begins alike is asked in a row and meets its beginning in the cache.
        needed = [ids for ids in sorted(desk.inputs) if not desk.skips([ids])]
        inputs = [_Input(ids, desk.targets([ids])) for ids in needed]
        waiting = self._after_beginnings([one for about in inputs for one in self._parts(about)])
        for asked, output in self._engine.outputs(waiting):
            if asked.purpose is None:
                continue
            question: _Question = asked.purpose
            about = question.about
            if isinstance(output, Failure):
                about.failure = output
            else:
                waiting.extendleft(self._ask(one) for one in self._note(question, output))
            about.open -= 1
            if about.open:
                continue
            if about.failure is not None:
                failures[about.ids] = about.failure
            scores = None if about.failure else about.scores()
            for number, found in desk.collect([about.ids], scores):
                yield number, found or _reason(groups[number], failures)

    def _parts(self, about: _Input) -> list[_Question]:
        """What has to be asked about an input: the prompt's own tokens with the first part."""
        tokens = list(dict.fromkeys(target.answer[-1] for target in about.targets))
        size = _TOGETHER if self.mode == PREFIX_CACHE else 1
        parts = [tuple(tokens[at : at + size]) for at in range(0, len(tokens), size)]
        about.open = len(parts)
        return [
            _Question(about, len(about.ids), part, 0 if at else about.depth)
            for at, part in enumerate(parts)
        ]

    def _after_beginnings(self, questions: Sequence[_Question]) -> deque[Asked]:
        """Let what stands before answers be read first, by itself.

        Asked for a prompt's log-probabilities, vLLM works out a row of logits for every token that
        is not cached: for a whole context that takes time and, with large vocabularies, memory.
        """
        ordered: deque[Asked] = deque()
        read: set[tuple[int, ...]] = set()
        for question in questions:
            if self._may_read_cache(question):
                whole = (question.length - question.depth) // self._block * self._block
                beginning = question.ids[:whole]
                if beginning not in read:
                    read.add(beginning)
                    ordered.append(Asked(beginning, one_token()))
            ordered.append(self._ask(question))
        return ordered

    def _may_read_cache(self, question: _Question) -> bool:
        """Whether vLLM has to be told that this prompt may come from the cache, and it pays."""
        before = question.length - question.depth
        return self.mode == PREFIX_CACHE and question.depth > 0 and before > self._block

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
                options["skip_reading_prefix_cache"] = not self._may_read_cache(question)
                options["flat_logprobs"] = True
        return Asked(question.ids, one_token(**options), question)

    def _note(self, question: _Question, output: Any) -> list[_Question]:
        """Write down what vLLM says; what is left to ask where the cache reached the answer."""
        about, ids = question.about, question.ids
        written = output.outputs[0].token_ids[0]
        first = question.length - question.depth
        # A token has a log-probability only if the one before it was not in the cache.
        known = max(first, (output.num_cached_tokens or 0) + 1) if question.depth else first
        known = min(known, question.length)
        try:
            last = output.outputs[0].logprobs[0]
            for token in question.tokens:
                # What was written is the likeliest, unless it was the only one allowed.
                top = written == token if self.mode == PREFIX_CACHE else last[token].rank == 1
                about.found[question.length, token] = (last[token].logprob, top)
            for at in range(known, question.length):
                # From the end, since tokens of the cache may be left out.
                entry = output.prompt_logprobs[len(output.prompt_logprobs) - question.length + at]
                about.found[at, ids[at]] = (entry[ids[at]].logprob, entry[ids[at]].rank == 1)
        except (KeyError, IndexError, TypeError):
            about.failure = Failure("no_logprobs", "vLLM left out log-probabilities it was asked")
        self.asked_again += known - first
        about.open += known - first
        return [_Question(about, at, (ids[at],)) for at in range(first, known)]


def one_token(**options: Any) -> Any:
    """One token is written, the likeliest; what is wanted besides."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    kind = RequestOutputKind.FINAL_ONLY
    return SamplingParams(
        max_tokens=1, temperature=0.0, detokenize=False, output_kind=kind, **options
    )


def _reason(rows: Sequence[Row], failures: dict[tuple[int, ...], Failure]) -> Failure:
    return next(failures[row.ids[:-1]] for row in rows if row.ids[:-1] in failures)
