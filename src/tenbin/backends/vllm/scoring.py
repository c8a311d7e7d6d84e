"""Log-likelihoods of rows of tokens, computed by vLLM.

An input is sent to vLLM once, whatever tokens may follow it. The last token of every answer is
scored after that prompt; the tokens before it are part of the prompt and have prompt
log-probabilities.

By default vLLM does not read its prefix cache for a request with prompt log-probabilities, since
cached tokens have none. Only the answer's tokens are needed here, so the prefix before the answer
is computed first, the cache is allowed, and vLLM's count of cached tokens shows whether the cache
ended before the answer. Where it did not, each token that it covers is scored after a prompt of its
own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenbin.backends.finite import summed
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, ScoreCollector, Target
from tenbin.backends.vllm.engine import Engine, EngineRequest
from tenbin.records import Failure

PREFIX_CACHE = "prefix_cache"
PROMPT_LOGPROBS = "prompt_logprobs"
_TOGETHER = 128
"""Most tokens that vLLM scores after one prompt."""

TokenScore = tuple[float, bool]
"""Log-probability of a token, and whether it is the likeliest."""


@dataclass(eq=False, slots=True)
class _Input:
    """One input and the scores found so far."""

    ids: tuple[int, ...]
    targets: Sequence[Target]
    open: int = 0
    """Number of questions without an answer."""
    found: dict[tuple[int, int], TokenScore] = field(default_factory=dict)
    """By the number of preceding tokens, and the token."""
    failure: Failure | None = None

    @property
    def depth(self) -> int:
        """Number of the input's own tokens that belong to an answer."""
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
    """One request to vLLM about an input."""

    about: _Input
    length: int
    """Number of the input's tokens in the prompt."""
    tokens: tuple[int, ...]
    """Tokens to score after the prompt."""
    depth: int = 0
    """Number of the prompt's last tokens that are scored too."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The prompt."""
        return self.about.ids[: self.length]


class VllmScoring:
    """Scores rows; implements the ScoringEngine protocol."""

    def __init__(self, engine: Engine, method: str) -> None:
        """Prepare.

        Args:
            engine: The running engine.
            method: `prefix_cache` or `prompt_logprobs`.
        """
        self.mode = method
        self.budget = 0
        self.asked_again = 0
        """Answer tokens that the cache covered and that were requested again."""
        self._engine = engine
        self._block = int(engine.config.cache_config.block_size or 1)

    def score(
        self, groups: Sequence[Sequence[Row]], known: Collection[int] = ()
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows, each group given as soon as its last row is done."""
        collector = ScoreCollector(groups, known)
        failures: dict[tuple[int, ...], Failure] = {}
        # Sorted, so that inputs with a common prefix follow each other and find it in the cache.
        needed = [ids for ids in sorted(collector.inputs) if not collector.skips([ids])]
        inputs = [_Input(ids, collector.targets([ids])) for ids in needed]
        waiting = self._after_prefixes([one for about in inputs for one in self._parts(about)])
        for request, output in self._engine.outputs(waiting):
            if request.context is None:
                continue
            question: _Question = request.context
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
            for number, found in collector.collect([about.ids], scores):
                yield number, found or _reason(groups[number], failures)

    def _parts(self, about: _Input) -> list[_Question]:
        """The questions about an input; the first one covers the prompt's own tokens."""
        tokens = list(dict.fromkeys(target.answer[-1] for target in about.targets))
        size = _TOGETHER if self.mode == PREFIX_CACHE else 1
        parts = [tuple(tokens[at : at + size]) for at in range(0, len(tokens), size)]
        about.open = len(parts)
        return [
            _Question(about, len(about.ids), part, 0 if at else about.depth)
            for at, part in enumerate(parts)
        ]

    def _after_prefixes(self, questions: Sequence[_Question]) -> deque[EngineRequest]:
        """Requests that compute the prefix of answers first, each followed by its questions.

        For prompt log-probabilities vLLM computes a row of logits for every token that is not
        cached: for a whole context that takes time and, with large vocabularies, memory.
        """
        ordered: deque[EngineRequest] = deque()
        read: set[tuple[int, ...]] = set()
        for question in questions:
            if self._may_read_cache(question):
                whole = (question.length - question.depth) // self._block * self._block
                prefix = question.ids[:whole]
                if prefix not in read:
                    read.add(prefix)
                    ordered.append(EngineRequest(prefix, one_token()))
            ordered.append(self._ask(question))
        return ordered

    def _may_read_cache(self, question: _Question) -> bool:
        """Whether this prompt should be read from the cache, which has to be said to vLLM."""
        before = question.length - question.depth
        return self.mode == PREFIX_CACHE and question.depth > 0 and before > self._block

    def _ask(self, question: _Question) -> EngineRequest:
        options: dict[str, Any] = {}
        if self.mode == PREFIX_CACHE:
            options["logprob_token_ids"] = list(question.tokens)
        else:
            # Log-probabilities are the model's own, whatever tokens are allowed.
            options |= {"allowed_token_ids": list(question.tokens), "logprobs": 0}
        if question.depth:
            options["prompt_logprobs"] = 0
            if self.mode == PREFIX_CACHE:
                options["skip_reading_prefix_cache"] = not self._may_read_cache(question)
                options["flat_logprobs"] = True
        return EngineRequest(question.ids, one_token(**options), question)

    def _note(self, question: _Question, output: Any) -> list[_Question]:
        """Store vLLM's scores; returns questions about answer tokens that the cache covered."""
        about, ids = question.about, question.ids
        generated = output.outputs[0].token_ids[0]
        first = question.length - question.depth
        # A token has a log-probability only if the one before it was not in the cache.
        known = max(first, (output.num_cached_tokens or 0) + 1) if question.depth else first
        known = min(known, question.length)
        try:
            last = output.outputs[0].logprobs[0]
            for token in question.tokens:
                # The generated token is the likeliest, unless it was the only one allowed.
                top = generated == token if self.mode == PREFIX_CACHE else last[token].rank == 1
                about.found[question.length, token] = (last[token].logprob, top)
            for at in range(known, question.length):
                # From the end, since tokens of the cache may be left out.
                entry = output.prompt_logprobs[len(output.prompt_logprobs) - question.length + at]
                about.found[at, ids[at]] = (entry[ids[at]].logprob, entry[ids[at]].rank == 1)
        except (KeyError, IndexError, TypeError):
            about.failure = Failure(
                "no_logprobs", "vLLM left out log-probabilities that were requested"
            )
        self.asked_again += known - first
        about.open += known - first
        return [_Question(about, at, (ids[at],)) for at in range(first, known)]


def one_token(**options: Any) -> Any:
    """Sampling parameters for one greedy token, with further options."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    kind = RequestOutputKind.FINAL_ONLY
    return SamplingParams(
        max_tokens=1, temperature=0.0, detokenize=False, output_kind=kind, **options
    )


def _reason(rows: Sequence[Row], failures: dict[tuple[int, ...], Failure]) -> Failure:
    return next(failures[row.ids[:-1]] for row in rows if row.ids[:-1] in failures)
