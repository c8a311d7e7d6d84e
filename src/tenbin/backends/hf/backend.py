"""The hf backend: a transformers model that answers requests.

Joins the parts of this folder and holds no method of its own: what a model is, how it is loaded,
encoded, scored and made to write is said in the modules beside. Opening it is cheap; the
weights are loaded by the first run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, cast

from tenbin.backends.base import NONE_KNOWN, Backend, BackendSettings, Capabilities, Encoding
from tenbin.backends.checkpoint.checkpoint import Checkpoint, open_checkpoint
from tenbin.backends.checkpoint.fingerprint import (
    ENGINE_VERSION,
    fingerprint_of,
    library_version,
    tokenizer_digest,
)
from tenbin.backends.gc_pause import resting_collector
from tenbin.backends.hf.generation.generate import Generator, Job, Way
from tenbin.backends.hf.kernels.tree_attention import no_kernel
from tenbin.backends.hf.model.compilation import When
from tenbin.backends.hf.model.failures import explaining
from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.memory import (
    input_device,
    keep_freed_memory,
    pack_budget,
    release_memory,
    token_budget,
)
from tenbin.backends.hf.model.tensor_digest import model_digest
from tenbin.backends.hf.probe_cache import Verdicts
from tenbin.backends.hf.probe_reuse import NOT_RUN, recalled_choice, recalled_generator
from tenbin.backends.hf.scoring.engine_selection import Choice, Finding, choose_core
from tenbin.backends.hf.scoring.tree import PackedTree
from tenbin.backends.text.encoding import EncodedPrompt, encode_prompts
from tenbin.backends.text.generation_jobs import job_of
from tenbin.backends.text.score_collector import ScoringCore
from tenbin.backends.text.score_requests import OUT_OF_MEMORY, answer_rolls, answer_scores
from tenbin.backends.text.tokenizer import HfTokenizer, window_of
from tenbin.errors import BackendError
from tenbin.records import Generate, Request, Response, Rolling, Score

_PORTION = 4096
"""Requests that are taken at a time: bounds the memory that token ids take."""
_SCORES = {"cuda": 4096}
_SCORES_ELSEWHERE = 512
"""Requests that are scored together: many packs, so that the last one, not full, weighs little."""


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
        compiling: When = "auto",
        facts: Mapping[str, Any] | None = None,
        verdicts: Verdicts | None = None,
        notify: Callable[[str], None] | None = None,
        memory_share: float | None = None,
    ) -> None:
        """Prepare a backend; `open_hf` and `from_model` are the usual ways in.

        Args:
            tokenizer: The model's tokenizer.
            fingerprint: What answers depend on besides the request.
            load: Gives the model, in eval mode and on its device, when it is first needed.
            encoding: How prompt and answer meet.
            batch_size: Rows a batch, or `auto`.
            engine: How scoring shares work: `auto`, or a rung of the ladder by name.
            compiling: When scoring compiles the model's layers.
            facts: What results record of the model besides what this class knows.
            verdicts: What is known of the model from earlier runs.
            notify: Told why a faster way of scoring was passed over.
            memory_share: Part of the device's memory to count on, so that batches are the same
                wherever they are made; None: what is free.
        """
        self.fingerprint = fingerprint
        self._tokenizer = tokenizer
        self._load = load
        self._encoding = encoding
        self._batch_size = batch_size
        self._engine = engine
        self._compiling: When = compiling
        self._notify = notify
        self._memory_share = memory_share
        self._budget = 0
        self._verdicts = verdicts or Verdicts(None, {})
        self._probed = self._proved = NOT_RUN
        self._passed_over: tuple[str, ...] = ()
        self._facts = dict(facts or {})
        self._model: Any = None
        self._core: ScoringCore | None = None
        self._single: ScoringCore | None = None
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
        compiling: When = "auto",
    ) -> HfBackend:
        """A backend around a transformers model that is already loaded."""
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
            compiling=compiling,
            facts=facts,
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
        """What results record: engine, dtype, device, encoding, model and its revision."""
        described = {
            "engine": {
                "name": "hf",
                # Nothing was scored: all answers were known, or none were asked.
                "mode": self._core.mode if self._core else NOT_RUN,
                "generation": self._generator.mode if self._generator else NOT_RUN,
                "asked": self._engine,
                "passed_over": self._given_up(),
                "probe": self._probed,
                "generation_probe": self._proved,
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

    def _given_up(self) -> list[str]:
        """Faster ways that this model did not allow, and why."""
        reasons = list(self._passed_over)
        if isinstance(self._core, PackedTree):
            kernel = no_kernel(self._core.forward.device)
            reasons += [f"tree kernel: {kernel}"] if kernel else []
            compiled = self._core.compiling.reason
            reasons += [f"compiled layers: {compiled}"] if compiled else []
        if self._generator and self._generator.given_up:
            reasons.append(f"compiled layers for prompts: {self._generator.given_up}")
        return reasons

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        """Answer requests whose keys are not known, with the bits of a `run` of all of them."""
        if self._memory_share is not None and self._core is not None:
            # Whatever became too much for earlier requests: these are batched as any worker would.
            self._core.budget = self._budget
        rest = iter(requests)
        while portion := list(islice(rest, _PORTION)):
            here = frozenset(request.key for request in portion if request.key in known)
            yield from self._run_portion(portion, here)

    def close(self) -> None:
        """Free what the model holds."""
        model, self._model = self._model, None
        self._core = self._single = self._generator = None
        self._load = _closed
        if model is not None:
            device = input_device(model)
            del model
            release_memory(device)

    def _run_portion(
        self, requests: Sequence[Request], known: Collection[str]
    ) -> Iterator[tuple[str, Response]]:
        scores = [request for request in requests if isinstance(request, Score)]
        rolls = [request for request in requests if isinstance(request, Rolling)]
        texts = [request for request in requests if isinstance(request, Generate)]
        weighed: list[Request] = [*scores, *rolls]
        if any(request.key not in known for request in weighed):
            with explaining(self._name, "scoring"):
                yield from self._weigh(scores, rolls, known)
        # A text is made of whole tokens: unlike a sum of logarithms, it rests on no batch's bits
        # unless two tokens are as likely as each other to the last digits.
        if texts := [request for request in texts if request.key not in known]:
            with explaining(self._name, "generation"):
                yield from self._write(texts)

    @property
    def _name(self) -> str:
        return str(self._facts.get("model") or "model")

    def _weigh(
        self, scores: Sequence[Score], rolls: Sequence[Rolling], known: Collection[str]
    ) -> Iterator[tuple[str, Response]]:
        core, single = self._scoring_core(), self._single
        size = _SCORES.get(input_device(self._model).type, _SCORES_ELSEWHERE)
        for at in range(0, len(scores), size):
            part = scores[at : at + size]
            if any(request.key not in known for request in part):
                yield from answer_scores(core, self._tokenizer, self._encoding, part, single, known)
        yield from answer_rolls(core, self._tokenizer, rolls, single, known)

    def _write(self, requests: Sequence[Generate]) -> Iterator[tuple[str, Response]]:
        asked: list[tuple[str, Job]] = []
        encoded = encode_prompts(self._tokenizer, requests)
        for request, found in zip(requests, encoded, strict=True):
            if isinstance(found, EncodedPrompt):
                asked.append((request.key, job_of(request, found)))
            else:
                yield request.key, found
        for number, text in self._writer().write([job for _, job in asked]):
            yield asked[number][0], OUT_OF_MEMORY if text is None else text

    def _loaded(self) -> Any:
        if self._model is None:
            with resting_collector():
                self._model = self._load()
            if input_device(self._model).type == "cpu":
                keep_freed_memory()
        return self._model

    def _scoring_core(self) -> ScoringCore:
        if self._core is None:

            def choose(forward: Forward, known: Finding | None) -> Choice:
                device = forward.device
                return choose_core(
                    forward,
                    self._engine,
                    self._batch_size,
                    token_budget(device),
                    pack_budget(device),
                    self._compiling,
                    known,
                    self._memory_share,
                )

            choice, self._probed = recalled_choice(self._loaded(), self._verdicts, choose)
            self._core, self._single = choice.core, choice.single
            self._passed_over = choice.reasons
            self._budget = choice.core.budget
            if self._notify is not None:
                for reason in choice.reasons:
                    self._notify(f"scoring by {choice.core.mode}; {reason}")
        return self._core

    def _writer(self) -> Generator:
        if self._generator is None:
            model = self._loaded()

            def make(known: Way | None) -> Generator:
                return Generator(
                    model,
                    self._tokenizer.inner,
                    self._tokenizer.max_length,
                    self._batch_size,
                    token_budget(input_device(model)),
                    self._compiling,
                    known,
                    self._memory_share,
                )

            self._generator, self._proved = recalled_generator(model, self._verdicts, make)
        return self._generator


def open_hf(settings: BackendSettings) -> Backend:
    """Open the model that the settings name; its weights are loaded by the first run.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The model, the device or a library is not there.
    """
    checkpoint: Checkpoint = open_checkpoint(settings)
    return HfBackend(
        checkpoint.tokenizer,
        checkpoint.fingerprint,
        checkpoint.load,
        encoding=settings.encoding,
        batch_size=settings.batch_size,
        engine=checkpoint.engine,
        compiling=cast(When, checkpoint.compiling),
        facts=checkpoint.facts,
        verdicts=checkpoint.verdicts,
        notify=settings.notify,
        memory_share=settings.memory_share,
    )


def _closed() -> Any:
    raise BackendError("the backend was closed", "open it again")


def _library_versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "transformers", "tokenizers")}
