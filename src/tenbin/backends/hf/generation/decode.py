"""Decoding of many rows: they enter when there is room and leave when they are complete.

Knows rows, their cache and their answers; the model is `reading`'s, prompts are `filling`'s, stop
strings are `writing`'s.
On a device that works by itself the next step is begun before the last one is looked at, so that
the one copy of new tokens to the host and the search for stop strings cost no waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from tenbin.backends.hf.generation.decode_step import Stepper
from tenbin.backends.hf.generation.kv_cache import SlotCache
from tenbin.backends.hf.generation.model_runner import Reader
from tenbin.backends.hf.generation.prefill import Filling
from tenbin.backends.hf.generation.sampler import NO_TOKEN, Choice
from tenbin.backends.hf.generation.shared_prefixes import Family, Ids
from tenbin.backends.text.stop_criteria import Growing

_REFILL = 4
"""Waiting prompts enter when one row in so many is free: reading a few at a time is dear."""


@dataclass(slots=True)
class _Row:
    job: int
    place: int
    """Where its next token is read."""
    next: int
    """Where the next token stands that is looked at."""
    writing: Growing
    forced: dict[int, int] = field(default_factory=dict)
    """Place → token that stands there, whatever the model chose."""
    is_broken: bool = False
    """Whether the model gave no token: its logits are not finite."""

    @property
    def is_done(self) -> bool:
        """Whether nothing more is wanted of it."""
        return self.is_broken or self.writing.finish is not None

    def force(self) -> None:
        """Take over what the writing wants next."""
        self.forced.update(enumerate(self.writing.forced, self.next))


class _Copy:
    """Tokens on their way to the host."""

    def __init__(self, tokens: torch.Tensor) -> None:
        self._tokens = tokens.to("cpu", non_blocking=True)
        self._arrival: torch.cuda.Event | None = None
        if tokens.is_cuda:
            # Waiting for the stream would mean waiting for the step that was begun since.
            self._arrival = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._arrival.record()

    def values(self) -> list[int]:
        if self._arrival is not None:
            self._arrival.synchronize()
        found: list[int] = self._tokens.tolist()
        return found


class Decoding:
    """One batch of rows and the prompts that wait for a place in it."""

    def __init__(
        self,
        reader: Reader,
        prompts: Sequence[Ids],
        writings: Sequence[Growing],
        waiting: Sequence[Family],
        rows: int,
        length: int,
        fill: Callable[[SlotCache], Filling],
        choice: Choice | None = None,
        seeds: Sequence[int] | None = None,
    ) -> None:
        """Prepare a batch.

        Args:
            reader: The model.
            prompts: Token ids of every prompt.
            writings: Their answers.
            waiting: Which of them are written, by shared beginning.
            rows: Rows a step.
            length: Tokens of the longest prompt and its answer.
            fill: Makes what reads prompts into a cache.
            choice: How tokens are chosen; by default the most likely ones are taken.
            seeds: Decide what is drawn, one a prompt.
        """
        self._reader = reader
        self._prompts = prompts
        self._writings = writings
        self._seeds = seeds or [0] * len(prompts)
        self._waiting = [
            (family, job) for family in reversed(waiting) for job in family.members[::-1]
        ]
        self._cache = SlotCache(rows, length)
        self._filling = fill(self._cache)
        self._active: list[_Row] = []
        self.broken: set[int] = set()
        """Jobs without an answer, because logits were not finite."""
        self._stepper = Stepper(reader, self._cache, choice or Choice(None))

    @torch.inference_mode()
    def run(self, ahead: bool) -> Iterator[int]:
        """Decode until every answer is complete.

        Args:
            ahead: Whether to begin a step before looking at the one before.

        Yields:
            The number of each job whose answer is complete.
        """
        begun: list[tuple[list[_Row], _Copy]] = []
        while self._active or self._waiting:
            self._enter()
            begun.append(self._begin())
            if ahead and len(begun) == 1:
                continue
            yield from self._look(*begun.pop(0))
            self._leave()

    def _enter(self) -> None:
        free = self._cache.rows - len(self._active)
        if not self._waiting or (self._active and free * _REFILL < self._cache.rows):
            return
        start = len(self._active)
        taken = [self._waiting.pop() for _ in range(min(free, len(self._waiting)))]
        self._filling.read(taken, start)
        # A prompt's last token is the first to be decoded.
        jobs = [job for _, job in taken]
        ends = [len(self._prompts[job]) - 1 for job in jobs]
        last = [self._prompts[job][-1] for job in jobs]
        seeds = [self._seeds[job] for job in jobs]
        rows = slice(start, start + len(jobs))
        self._stepper.tokens[rows] = torch.tensor(last).to(self._reader.device, non_blocking=True)
        self._stepper.places[rows] = torch.tensor(ends).to(self._reader.device, non_blocking=True)
        self._stepper.seeds[rows] = torch.tensor(seeds).to(self._reader.device, non_blocking=True)
        entered = [
            _Row(job, place, place + 1, self._writings[job])
            for job, place in zip(jobs, ends, strict=True)
        ]
        for row in entered:
            row.force()
        self._active += entered

    def _begin(self) -> tuple[list[_Row], _Copy]:
        reach = max(row.place for row in self._active) + 1
        for at, row in enumerate(self._active):
            if row.place in row.forced:
                self._stepper.tokens[at] = row.forced[row.place]
        new = self._stepper.step(len(self._active), reach)
        for row in self._active:
            row.place += 1
        return list(self._active), _Copy(new)

    def _look(self, rows: Sequence[_Row], tokens: _Copy) -> Iterator[int]:
        for row, token in zip(rows, tokens.values(), strict=True):
            if row.is_done:
                continue
            if token == NO_TOKEN:
                row.is_broken = True
                self.broken.add(row.job)
                yield row.job
                continue
            complete = row.writing.add(row.forced.get(row.next, token))
            row.next += 1
            if row.writing.forced:
                row.force()
            if complete:
                yield row.job

    def _leave(self) -> None:
        """Fill the places of complete rows with rows from the end."""
        kept = [at for at, row in enumerate(self._active) if not row.is_done]
        count = len(kept)
        if count == len(self._active):
            return
        # Whoever comes there next does not read them, but multiplies them by zero.
        self._cache.clear([at for at, row in enumerate(self._active) if row.is_broken])
        free = [at for at in range(count) if self._active[at].is_done]
        sources = [at for at in kept if at >= count]
        if free:
            self._cache.move(sources, free)
            origin = torch.tensor(sources).to(self._reader.device, non_blocking=True)
            target = torch.tensor(free).to(self._reader.device, non_blocking=True)
            for kind in (self._stepper.tokens, self._stepper.places, self._stepper.seeds):
                kind[target] = kind[origin]
            for source, place in zip(sources, free, strict=True):
                self._active[place] = self._active[source]
        del self._active[count:]
