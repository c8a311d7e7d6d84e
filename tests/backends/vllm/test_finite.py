"""What the vllm backend makes of numbers that are not finite; needs no vLLM."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tenbin.backends.finite import NotFiniteError
from tenbin.backends.text.encoding import EncodedPrompt, encode_scores
from tenbin.backends.text.score_requests import answer_scores
from tenbin.backends.text.stop_criteria import Job, StopCriteria
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.backends.vllm.engine import EngineRequest
from tenbin.backends.vllm.generation import VllmGeneration
from tenbin.backends.vllm.probe import choose_method, require_finite
from tenbin.backends.vllm.scoring import PROMPT_LOGPROBS, VllmScoring
from tenbin.records import Failure, Score, Scores, Text
from tests.backends.tiny import make_tokenizer

VOCABULARY = 64


@pytest.fixture(autouse=True)
def parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for vLLM's records of what is asked."""
    outer: Any = ModuleType("vllm")
    inner: Any = ModuleType("vllm.sampling_params")
    outer.SamplingParams = SimpleNamespace
    inner.RequestOutputKind = SimpleNamespace(FINAL_ONLY="final", DELTA="delta")
    monkeypatch.setitem(sys.modules, "vllm", outer)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", inner)


class Engine:
    """Answers at once, with log-probabilities that a test says."""

    def __init__(self, logprob: Callable[[tuple[int, ...], int], float], writes: int = 5) -> None:
        self.logprob = logprob
        self.writes = writes
        self.asked: list[EngineRequest] = []
        self.prompt_tokens = self.cached_tokens = 0
        cache = SimpleNamespace(block_size=4, enable_prefix_caching=True)
        model = SimpleNamespace(get_vocab_size=lambda: VOCABULARY)
        self.config = SimpleNamespace(cache_config=cache, model_config=model)

    def outputs(self, waiting: deque[EngineRequest]) -> Iterator[tuple[EngineRequest, Any]]:
        while waiting:
            asked = waiting.popleft()
            self.asked.append(asked)
            yield asked, self._output(asked)

    def drop(self, asked: EngineRequest) -> None:
        pass

    def _output(self, asked: EngineRequest) -> Any:
        ids, wanted = tuple(asked.ids), asked.params
        broken = math.isnan(self.logprob(ids, self.writes))
        token = 0 if broken else self.writes
        allowed = getattr(wanted, "allowed_token_ids", None) or [token]

        def entry(before: tuple[int, ...], token: int) -> Any:
            return SimpleNamespace(logprob=self.logprob(before, token), rank=1)

        count = wanted.max_tokens if wanted.max_tokens > 1 else 1
        written = SimpleNamespace(
            token_ids=[token] * count,
            logprobs=[{one: entry(ids, one) for one in (*allowed, token)}],
            finish_reason="length",
        )
        return SimpleNamespace(
            outputs=[written],
            finished=True,
            num_cached_tokens=0,
            prompt_logprobs=[
                {token: entry(ids[:at], token)} if at else None for at, token in enumerate(ids)
            ],
        )


def overflows(ids: tuple[int, ...], token: int) -> float:
    """A model that overflows where it has read token 7."""
    return math.nan if 7 in ids else -1.0


def broken(ids: tuple[int, ...], token: int) -> float:
    return math.nan


def test_documents_that_overflow_fail_and_others_do_not() -> None:
    tokenizer = HfTokenizer(make_tokenizer(), 64)
    sick, well = Score("sick", "日本", (" a", " b")), Score("well", "a", (" a", " b"))
    first = tokenizer.encode_prompts(["日本"])["日本"][0]
    engine: Any = Engine(lambda ids, token: math.nan if first in ids else -1.0)
    core = VllmScoring(engine, PROMPT_LOGPROBS)
    asked = [sick, well]
    found = dict(answer_scores(core, asked, encode_scores(tokenizer, "joint", asked)))
    assert isinstance(found["sick"], Failure) and found["sick"].kind == "not_finite"
    assert isinstance(found["well"], Scores)


def test_a_broken_model_is_asked_no_document() -> None:
    engine: Any = Engine(broken)
    with pytest.raises(NotFiniteError, match="nan"):
        choose_method(engine, "auto", "float16", 512)
    with pytest.raises(NotFiniteError, match="nan"):
        require_finite(engine, 512)
    require_finite(engine, 4)


@pytest.mark.parametrize("writes", [5, 0])
def test_texts_of_nan_are_no_answers(writes: int) -> None:
    """Token 0 is what NaN gives, and also a token like any other."""
    engine: Any = Engine(overflows, writes)
    writer = VllmGeneration(engine, StopCriteria(None, make_tokenizer(), ()))
    jobs = [Job(EncodedPrompt(ids, 0), (), 4) for ids in ((1, 2), (1, 7), (7,))]
    found = dict(writer.generate(jobs))
    assert isinstance(found[0], Text) and found[0].token_count == 4
    for at in (1, 2):
        failed = found[at]
        assert isinstance(failed, Failure) and failed.kind == "not_finite"
    # A text that cannot be one of NaN is not looked at again.
    assert len(engine.asked) == (5 if writes else 6)
