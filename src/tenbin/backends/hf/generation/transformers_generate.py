"""Generation by transformers' own generate, for models that rows of one's own do not suit.

Nothing of the checkpoint's generation settings is used: neither sampling nor penalties reach an
answer. Tokens are drawn by `drawing` here too, so that an answer does not depend on the way. Knows
generate and how rows can be put together; stop strings and text are `writing`'s.
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
from tenbin.backends.hf.generation.left_padding import takes_left_padding
from tenbin.backends.hf.generation.sampler import NO_TOKEN, Choice
from tenbin.backends.hf.model.memory import input_device, is_out_of_memory, release_memory
from tenbin.backends.hf.model.rope import LengthClasses
from tenbin.backends.text.generation_jobs import Job, Pens
from tenbin.backends.text.stop_criteria import Growing
from tenbin.records import Failure, Text


class LibraryGenerate:
    """Batches of left-padded prompts, or of prompts of one length."""

    mode = "transformers generate"

    def __init__(
        self,
        model: Any,
        pens: Pens,
        max_length: int,
        batch_size: int | Literal["auto"],
        budget: int,
    ) -> None:
        """Look at the model once.

        Args:
            model: A transformers causal language model in eval mode.
            pens: Begin the answers.
            max_length: Tokens that the model takes.
            batch_size: Rows a batch, or `auto` for as many as the budget holds.
            budget: Padded tokens a batch, answers included.
        """
        self._model = model
        self._pens = pens
        self._max_length = max_length
        self._batch_size = batch_size
        self._budget = budget
        self._device = input_device(model)
        self._classes = LengthClasses(model.config.get_text_config())

    @cached_property
    def _pads(self) -> bool:
        """Asked when something is first written this way, which is seldom."""
        return takes_left_padding(self._model)

    def write(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Text | Failure | None]]:
        """Write an answer to every prompt; all jobs have the same sampling.

        Yields:
            A job's position and its answer, longest prompts first; None when memory did not
            suffice even for one row, a Failure where the model gives no finite logits.
        """
        again: list[int] = []
        order = sorted(range(len(jobs)), key=lambda at: -len(jobs[at].prompt.ids))
        while order:
            part = self._next_batch(order, jobs)
            del order[: len(part)]
            answers = self._run([jobs[at] for at in part])
            if answers is not None:
                for at, answer in zip(part, answers, strict=True):
                    if isinstance(answer, Failure) and len(part) > 1:
                        # By itself it may do: neighbours share products with it, see `scoring`.
                        again.append(at)
                    else:
                        yield at, answer
            elif len(part) == 1:
                yield part[0], None
            else:
                order[:0] = part
                self._shrink([jobs[at] for at in part])
        for at in again:
            found = self._run([jobs[at]])
            yield at, found[0] if found else None

    def _shrink(self, jobs: Sequence[Job]) -> None:
        """Halve: later batches of shorter prompts may hold more rows again."""
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
            # A finished row runs on as padding and must not leave the model's window.
            fits = longest + limit <= self._max_length
            if batch and (not fits or self._is_full(len(batch) + 1, longest + limit)):
                break
            length = len(jobs[at].prompt.ids)
            if not self._pads and length != longest:
                break
            if self._classes.of(length, jobs[at].room) != kind:
                break
            batch.append(at)
        return batch

    def _is_full(self, rows: int, length: int) -> bool:
        if self._batch_size == "auto":
            return rows * length > self._budget
        return rows > self._batch_size

    def _run(self, jobs: Sequence[Job]) -> list[Text | Failure] | None:
        rows = [self._pens.begin(job) for job in jobs]
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
    def _generate(self, jobs: Sequence[Job], rows: Sequence[Growing]) -> set[int]:
        """Let rows grow until they are complete; those that cannot are returned."""
        draws = _Draws(jobs)
        ends = _Ends(rows, draws)
        longest = max(len(job.prompt.ids) for job in jobs)
        gaps = [longest - len(job.prompt.ids) for job in jobs]
        filler = self._pens.ends[0] if self._pens.ends else 0
        ids = [[filler] * gap + list(job.prompt.ids) for gap, job in zip(gaps, jobs, strict=True)]
        mask = [[0] * gap + [1] * (longest - gap) for gap in gaps]
        settings = GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=max(job.room for job in jobs),
            # A drawn token is made the only one, which generate then takes.
            do_sample=False,
            num_beams=1,
            pad_token_id=filler,
            # Rows end where `Writing` says, which knows the end tokens too.
            eos_token_id=None,
        )
        with quiet_libraries(), OwnSettingsOnly(self._model):
            self._model.generate(
                input_ids=torch.tensor(ids).to(self._device),
                attention_mask=torch.tensor(mask).to(self._device),
                generation_config=settings,
                stopping_criteria=StoppingCriteriaList([ends]),
                logits_processor=LogitsProcessorList([draws, *_forces(jobs, rows)]),
            )
        return ends.broken


def _forces(jobs: Sequence[Job], rows: Sequence[Growing]) -> list[LogitsProcessor]:
    return [_Forces(rows)] if any(job.thinking for job in jobs) else []


class _Draws(LogitsProcessor):
    """Chooses the token of each row, and leaves no other where it is drawn."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._is_drawn = jobs[0].sampling is not None
        self.chosen: Any = None
        """The newest token of each row, `NO_TOKEN` where there is none."""
        self._choice = Choice(jobs[0].sampling)
        self._seeds = torch.tensor([job.seed for job in jobs])
        self._lengths = torch.tensor([len(job.prompt.ids) for job in jobs])
        self._longest = int(self._lengths.max())

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        # Padding before a row does not count: its tokens stand where they stand without it.
        places = self._lengths + (input_ids.shape[1] - self._longest - 1)
        device = scores.device
        self.chosen = self._choice.next(scores, self._seeds.to(device), places.to(device))
        if not self._is_drawn:
            return scores
        drawn = self.chosen.clamp(min=0)
        return torch.full_like(scores, -torch.inf).scatter_(1, drawn[:, None], 0.0)


