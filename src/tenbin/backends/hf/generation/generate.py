"""Generation: who writes, decided once a model.

A model on which rows of one's own give what transformers' generate gives is decoded that way; any
other is left to generate. Of the checkpoint's generation settings its end tokens alone are used:
its sampling and penalties reach no answer. Knows the two ways; knows no batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tenbin.backends.hf.generation.probe import Proof
from tenbin.backends.hf.generation.scheduler import OwnLoop
from tenbin.backends.hf.generation.transformers_generate import LibraryGenerate
from tenbin.backends.hf.kernels.tree_attention import packs_pay_off
from tenbin.backends.hf.model.compilation import Compiling, When
from tenbin.backends.hf.model.memory import input_device
from tenbin.backends.hf.model.rope import LengthClasses
from tenbin.backends.text.generation_jobs import Job, Pens
from tenbin.records import Failure, Sampling, Text

__all__ = ["Generator", "Job", "Way"]


@dataclass(frozen=True, slots=True)
class Way:
    """How a model can write, by its own proof."""

    token_bytes: int
    """Memory of a token in rows of one's own; 0 where the model does not allow such rows."""
    packs: bool
    """Whether its prompts can be read as packs of a prefix tree."""


class Generator:
    """A causal model that writes."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        max_length: int,
        batch_size: int | Literal["auto"],
        budget: int,
        compiling: When = "auto",
        known: Way | None = None,
        memory_share: float | None = None,
    ) -> None:
        """Find out how the model can write.

        Args:
            model: A transformers causal language model in eval mode.
            tokenizer: Its transformers tokenizer.
            max_length: Tokens that the model takes.
            batch_size: Rows a batch, or `auto` for as many as fit.
            budget: Padded tokens that are read at a time.
            compiling: When prompts are read by compiled layers.
            known: What an earlier generator of the same model found; None to find out.
            memory_share: Part of the device's memory to count on; None: what is free.
        """
        pens = Pens(model, tokenizer)
        self._classes = LengthClasses(model.config.get_text_config())
        self._library = LibraryGenerate(model, pens, max_length, batch_size, budget)
        self._own: OwnLoop | None = None
        proof = Proof(model, max_length)
        self._compiling = Compiling(compiling, lambda: _refusal(proof))
        packs = packs_pay_off(input_device(model))
        self.way = known or _proven(proof, packs)
        if self.way.token_bytes:
            self._own = OwnLoop(
                model,
                pens,
                batch_size,
                budget,
                self.way.token_bytes,
                self._compiling if self.way.packs and packs else None,
                memory_share,
            )
        self.mode: str = self._own.mode if self._own else LibraryGenerate.mode

    @property
    def given_up(self) -> str | None:
        """Why prompts are not read by compiled layers though that was asked."""
        return self._compiling.reason

    def write(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Text | Failure | None]]:
        """Write an answer to every prompt; equal jobs are written once.

        Yields:
            A job's position and its answer; None when memory did not suffice even for one row, a
            Failure where the model gives no finite logits.
        """
        equal: dict[tuple[object, ...], list[int]] = {}
        for at, job in enumerate(jobs):
            same = (
                *(job.prompt.ids, job.stop, job.limit, job.sampling, job.seed),
                *(job.thinking, job.opened),
            )
            equal.setdefault(same, []).append(at)
        ways: dict[tuple[bool, Sampling | None], list[list[int]]] = {}
        for owner in equal.values():
            job = jobs[owner[0]]
            ways.setdefault((self._suits(job), job.sampling), []).append(owner)
        for (suits, _), part in ways.items():
            writer = self._own if suits and self._own else self._library
            for number, text in writer.write([jobs[owner[0]] for owner in part]):
                for at in part[number]:
                    if isinstance(text, Text):
                        yield at, replace(text, truncated=jobs[at].prompt.truncated)
                    else:
                        yield at, text

    def _suits(self, job: Job) -> bool:
        """Rows whose positions are read by the longest of them all stay with generate."""
        return self._own is not None and self._classes.of(len(job.prompt.ids), job.room) == 0


def _proven(proof: Proof, packs: bool) -> Way:
    if packs and (cache := proof.cache(packed=True)) is not None:
        return Way(cache.token_bytes(), packs=True)
    cache = proof.cache(packed=False)
    return Way(cache.token_bytes() if cache is not None else 0, packs=False)


def _refusal(proof: Proof) -> str | None:
    if proof.cache(packed=True, compiled=True) is not None:
        return None
    return "compiled layers do not give what generate gives"
