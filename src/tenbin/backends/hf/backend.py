"""The hf backend: answers requests with a transformers model.

Opening it is cheap: tokenizer and fingerprint are known at once, the weights are loaded by the
first run. Which engine scores and which one generates is decided once per model, by a probe.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from tenbin.backends.base import NONE_KNOWN, Backend, BackendSettings, Capabilities, Encoding
from tenbin.backends.checkpoint.fingerprint import (
    ENGINE_VERSION,
    fingerprint_of,
    library_version,
    tokenizer_digest,
)
from tenbin.backends.gc_pause import paused_gc
from tenbin.backends.hf.background_load import BackgroundLoad, wait_for_abandoned
from tenbin.backends.hf.checkpoint import open_checkpoint
from tenbin.backends.hf.kernels.tree_attention import no_kernel
from tenbin.backends.hf.model.compilation import CompileMode
from tenbin.backends.hf.model.failures import explain_failures
from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.memory import (
    input_device,
    keep_freed_memory,
    pack_budget,
    release_memory,
    token_budget,
)
from tenbin.backends.hf.model.packed_linear import PackedLinears
from tenbin.backends.hf.model.tensor_digest import model_digest
from tenbin.backends.hf.portions import Portion, PortionReader, Tokens
from tenbin.backends.hf.probe_cache import NOT_RUN, ProbeCache, cached_engine, cached_generator
from tenbin.backends.text.encoding import EncodedPrompt
from tenbin.backends.text.score_collector import ScoringEngine
from tenbin.backends.text.score_requests import (
    OUT_OF_MEMORY,
    answer_rolling,
    answer_scores,
)
from tenbin.backends.text.stop_criteria import Job, job_of
from tenbin.backends.text.tokenizer import HfTokenizer, window_of
from tenbin.errors import BackendError
from tenbin.records import Generate, Request, Response
from tenbin.timing import stage

if TYPE_CHECKING:
    # A run that scores imports nothing of generation, and the other way round.
    from tenbin.backends.hf.generation.generator import GenerationSupport, Generator
    from tenbin.backends.hf.scoring.engine_selection import SelectedEngine, Selection

_SCORES = {"cuda": 4096}
_SCORES_ELSEWHERE = 512
"""Requests scored together: many packs, so that a last one that is not full costs little."""


class HfBackend:
    """A causal language model of transformers."""

    def __init__(
        self,
        tokenizer: HfTokenizer,
        fingerprint: str,
        load: Callable[[], Any],
        *,
        encoding: Encoding = "joint",
        batch_size: int | Literal["auto"] = "auto",
        engine: str = "auto",
        compilation: CompileMode = "auto",
        facts: Mapping[str, Any] | None = None,
        probe_cache: ProbeCache | None = None,
        notify: Callable[[str], None] | None = None,
        memory_share: float | None = None,
        packed_weights: bool = True,
    ) -> None:
        """Prepare a backend; usually called by `open_hf` or `from_model`.

        Args:
            tokenizer: The model's tokenizer.
            fingerprint: What answers depend on besides the request.
            load: Returns the model, in eval mode and on its device, when it is first needed.
            encoding: How prompt and answer are encoded.
            batch_size: Rows per batch, or `auto`.
            engine: The scoring engine by name, or `auto`.
            compilation: When the model's layers are compiled.
            facts: What results record of the model besides what this class knows.
            probe_cache: What earlier runs found out about the model.
            notify: Called with why a faster scoring engine was passed over.
            memory_share: Part of the device's memory to count on, so that batches are the same
                on every worker; None: what is free.
            packed_weights: Whether a CPU may keep linear layers in its kernel's own layout.
        """
        self.fingerprint = fingerprint
        self._tokenizer = tokenizer
        self._load = load
        self._encoding = encoding
        self._batch_size = batch_size
        self._engine_name = engine
        self._compilation: CompileMode = compilation
        self._notify = notify
        self._memory_share = memory_share
        self._packed_weights = packed_weights
        self._budget = 0
        self._probe_cache = probe_cache or ProbeCache(None, {})
        self._scoring_probe = self._generation_probe = NOT_RUN
        self._passed_over: tuple[str, ...] = ()
        self._facts = dict(facts or {})
        self._model: Any = None
        self._loading: BackgroundLoad | None = None
        self._packings: dict[bool, PackedLinears] = {}
        """By whether products are exact, as scores want them."""
        self._engine: ScoringEngine | None = None
        self._single: ScoringEngine | None = None
        self._generator: Generator | None = None

    @classmethod
    def from_model(
        cls,
        model: Any,
        tokenizer: Any,
        *,
        encoding: Encoding = "joint",
        add_bos: bool | None = None,
        max_length: int | None = None,
        batch_size: int | Literal["auto"] = "auto",
        engine: str = "auto",
        compilation: CompileMode = "auto",
        packed_weights: bool = True,
    ) -> HfBackend:
        """Return a backend around a transformers model that is already loaded."""
        model.eval()
        wrapped = HfTokenizer(tokenizer, max_length or window_of(model.config, tokenizer), add_bos)
        dtype = str(model.dtype).removeprefix("torch.")
        parts = {
            "model": model_digest(model),
            "tokenizer": tokenizer_digest(tokenizer),
            "encoding": encoding,
            "add_bos": add_bos,
            "max_length": wrapped.max_length,
            "engine": ENGINE_VERSION,
            # An old word for the engine; part of every fingerprint, so it stays.
            "rung": engine,
            "transformers": library_version(),
        }
        facts = {
            "model": getattr(model.config, "_name_or_path", "") or type(model).__name__,
            "dtype": dtype,
            "device": str(model.device),
        }
        return cls(
            wrapped,
            fingerprint_of(parts),
            lambda: model,
            encoding=encoding,
            batch_size=batch_size,
            engine=engine,
            compilation=compilation,
            facts=facts,
            packed_weights=packed_weights,
        )

    @property
    def tokenizer(self) -> HfTokenizer:
        """The model's tokenizer; needs no weights."""
        return self._tokenizer

    @property
    def capabilities(self) -> Capabilities:
        """Scores and generates; an interrupted batch can be resumed with the same bits."""
        return Capabilities(tokenizer=self._tokenizer, resumable=True)

    def describe(self) -> Mapping[str, Any]:
        """Return what results record: engine, dtype, device, encoding, model and its revision."""
        described = {
            "engine": {
                "name": "hf",
                # Not run: all answers were in the journal, or none of this kind were asked for.
                "mode": self._engine.mode if self._engine else NOT_RUN,
                "generation": self._generator.mode if self._generator else NOT_RUN,
                "asked": self._engine_name,
                "passed_over": self._reasons(),
                "probe": self._scoring_probe,
                "generation_probe": self._generation_probe,
                "weights": self._layout,
                "version": ENGINE_VERSION,
            },
            **self._facts,
            "encoding": self._encoding,
            "add_bos": self._tokenizer.add_bos,
            "prefix_tokens": list(self._tokenizer.prefix),
            "max_length": self._tokenizer.max_length,
            "batch_size": self._batch_size,
            "system_role_folded": self._tokenizer.system_role_folded,
            "libraries": _library_versions(),
        }
        if self._model is not None:
            described["parameters"] = self._model.num_parameters()
        return described

    @property
    def _layout(self) -> str:
        """How the weights of linear layers were read."""
        if not self._packings:
            return NOT_RUN
        return "packed" if all(one.count for one in self._packings.values()) else "plain"

    def _reasons(self) -> list[str]:
        """Faster ways that this model or machine did not allow, and why."""
        reasons = list(self._passed_over)
        if self._engine is not None:
            from tenbin.backends.hf.scoring.tree import TreeEngine

            if isinstance(self._engine, TreeEngine):
                kernel = no_kernel(self._engine.forward.device)
                reasons += [f"tree kernel: {kernel}"] if kernel else []
                compiled = self._engine.compilation.reason
                reasons += [f"compiled layers: {compiled}"] if compiled else []
        if self._generator and (refusal := self._generator.support.refusal):
            reasons.append(f"own loop: {refusal}")
        if self._generator and self._generator.not_compiled:
            reasons.append(f"compiled layers for prompts: {self._generator.not_compiled}")
        unpacked = dict.fromkeys(one.reason for one in self._packings.values() if one.reason)
        return reasons + [f"packed weights: {reason}" for reason in unpacked]

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        """Answer requests whose keys are not known, with the bits of a `run` of all of them."""
        if self._memory_share is not None and self._engine is not None:
            # Undo what an out-of-memory error of earlier requests has halved: these requests must
            # be batched as any other worker would batch them.
            self._engine.budget = self._budget
        reader = PortionReader(requests, known, self._tokenizer, self._encoding)
        try:
            for portion in reader:
                if self._loading is not None:
                    portion.encode_until(self._loading.is_over)
                yield from self._run_portion(portion, reader)
        finally:
            reader.stop()

    def prepare(self) -> None:
        """Begin to load the model, if it is not there."""
        if self._model is None and self._loading is None:
            self._loading = BackgroundLoad(self._loaded_and_tried)

    def close(self) -> None:
        """Free what the model holds."""
        model, self._model = self._model, None
        loading, self._loading = self._loading, None
        self._engine = self._single = self._generator = None
        self._packings = {}
        self._load = _closed
        if loading is not None:
            loading.abandon()
        if model is not None:
            device = input_device(model)
            del model
            release_memory(device)

    def _run_portion(
        self, portion: Portion, reader: PortionReader
    ) -> Iterator[tuple[str, Response]]:
        if portion.is_scored:
            with explain_failures(self._name, "scoring"), self._loaded_layers(exact=True):
                self._encode_ahead(reader)
                yield from self._score(portion)
        if portion.texts.requests:
            with explain_failures(self._name, "generation"), self._loaded_layers(exact=False):
                self._encode_ahead(reader)
                yield from self._generate(portion.texts)

    def _encode_ahead(self, reader: PortionReader) -> None:
        """Have tokens encoded while the engine is chosen and the device computes.

        Not on a CPU, whose cores the model has use for, and not by a tokenizer in Python, which
        would hold up the thread that feeds the device.
        """
        if input_device(self._model).type != "cpu" and self._tokenizer.inner.is_fast:
            reader.encode_ahead()

    @property
    def _name(self) -> str:
        return str(self._facts.get("model") or "model")

    def _score(self, portion: Portion) -> Iterator[tuple[str, Response]]:
        engine, single = self._scoring_engine(), self._single
        with stage("scoring"):
            yield from self._scored(engine, single, portion)

    def _scored(
        self, engine: ScoringEngine, single: ScoringEngine | None, portion: Portion
    ) -> Iterator[tuple[str, Response]]:
        size = _SCORES.get(input_device(self._model).type, _SCORES_ELSEWHERE)
        scores, rolling, known = portion.scores, portion.rolling, portion.known
        for at in range(0, len(scores.requests), size):
            part = scores.requests[at : at + size]
            if any(request.key not in known for request in part):
                tokens = scores.between(at, at + size)
                yield from answer_scores(engine, part, tokens, single, known)
        texts = rolling.requests
        windows = rolling.between(0, len(texts))
        yield from answer_rolling(engine, texts, windows, single, known)

    def _generate(self, texts: Tokens[Generate, EncodedPrompt]) -> Iterator[tuple[str, Response]]:
        asked: list[tuple[str, Job]] = []
        encoded = texts.between(0, len(texts.requests))
        for request, found in zip(texts.requests, encoded, strict=True):
            if isinstance(found, EncodedPrompt):
                asked.append((request.key, job_of(request, found)))
            else:
                yield request.key, found
        generator = self._text_generator()
        with stage("generation"):
            for number, text in generator.generate([job for _, job in asked]):
                yield asked[number][0], OUT_OF_MEMORY if text is None else text

    @stage("model load")
    def _loaded(self) -> Any:
        if self._model is None:
            if self._loading is not None:
                self._loading.wait()
                loading, self._loading = self._loading, None
                self._model = loading.take()
            else:
                self._model = self._load_quickly()
            if input_device(self._model).type == "cpu":
                keep_freed_memory()
        return self._model

    def _loaded_and_tried(self) -> Any:
        """The model; on a GPU the kernel is tried too, which first reads a large library."""
        model = self._load_quickly()
        no_kernel(input_device(model))
        return model

    def _load_quickly(self) -> Any:
        with paused_gc():
            return self._load()

    @stage("model load")
    def _loaded_layers(self, exact: bool) -> AbstractContextManager[None]:
        """Load the model; its linear layers are packed, where that is possible, inside.

        Args:
            exact: Whether products are rounded as well as torch's own: a score shows their last
                digits, a text hardly ever does, and single tokens are generated faster without.
        """
        if exact not in self._packings:
            self._packings[exact] = PackedLinears(
                self._loaded(), self._packed_weights, self._memory_share, exact
            )
        return self._packings[exact].installed()

    @stage("probe")
    def _scoring_engine(self) -> ScoringEngine:
        if self._engine is None:
            from tenbin.backends.hf.scoring.engine_selection import select_engine

            def select(forward: Forward, known: Selection | None) -> SelectedEngine:
                device = forward.device
                return select_engine(
                    forward,
                    self._engine_name,
                    self._batch_size,
                    token_budget(device),
                    pack_budget(device),
                    self._compilation,
                    known,
                    self._memory_share,
                )

            selected, self._scoring_probe = cached_engine(self._loaded(), self._probe_cache, select)
            self._engine, self._single = selected.engine, selected.single
            self._passed_over = selected.selection.passed_over
            self._budget = selected.engine.budget
            if self._notify is not None:
                for reason in self._passed_over:
                    self._notify(f"scoring by {self._engine.mode}; {reason}")
        return self._engine

    @stage("probe")
    def _text_generator(self) -> Generator:
        if self._generator is None:
            from tenbin.backends.hf.generation.generator import Generator

            model = self._loaded()

            def make(known: GenerationSupport | None) -> Generator:
                return Generator(
                    model,
                    self._tokenizer.inner,
                    self._tokenizer.max_length,
                    self._batch_size,
                    token_budget(input_device(model)),
                    self._compilation,
                    known,
                    self._memory_share,
                )

            self._generator, self._generation_probe = cached_generator(
                model, self._probe_cache, make
            )
        return self._generator


def open_hf(settings: BackendSettings) -> Backend:
    """Open the model that the settings name; its weights are loaded by the first run.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The model, the device or a library is not there.
    """
    wait_for_abandoned()
    checkpoint = open_checkpoint(settings)
    return HfBackend(
        checkpoint.tokenizer,
        checkpoint.fingerprint,
        checkpoint.load,
        encoding=settings.encoding,
        batch_size=settings.batch_size,
        engine=checkpoint.engine,
        compilation=checkpoint.compilation,
        facts=checkpoint.facts,
        probe_cache=checkpoint.probe_cache,
        notify=settings.notify,
        memory_share=settings.memory_share,
        packed_weights=checkpoint.packed_weights,
    )


def _closed() -> Any:
    raise BackendError("the backend was closed", "open it again")


def _library_versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "transformers", "tokenizers")}
