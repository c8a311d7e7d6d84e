"""Selects how a model generates, once per model, and hands out jobs.

A model that generates the same in the rows of a slot cache as with transformers' generate gets
continuous batching (`scheduler`); any other is left to generate (`transformers_generate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tenbin.backends.finite import NOT_FINITE
from tenbin.backends.hf.generation.probe import GenerationProbe
from tenbin.backends.hf.generation.scheduler import Scheduler
from tenbin.backends.hf.generation.transformers_generate import TransformersGenerate
from tenbin.backends.hf.kernels.tree_attention import packs_pay_off
from tenbin.backends.hf.model.causality import require_causal
from tenbin.backends.hf.model.compilation import Compilation, CompileMode
from tenbin.backends.hf.model.memory import input_device
from tenbin.backends.hf.model.rope import LengthClasses
from tenbin.backends.text.stop_criteria import Job, StopCriteria
from tenbin.records import Failure, Sampling, Text


@dataclass(frozen=True, slots=True)
class GenerationSupport:
    """What the probe found out about a model's generation."""

    token_bytes: int
    """Memory per token in a slot cache; 0 if the model does not work with one."""
    packs: bool
    """Whether its prompts can be prefilled as packs of a prefix tree."""
    drafts: bool = False
    """Whether a decode step may read several tokens of a row; only found out on a CPU."""
    fused: bool = False
    """Whether decode steps may be fused; only with packs."""
    refusal: str | None = None
    """Why the model does not work with a slot cache."""


class Generator:
    """Generates answers by the scheduler or by transformers' generate."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        max_length: int,
        batch_size: int | Literal["auto"],
        budget: int,
        compilation: CompileMode = "auto",
        known: GenerationSupport | None = None,
        memory_share: float | None = None,
    ) -> None:
        """Find out how the model can generate.

        Args:
            model: A transformers causal language model in eval mode.
            tokenizer: Its transformers tokenizer.
            max_length: Tokens that the model takes.
            batch_size: Rows per batch, or `auto` for as many as fit.
            budget: Padded tokens per prefill.
            compilation: When prefill uses compiled layers.
            known: What an earlier probe of the same model found; None to probe.
            memory_share: Part of the device's memory to count on; None: what is free.

        Raises:
            BackendError: The model is not causal, or its logits are not finite.
        """
        criteria = StopCriteria(model, tokenizer)
        self._classes = LengthClasses(model.config.get_text_config())
        self._transformers = TransformersGenerate(model, criteria, max_length, batch_size, budget)
        self._scheduler: Scheduler | None = None
        probe = GenerationProbe(model, max_length)
        self._compilation = Compilation(compilation, lambda: _refusal(probe))
        packs = packs_pay_off(input_device(model))
        self.support = known or _probed(model, probe, packs)
        if self.support.token_bytes:
            self._scheduler = Scheduler(
                model,
                criteria,
                batch_size,
                budget,
                self.support.token_bytes,
                self._compilation if self.support.packs and packs else None,
                memory_share,
                self.support.drafts,
                self.support.fused and packs,
            )
        self.mode: str = (
            self._scheduler.mode if self._scheduler is not None else TransformersGenerate.mode
        )

    @property
    def not_compiled(self) -> str | None:
        """Why prefill does not use compiled layers though that was wanted."""
        return self._compilation.reason

    def generate(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Text | Failure | None]]:
        """Generate an answer to every prompt; equal jobs are generated once.

        Yields:
            A job's position and its answer; None if memory did not suffice even for one row, a
            Failure if the model gives no finite logits.
        """
        equal: dict[tuple[object, ...], list[int]] = {}
        for at, job in enumerate(jobs):
            same = (
                *(job.prompt.ids, job.stop, job.limit, job.sampling, job.seed),
                *(job.thinking, job.opened),
            )
            equal.setdefault(same, []).append(at)
        # All rows of a batch share one sampler, so jobs are separated by their sampling.
        parts: dict[tuple[bool, Sampling | None], list[list[int]]] = {}
        for owner in equal.values():
            job = jobs[owner[0]]
            parts.setdefault((self._suits_scheduler(job), job.sampling), []).append(owner)
        for (suits, _), part in parts.items():
            engine = self._scheduler if suits and self._scheduler else self._transformers
            for number, text in _finite_if_alone(engine, [jobs[owner[0]] for owner in part]):
                for at in part[number]:
                    if isinstance(text, Text):
                        yield at, replace(text, truncated=jobs[at].prompt.truncated)
                    else:
                        yield at, text

    def _suits_scheduler(self, job: Job) -> bool:
        """Whether a job's rotary embedding does not depend on the longest row of its batch."""
        return self._scheduler is not None and self._classes.of(len(job.prompt.ids), job.room) == 0


def _finite_if_alone(
    engine: Scheduler | TransformersGenerate, jobs: Sequence[Job]
) -> Iterator[tuple[int, Text | Failure | None]]:
    """Generate jobs, and those whose logits are not finite once more, each by itself.

    In a batch, a masked neighbour that overflowed still takes part in products, and 0 times NaN is
    NaN. So only a row by itself shows whether its own logits are finite.
    """
    again: list[int] = []
    for at, text in engine.generate(jobs):
        if isinstance(text, Failure) and text.kind == NOT_FINITE and len(jobs) > 1:
            again.append(at)
        else:
            yield at, text
    for at in again:
        yield from ((at, text) for _, text in engine.generate([jobs[at]]))


def _probed(model: Any, probe: GenerationProbe, packs: bool) -> GenerationSupport:
    require_causal(model)
    if packs and (cache := probe.cache(packed=True)) is not None:
        fused = probe.cache(packed=True, fused=True) is not None
        return GenerationSupport(cache.token_bytes(), packs=True, fused=fused)
    cache = probe.cache(packed=False)
    if cache is None:
        return GenerationSupport(0, packs=False, refusal=probe.refusal)
    return GenerationSupport(cache.token_bytes(), packs=False, drafts=probe.takes_drafts())


def _refusal(probe: GenerationProbe) -> str | None:
    if probe.cache(packed=True, compiled=True) is not None:
        return None
    return "compiled layers do not give what generate gives"
