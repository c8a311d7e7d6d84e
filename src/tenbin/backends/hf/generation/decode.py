"""Decode steps of many rows: rows enter when there is room and leave when they are complete.

On a device that works asynchronously the next step is launched before the last one is examined, so
that copying new tokens to the host and searching for stop strings cost no waiting. A row then runs
one step beyond its end, which is ignored.

A step of a large model launches a thousand small kernels, which takes the host longer than the GPU
needs to run them. On CUDA a step of a given shape is therefore captured as a CUDA graph the second
time, and replayed from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from tenbin.backends.hf.generation.drafts import Drafter
from tenbin.backends.hf.generation.kv_cache import SlotCache
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.generation.prefill import Prefill
from tenbin.backends.hf.generation.sampler import NO_TOKEN, Sampler
from tenbin.backends.hf.generation.shared_prefixes import PrefixGroup
from tenbin.backends.hf.model.memory import is_out_of_memory
from tenbin.backends.hf.model.prefix_tree import Ids
from tenbin.backends.text.completion import Completion

if TYPE_CHECKING:
    from tenbin.backends.hf.generation.paged_cache import PagedCache

AnyCache: TypeAlias = "SlotCache | PagedCache"

_REFILL = 4
"""Waiting prompts enter when one row in so many is free: a prefill of a few prompts at a time costs
nearly as much as one of many."""
_REFILL_PAGED = 16
"""The same where a prefill of so few rows keeps the device busy: a large GPU and packs."""
_ROW_STRIDE = 16
"""Rows of captured steps: coarse enough to recur, fine enough not to waste much."""


@dataclass(slots=True)
class _Row:
    job: int
    position: int
    """Position of the token that the next step reads."""
    next: int
    """Position of the next token to examine; with lookahead it lags behind `position`."""
    completion: Completion
    forced: dict[int, int] = field(default_factory=dict)
    """Position → token that stands there, whatever the model chose."""
    drafter: Drafter | None = None
    """Guesses its next tokens; None where steps read one token per row."""
    is_broken: bool = False
    """Whether the model gave no token, because its logits are not finite."""

    @property
    def is_done(self) -> bool:
        """Whether nothing more is wanted of it."""
        return self.is_broken or self.completion.finish is not None

    def force(self) -> None:
        """Take over the tokens that the completion forces next."""
        self.forced.update(enumerate(self.completion.forced, self.next))


class _Copy:
    """Tokens on their way to the host."""

    def __init__(self, tokens: torch.Tensor) -> None:
        # Into pinned memory: the host would wait for a copy into any other.
        self._tokens = torch.empty(tokens.shape, dtype=tokens.dtype, pin_memory=tokens.is_cuda)
        self._tokens.copy_(tokens, non_blocking=True)
        self._arrival: torch.cuda.Event | None = None
        if tokens.is_cuda:
            # Waiting for the stream would mean waiting for the step that was launched since.
            self._arrival = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._arrival.record()

    def values(self) -> list[int]:
        if self._arrival is not None:
            self._arrival.synchronize()
        found: list[int] = self._tokens.tolist()
        return found


class DecodeBatch:
    """One batch of rows, and the prompts that wait for a row."""

    def __init__(
        self,
        runner: ModelRunner,
        prompts: Sequence[Ids],
        completions: Sequence[Completion],
        waiting: Sequence[PrefixGroup],
        lengths: Sequence[int],
        cache: AnyCache,
        prefill: Prefill,
        sampler: Sampler | None = None,
        seeds: Sequence[int] | None = None,
        drafts: bool = False,
    ) -> None:
        """Prepare a batch.

        Args:
            runner: The model.
            prompts: Token ids of every prompt.
            completions: Their completions.
            waiting: Which of them are decoded, by shared prefix.
            lengths: Tokens of each prompt with its longest answer.
            cache: Holds as many rows as a step has.
            prefill: Prefills prompts into the cache.
            sampler: Chooses tokens; greedy by default.
            seeds: Seed of the sampler for each prompt.
            drafts: Whether steps read drafted tokens too; needs greedy decoding, no lookahead.
        """
        self._drafts = drafts
        self._runner = runner
        self._prompts = prompts
        self._completions = completions
        self._seeds = seeds or [0] * len(prompts)
        # Reversed, so that the next prompt is popped from the end. Prompts with a common prefix
        # stay together, so that they enter together and share its prefill.
        self._waiting = [(group, job) for group in reversed(waiting) for job in group.members[::-1]]
        self._lengths = lengths
        self._cache = cache
        self._prefill = prefill
        self._refill = _REFILL if isinstance(cache, SlotCache) else _REFILL_PAGED
        self._active: list[_Row] = []
        self.not_finite: set[int] = set()
        """Jobs without an answer, because logits were not finite."""
        self._stepper = DecodeStepper(runner, self._cache, sampler or Sampler(None))

    @torch.inference_mode()
    def run(self, lookahead: bool) -> Iterator[int]:
        """Decode until every answer is complete.

        Args:
            lookahead: Whether to launch a step before examining the previous one.

        Yields:
            The number of each job whose answer is complete.
        """
        launched: list[tuple[list[_Row], _Copy]] = []
        while self._active or self._waiting:
            self._admit()
            if self._drafts:
                yield from self._drafted_step()
                self._evict()
                continue
            launched.append(self._launch_step())
            if lookahead and len(launched) == 1:
                continue
            yield from self._examine(*launched.pop(0))
            self._evict()

    def _admit(self) -> None:
        """Prefill waiting prompts into free rows."""
        free = self._cache.rows - len(self._active)
        if not self._waiting or (self._active and free * self._refill < self._cache.rows):
            return
        start = len(self._active)
        next_ones = [job for _, job in self._waiting[: -free - 1 : -1]]
        count = self._cache.enter(
            start,
            [self._prompts[job] for job in next_ones],
            [self._lengths[job] for job in next_ones],
        )
        if not count:
            return
        taken = [self._waiting.pop() for _ in range(count)]
        self._prefill.run(taken, start)
        # Prefill leaves a prompt's last token out: the first decode step reads it, and its logits
        # give the first token of the answer.
        jobs = next_ones[:count]
        ends = [len(self._prompts[job]) - 1 for job in jobs]
        last = [self._prompts[job][-1] for job in jobs]
        seeds = [self._seeds[job] for job in jobs]
        rows = slice(start, start + len(jobs))
        device = self._runner.device
        self._stepper.tokens[rows] = torch.tensor(last).to(device, non_blocking=True)
        self._stepper.positions[rows] = torch.tensor(ends).to(device, non_blocking=True)
        self._stepper.seeds[rows] = torch.tensor(seeds).to(device, non_blocking=True)
        entered = [
            _Row(
                job,
                position,
                position + 1,
                self._completions[job],
                drafter=Drafter(self._prompts[job]) if self._drafts else None,
            )
            for job, position in zip(jobs, ends, strict=True)
        ]
        for row in entered:
            row.force()
        self._active += entered

    def _launch_step(self) -> tuple[list[_Row], _Copy]:
        reach = max(row.position for row in self._active) + 1
        for at, row in enumerate(self._active):
            if row.position in row.forced:
                self._stepper.tokens[at] = row.forced[row.position]
        new = self._stepper.step(len(self._active), reach)
        for row in self._active:
            row.position += 1
        return list(self._active), _Copy(new)

    def _examine(self, rows: Sequence[_Row], tokens: _Copy) -> Iterator[int]:
        """Add new tokens to their completions and yield the jobs that are complete."""
        for row, token in zip(rows, tokens.values(), strict=True):
            if not row.is_done:
                self._add(row, token)
                if row.is_done:
                    yield row.job

    def _add(self, row: _Row, token: int) -> int:
        """Add a token to a row's completion; return the one that stands there."""
        if token == NO_TOKEN:
            row.is_broken = True
            self.not_finite.add(row.job)
            return token
        token = row.forced.get(row.next, token)
        row.completion.add(token)
        row.next += 1
        if row.completion.forced:
            row.force()
        return token

    def _drafted_step(self) -> Iterator[int]:
        """Run a step that reads each row's newest token and its draft; yield complete jobs.

        The model's choice after each token shows how much of a draft it would have written itself;
        the choice after the last such token is new. Keys and values of the rest are overwritten
        before any mask lets them be read.
        """
        last = self._cache.length - 1
        drafts = [
            row.drafter.draft(last - row.position, len(self._active)) if row.drafter else []
            for row in self._active
        ]
        places = [row.position for row in self._active]
        chosen = self._stepper.step_drafts(places, drafts)
        for at, (row, draft) in enumerate(zip(self._active, drafts, strict=True)):
            for guess, choice in zip((*draft, None), chosen[at], strict=True):
                token = self._add(row, choice)
                if row.is_done:
                    yield row.job
                    break
                row.position += 1
                assert row.drafter is not None
                row.drafter.add(token)
                self._stepper.tokens[at] = token
                if token != guess:
                    break
            self._stepper.positions[at] = row.position

    def _evict(self) -> None:
        """Remove complete rows and fill their places with rows from the end.

        Active rows stay contiguous, so that a step computes the first `count` rows and no others.
        """
        kept = [at for at, row in enumerate(self._active) if not row.is_done]
        count = len(kept)
        if count == len(self._active):
            return
        # The next job in such a row masks these slots, but a mask multiplies by zero, and 0 times
        # NaN is NaN.
        self._cache.clear([at for at, row in enumerate(self._active) if row.is_broken])
        self._cache.release([at for at, row in enumerate(self._active) if row.is_done])
        free = [at for at in range(count) if self._active[at].is_done]
        sources = [at for at in kept if at >= count]
        if free:
            self._cache.move(sources, free)
            origin = torch.tensor(sources).to(self._runner.device, non_blocking=True)
            target = torch.tensor(free).to(self._runner.device, non_blocking=True)
            for state in (self._stepper.tokens, self._stepper.positions, self._stepper.seeds):
                state[target] = state[origin]
            for source, place in zip(sources, free, strict=True):
                self._active[place] = self._active[source]
        # Rows without a job are computed along; at the first slot they read next to nothing.
        self._stepper.positions[count:] = 0
        del self._active[count:]


