"""The vllm backend: vLLM inside this process answers requests.

Texts become tokens, and tokens become answers, by the code that the hf backend uses; the engine
between is vLLM's. Opening is cheap but for the import; the engine is started by the first run.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import islice
from typing import Any

from tenbin.backends.base import NONE_KNOWN, Backend, BackendSettings, Capabilities, Encoding
from tenbin.backends.gc_pause import paused_gc
from tenbin.backends.text.encoding import (
    EncodedPrompt,
    encode_prompts,
    encode_rolling,
    encode_scores,
)
from tenbin.backends.text.score_requests import answer_rolling, answer_scores
from tenbin.backends.text.stop_criteria import Job, StopCriteria, job_of
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.backends.vllm.checkpoint import VllmCheckpoint, library_version, open_checkpoint
from tenbin.backends.vllm.engine import Engine, start_engine
from tenbin.backends.vllm.generation import VllmGeneration
from tenbin.backends.vllm.probe import ProbeResult, choose_method, require_finite
from tenbin.backends.vllm.scoring import PREFIX_CACHE, VllmScoring
from tenbin.errors import BackendError
from tenbin.records import Generate, Request, Response, Rolling, Score

_PORTION = 4096
"""Requests that are encoded at a time: bounds the memory of token ids."""
_NOT_RUN = "not run"


class VllmBackend:
    """A model that vLLM runs."""

    def __init__(
        self,
        checkpoint: VllmCheckpoint,
        encoding: Encoding,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare a backend; see `open_vllm`.

        Args:
            checkpoint: What is known of the model.
            encoding: How prompt and answer are joined.
            notify: Called with what takes long, and which method was chosen.
        """
        self.fingerprint = checkpoint.fingerprint
        self._checkpoint = checkpoint
        self._encoding = encoding
        self._notify = notify
        self._engine: Engine | None = None
        self._scoring_engine: VllmScoring | None = None
        self._probe: ProbeResult | None = None
        self._generation: VllmGeneration | None = None
        self._closed = False

    @property
    def tokenizer(self) -> HfTokenizer:
        """The model's tokenizer; needs no weights."""
        return self._checkpoint.tokenizer

    @property
    def capabilities(self) -> Capabilities:
        """Scores and generates."""
        return Capabilities(tokenizer=self._checkpoint.tokenizer)

    def describe(self) -> Mapping[str, Any]:
        """What results record: engine, dtype, device, encoding, model and its revision."""
        tokenizer = self._checkpoint.tokenizer
        engine: dict[str, Any] = {
            "name": "vllm",
            "mode": self._scoring_engine.mode if self._scoring_engine else _NOT_RUN,
            "generation": self._generation.mode if self._generation else _NOT_RUN,
            "asked": self._checkpoint.scoring,
            "probe": self._probe.reason if self._probe else _NOT_RUN,
            "version": library_version(),
        }
        if self._engine is not None:
            engine |= _running(self._engine)
        if self._scoring_engine is not None:
            engine["asked_again"] = self._scoring_engine.asked_again
        return {
            "engine": engine,
            **self._checkpoint.facts,
            "encoding": self._encoding,
            "add_bos": tokenizer.add_bos,
            "prefix_tokens": list(tokenizer.prefix),
            "max_length": tokenizer.max_length,
            "options": {name: str(value) for name, value in self._checkpoint.options.items()},
            "system_role_folded": tokenizer.system_role_folded,
            "libraries": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
        }

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        """Answer every request exactly once, in any order, each as soon as its answer is known."""
        rest = iter(requests)
        while part := list(islice(rest, _PORTION)):
            scores = [request for request in part if isinstance(request, Score)]
            rolls = [request for request in part if isinstance(request, Rolling)]
            texts = [request for request in part if isinstance(request, Generate)]
            if scores or rolls:
                core, tokenizer = self._scoring(), self._checkpoint.tokenizer
                tokens = encode_scores(tokenizer, self._encoding, scores)
                yield from answer_scores(core, scores, tokens)
                yield from answer_rolling(core, rolls, encode_rolling(tokenizer, rolls))
            if texts:
                yield from self._generate(texts)

    def close(self) -> None:
        """End vLLM's processes and free what they hold."""
        self._closed = True
        engine, self._engine = self._engine, None
        self._scoring_engine = self._generation = None
        if engine is not None:
            engine.close()

    def _generate(self, requests: Sequence[Generate]) -> Iterator[tuple[str, Response]]:
        asked: list[tuple[str, Job]] = []
        encoded = encode_prompts(self._checkpoint.tokenizer, requests)
        for request, found in zip(requests, encoded, strict=True):
            if isinstance(found, EncodedPrompt):
                asked.append((request.key, job_of(request, found)))
            else:
                yield request.key, found
        if self._generation is None:
            criteria = StopCriteria(None, self._checkpoint.tokenizer.inner, self._checkpoint.ends)
            if self._scoring_engine is None:
                require_finite(self._started(), self._checkpoint.tokenizer.max_length)
            self._generation = VllmGeneration(self._started(), criteria)
        for number, text in self._generation.generate([job for _, job in asked]):
            yield asked[number][0], text

    def _started(self) -> Engine:
        if self._closed:
            raise BackendError("the backend was closed", "open it again")
        if self._engine is None:
            with paused_gc():
                self._engine = start_engine(self._checkpoint.options, self._notify)
        return self._engine

    def _scoring(self) -> VllmScoring:
        if self._scoring_engine is None:
            engine, checkpoint = self._started(), self._checkpoint
            self._probe = choose_method(
                engine, checkpoint.scoring, checkpoint.dtype, checkpoint.tokenizer.max_length
            )
            self._scoring_engine = VllmScoring(engine, self._probe.method)
            if self._probe.method != PREFIX_CACHE and self._notify is not None:
                self._notify(f"scoring by {self._probe.method}; {self._probe.reason}")
        return self._scoring_engine


def open_vllm(settings: BackendSettings) -> Backend:
    """Open the model that the settings name; vLLM's engine is started by the first run.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The model or a library is not there.
    """
    return VllmBackend(open_checkpoint(settings), settings.encoding, settings.notify)


def _running(engine: Engine) -> dict[str, Any]:
    """What a started engine decided, and how much its cache saved."""
    config = engine.config
    return {
        "parallel": {
            "tensor": config.parallel_config.tensor_parallel_size,
            "pipeline": config.parallel_config.pipeline_parallel_size,
            "data": config.parallel_config.data_parallel_size,
        },
        "block_size": config.cache_config.block_size,
        "prompt_tokens": engine.prompt_tokens,
        "cached_tokens": engine.cached_tokens,
    }
