"""Generation by transformers' own generate, for models that the scheduler cannot run.

Nothing of the checkpoint's generation settings is used: neither sampling nor penalties reach an
answer. Tokens are chosen by `sampler` here too, so that an answer does not depend on which of the
two generated it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)

from tenbin.backends.checkpoint.quiet import quiet_libraries
from tenbin.backends.finite import not_finite
from tenbin.backends.hf.generation.generate_logits import (
    Batches,
    batches_of,
    default_generation_config,
)
from tenbin.backends.hf.generation.sampler import NO_TOKEN, Sampler
from tenbin.backends.hf.model.memory import input_device, is_out_of_memory, release_memory
from tenbin.backends.hf.model.rope import LengthClasses
from tenbin.backends.text.completion import Completion
from tenbin.backends.text.stop_criteria import Job, StopCriteria
from tenbin.records import Failure, Text


class TransformersGenerate:
    """Batches of left-padded prompts, of prompts of one length, or single prompts."""

    mode = "transformers generate"

    def __init__(
        self,
        model: Any,
        criteria: StopCriteria,
        max_length: int,
        batch_size: int | Literal["auto"],
        budget: int,
    ) -> None:
        """Inspect the model once.

        Args:
            model: A transformers causal language model in eval mode.
            criteria: Say where completions stop.
            max_length: Tokens that the model takes.
            batch_size: Rows per batch, or `auto` for as many as the budget holds.
            budget: Padded tokens per batch, answers included.
        """
        self._model = model
        self._criteria = criteria
        self._max_length = max_length
        self._batch_size = batch_size
        self._budget = budget
        self._device = input_device(model)
        self._classes = LengthClasses(model.config.get_text_config())

    @cached_property
    def _batches(self) -> Batches:
        """Probed only when something is generated this way, which is rare."""
        return batches_of(self._model)

    def generate(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Text | Failure | None]]:
        """Generate an answer to every prompt; all jobs have the same sampling.

        Yields:
            A job's position and its answer, longest prompts first; None if memory did not suffice
            even for one row, a Failure if the model gives no finite logits.
        """
        order = sorted(range(len(jobs)), key=lambda at: -len(jobs[at].prompt.ids))
        while order:
            part = self._next_batch(order, jobs)
            del order[: len(part)]
            answers = self._run([jobs[at] for at in part])
            if answers is not None:
                yield from zip(part, answers, strict=True)
            elif len(part) == 1:
                yield part[0], None
            else:
                order[:0] = part
                self._shrink([jobs[at] for at in part])

    def _shrink(self, jobs: Sequence[Job]) -> None:
        """Halve the budget rather than the rows: shorter prompts may have more rows again."""
        half = len(jobs) // 2
        if self._batch_size != "auto":
            self._batch_size = half
        longest = max(len(job.prompt.ids) for job in jobs)
        self._budget = half * (longest + max(job.room for job in jobs[:half]))

    def _next_batch(self, order: Sequence[int], jobs: Sequence[Job]) -> list[int]:
        first = jobs[order[0]]
        longest = len(first.prompt.ids)
        kind = self._classes.of(longest, first.room)
        batch: list[int] = []
        limit = 0
        for at in order:
            limit = max(limit, jobs[at].room)
            # A complete row runs on as padding and must not leave the model's window.
            fits = longest + limit <= self._max_length
            if batch and (not fits or self._is_full(len(batch) + 1, longest + limit)):
                break
            length = len(jobs[at].prompt.ids)
            if batch and not self._may_join(length, longest):
                break
            if self._classes.of(length, jobs[at].room) != kind:
                break
            batch.append(at)
        return batch

    def _may_join(self, length: int, longest: int) -> bool:
        if self._batches == "equal":
            return length == longest
        return self._batches == "padded"

    def _is_full(self, rows: int, length: int) -> bool:
        if self._batch_size == "auto":
            return rows * length > self._budget
        return rows > self._batch_size

    def _run(self, jobs: Sequence[Job]) -> list[Text | Failure] | None:
        rows = [self._criteria.begin(job) for job in jobs]
        try:
            broken = self._generate(jobs, rows)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            rows = []
        if not rows:
            release_memory(self._device)
            return None
        return [
            not_finite(math.nan) if at in broken else row.result(job.prompt.truncated)
            for at, (row, job) in enumerate(zip(rows, jobs, strict=True))
        ]

    @torch.inference_mode()
    def _generate(self, jobs: Sequence[Job], rows: Sequence[Completion]) -> set[int]:
        """Generate until all rows are complete; return those whose logits are not finite."""
        sampling = _SamplingProcessor(jobs)
        stopping = _Stopping(rows, sampling)
        longest = max(len(job.prompt.ids) for job in jobs)
        gaps = [longest - len(job.prompt.ids) for job in jobs]
        filler = self._criteria.ends[0] if self._criteria.ends else 0
        ids = [[filler] * gap + list(job.prompt.ids) for gap, job in zip(gaps, jobs, strict=True)]
        mask = [[0] * gap + [1] * (longest - gap) for gap in gaps]
        settings = GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=max(job.room for job in jobs),
            # The sampled token is made the only one, which greedy search then takes.
            do_sample=False,
            num_beams=1,
            pad_token_id=filler,
            # Rows end where their completions say, which know the end tokens too.
            eos_token_id=None,
        )
        processors: list[LogitsProcessor] = [sampling]
        if any(job.thinking for job in jobs):
            processors.append(_ForcedTokens(rows))
        with quiet_libraries(), default_generation_config(self._model):
            self._model.generate(
                input_ids=torch.tensor(ids).to(self._device),
                attention_mask=torch.tensor(mask).to(self._device),
                generation_config=settings,
                stopping_criteria=StoppingCriteriaList([stopping]),
                logits_processor=LogitsProcessorList(processors),
            )
        return stopping.broken


class _SamplingProcessor(LogitsProcessor):
    """Chooses the token of each row; if it is sampled, excludes all others."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._is_sampled = jobs[0].sampling is not None
        self.chosen: Any = None
        """The newest token of each row, `NO_TOKEN` where there is none."""
        self._sampler = Sampler(jobs[0].sampling)
        self._seeds = torch.tensor([job.seed for job in jobs])
        self._lengths = torch.tensor([len(job.prompt.ids) for job in jobs])
        self._longest = int(self._lengths.max())

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        # Left padding does not count: positions are those of the row by itself.
        positions = self._lengths + (input_ids.shape[1] - self._longest - 1)
        device = scores.device
        self.chosen = self._sampler.sample(scores, self._seeds.to(device), positions.to(device))
        if not self._is_sampled:
            return scores
        sampled = self.chosen.clamp(min=0)
        return torch.full_like(scores, -torch.inf).scatter_(1, sampled[:, None], 0.0)


class _Stopping(StoppingCriteria):
    """Tells generate which rows are complete."""

    def __init__(self, rows: Sequence[Completion], sampling: _SamplingProcessor) -> None:
        self._rows = rows
        self._sampling = sampling
        self.broken: set[int] = set()
        """Rows whose logits were not finite."""

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        # One copy to the host: the tokens that were appended, and those that the logits gave.
        last = input_ids[:, -1]
        tokens, chosen = torch.stack((last, self._sampling.chosen.to(last.device))).tolist()
        for at, row in enumerate(self._rows):
            if at in self.broken or row.finish is not None:
                continue
            if chosen[at] == NO_TOKEN:
                self.broken.add(at)
            else:
                row.add(tokens[at])
        done = [at in self.broken or row.finish is not None for at, row in enumerate(self._rows)]
        return torch.tensor(done, device=input_ids.device)


class _ForcedTokens(LogitsProcessor):
    """Excludes all tokens but the one that a completion forces next, if there is one."""

    def __init__(self, rows: Sequence[Completion]) -> None:
        self._rows = rows

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        for at, row in enumerate(self._rows):
            if row.finish is None and row.forced:
                scores[at] = -torch.inf
                scores[at, row.forced[0]] = 0.0
        return scores