class _Ends(StoppingCriteria):
    """Tells generate which rows are complete."""

    def __init__(self, rows: Sequence[Growing], draws: _Draws) -> None:
        self._rows = rows
        self._draws = draws
        self.broken: set[int] = set()
        """Rows whose logits were not finite."""

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        # One copy to the host: the tokens that stand there, and those that the logits gave.
        last = input_ids[:, -1]
        tokens, chosen = torch.stack((last, self._draws.chosen.to(last.device))).tolist()
        for at, row in enumerate(self._rows):
            if at in self.broken or row.finish is not None:
                continue
            if chosen[at] == NO_TOKEN:
                self.broken.add(at)
            else:
                row.add(tokens[at])
        done = [at in self.broken or row.finish is not None for at, row in enumerate(self._rows)]
        return torch.tensor(done, device=input_ids.device)


class _Forces(LogitsProcessor):
    """Leaves only the token that a row must write next, where there is one."""

    def __init__(self, rows: Sequence[Growing]) -> None:
        self._rows = rows

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        for at, row in enumerate(self._rows):
            if row.finish is None and row.forced:
                scores[at] = -torch.inf
                scores[at, row.forced[0]] = 0.0
        return scores


class OwnSettingsOnly:
    """Hides the checkpoint's generation settings, which generate would mix into ours."""

    def __init__(self, model: Any) -> None:
        self._model = model.get_base_model() if hasattr(model, "get_base_model") else model

    def __enter__(self) -> None:
        self._settings = self._model.generation_config
        blank: Any = GenerationConfig()  # type: ignore[no-untyped-call]
        self._model.generation_config = blank

    def __exit__(self, *details: object) -> None:
        self._model.generation_config = self._settings