_Shape: TypeAlias = "tuple[int, int, bool]"
"""Rows, reach and whether rows share pages: a captured step serves all steps of its shape."""


class DecodeStepper:
    """Runs decode steps: reads the newest token of every row and samples the next one."""

    def __init__(self, runner: ModelRunner, cache: AnyCache, sampler: Sampler) -> None:
        """Allocate a batch's tensors.

        They are updated in place: a captured graph reads and writes fixed addresses.

        Args:
            runner: The model.
            cache: Its rows.
            sampler: Chooses the next tokens.
        """
        self._runner = runner
        self._cache = cache
        self._sampler = sampler
        device = runner.device
        self.tokens = torch.zeros(cache.rows, dtype=torch.long, device=device)
        self.positions = torch.zeros(cache.rows, dtype=torch.long, device=device)
        self.seeds = torch.zeros(cache.rows, dtype=torch.long, device=device)
        self._captures = runner.can_capture
        self._seen: set[_Shape] = set()
        self._graphs: dict[_Shape, tuple[Any, torch.Tensor]] = {}
        self._pool: Any = None

    def step(self, count: int, reach: int) -> torch.Tensor:
        """Advance the first rows by one token.

        Args:
            count: How many rows.
            reach: The largest of their positions plus one.

        Returns:
            The new tokens, `NO_TOKEN` where there is none; valid until the next step.
        """
        if not self._captures:
            return self._advance(count, reach)[:count]
        # Rows without a job are computed along: nobody reads their slots.
        rows = min(self._cache.rows, -(-count // _ROW_STRIDE) * _ROW_STRIDE)
        stride = self._cache.reach_stride
        reach = min(self._cache.length, -(-reach // stride) * stride)
        # Before anything is captured: it may copy tables to the device.
        self._cache.begin_decode(self.positions[:rows], reach)
        shape = (rows, reach, self._cache.has_groups)
        if shape in self._graphs:
            graph, new = self._graphs[shape]
            graph.replay()
            return new[:count]
        if shape in self._seen:
            captured = self._capture(shape)
            if captured is not None:
                return captured[:count]
        # The first time runs uncaptured: it warms up lazily built kernels, and many shapes never
        # come again.
        self._seen.add(shape)
        return self._advance(rows, reach)[:count]

    def step_drafts(
        self, positions: Sequence[int], drafts: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """Read the newest token of the first rows, each with a draft after it.

        Args:
            positions: Of the newest tokens.
            drafts: What may follow each.

        Returns:
            For each row, the tokens that the model chooses after its newest token and after each
            drafted one, `NO_TOKEN` where there is none.
        """
        count = len(drafts)
        reach = max(at + len(draft) for at, draft in zip(positions, drafts, strict=True)) + 1
        newest = self.tokens[:count].tolist()
        tokens = torch.tensor(
            [
                token
                for first, draft in zip(newest, drafts, strict=True)
                for token in (first, *draft)
            ]
        )
        places = torch.tensor(
            [
                place
                for at, draft in zip(positions, drafts, strict=True)
                for place in range(at, at + len(draft) + 1)
            ]
        )
        if len(tokens) == count:
            logits = self._runner.decode(self._cache, tokens, places, reach)
        else:
            owners = torch.tensor(
                [row for row, draft in enumerate(drafts) for _ in range(len(draft) + 1)]
            )
            assert isinstance(self._cache, SlotCache)
            logits = self._runner.decode_drafts(self._cache, tokens, places, owners, reach)
        chosen = iter(self._sampler.sample(logits, self.seeds[:0], places).tolist())
        return [[next(chosen) for _ in range(len(draft) + 1)] for draft in drafts]

    def _capture(self, shape: _Shape) -> torch.Tensor | None:
        graph: Any = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(self._runner.device)
        try:
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                new = self._advance(*shape[:2])
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            # Some models synchronise with the host in the middle of a step; they run uncaptured.
            self._captures = False
            torch.cuda.synchronize(self._runner.device)
            return None
        self._pool = graph.pool()
        self._graphs[shape] = (graph, new)
        graph.replay()
        return new

    def _advance(self, rows: int, reach: int) -> torch.Tensor:
        tokens, positions = self.tokens[:rows], self.positions[:rows]
        logits = self._runner.decode(self._cache, tokens, positions, reach)
        new = self._sampler.sample(logits, self.seeds[:rows], positions).to(tokens.device)
        # A row without a token runs on until the host sees it; the model must get a valid id.
        tokens.copy_(new.clamp(min=0))
        positions.add_(1).clamp_(max=self._cache.length - 1)
        return new
