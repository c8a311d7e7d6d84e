"""Generation: who writes, decided once a model.

A model on which rows of one's own give what transformers' generate gives is decoded that way; any
other is left to generate. Of the checkpoint's generation settings its end tokens alone are used:
its sampling and penalties reach no answer. Knows the two ways; knows no batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from tenbin.backends.hf.jobs import Job, Pens
from tenbin.backends.hf.library_generate import LibraryGenerate
from tenbin.backends.hf.own_loop import OwnLoop
from tenbin.backends.hf.proving import prove
from tenbin.backends.hf.rope import LengthClasses
from tenbin.records import Sampling, Text

__all__ = ["Generator", "Job"]


class Generator:
    """A causal model that writes."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        max_length: int,
        batch_size: int | Literal["auto"],
        budget: int,
        token_bytes: int | None = None,
    ) -> None:
        """Find out how the model can write.

        Args:
            model: A transformers causal language model in eval mode.
            tokenizer: Its transformers tokenizer.
            max_length: Tokens that the model takes.
            batch_size: Rows a batch, or `auto` for as many as fit.
            budget: Padded tokens that are read at a time.
            token_bytes: What an earlier generator of the same model found; None to find out.
        """
        pens = Pens(model, tokenizer)
        self._classes = LengthClasses(model.config.get_text_config())
        self._library = LibraryGenerate(model, pens, max_length, batch_size, budget)
        self._own: OwnLoop | None = None
        if token_bytes is None:
            cache = prove(model, max_length)
            token_bytes = cache.token_bytes() if cache is not None else 0
        self.token_bytes = token_bytes
        """Memory of a token in rows of one's own; 0 where the model does not allow such rows."""
        if token_bytes:
            self._own = OwnLoop(model, pens, batch_size, budget, token_bytes)
        self.mode: str = OwnLoop.mode if self._own else LibraryGenerate.mode

    def write(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Text | None]]:
        """Write an answer to every prompt; equal jobs are written once.

        Yields:
            A job's position and its answer; None when memory did not suffice even for one row.
        """
        equal: dict[tuple[object, ...], list[int]] = {}
        for at, job in enumerate(jobs):
            same = (job.prompt.ids, job.stop, job.limit, job.sampling, job.seed)
            equal.setdefault(same, []).append(at)
        ways: dict[tuple[bool, Sampling | None], list[list[int]]] = {}
        for owner in equal.values():
            job = jobs[owner[0]]
            ways.setdefault((self._suits(job), job.sampling), []).append(owner)
        for (suits, _), part in ways.items():
            writer = self._own if suits and self._own else self._library
            for number, text in writer.write([jobs[owner[0]] for owner in part]):
                for at in part[number]:
                    own = text and replace(text, truncated=jobs[at].prompt.truncated)
                    yield at, own

    def _suits(self, job: Job) -> bool:
        """Rows whose positions are read by the longest of them all stay with generate."""
        return self._own is not None and self._classes.of(len(job.prompt.ids), job.limit) == 0
