"""Prefill: computes the keys and values of prompts, each but for its last token, in a slot cache.

There are two ways with the same outcome. Padded rows work for any model that works with a slot
cache. Packs of a prefix tree, as in scoring, have no padding and compute everything shared once per
pack; they are used where the tree's kernel runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from tenbin.backends.hf.generation.kv_cache import PrefixStates, SlotCache
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.generation.shared_prefixes import PrefixGroup, padded_batches
from tenbin.backends.hf.model.compilation import Compilation
from tenbin.backends.hf.model.prefix_tree import Ids, distinct_tokens, make_packs

if TYPE_CHECKING:
    from tenbin.backends.hf.generation.paged_cache import PagedCache


class Prefill(Protocol):
    """Fills rows of a KV cache with prompts."""

    def run(self, jobs: Sequence[tuple[PrefixGroup, int]], start: int) -> None:
        """Prefill prompts but for their last tokens into consecutive rows.

        Args:
            jobs: Numbers of prompts with their prefix groups, members of a group together.
            start: The first row.
        """
        ...


class PaddedPrefill:
    """Prompts side by side; a shared prefix is computed once and copied into each row."""

    def __init__(
        self, runner: ModelRunner, cache: SlotCache, prompts: Sequence[Ids], budget: int, spare: int
    ) -> None:
        """Prepare to prefill.

        Args:
            runner: The model.
            cache: Its rows.
            prompts: Token ids of every prompt.
            budget: Padded tokens per forward pass.
            spare: Padding that costs as much as another forward pass.
        """
        self._runner = runner
        self._cache = cache
        self._prompts = prompts
        self._budget = budget
        self._spare = spare
        self._prefixes: list[tuple[Ids, PrefixStates]] = []
        """Shared prefixes at hand, each the continuation of the one before."""

    def run(self, jobs: Sequence[tuple[PrefixGroup, int]], start: int) -> None:
        """Prefill prompts group by group."""
        for _, items in groupby(jobs, key=lambda item: id(item[0])):
            members = list(items)
            self._run_group(members[0][0], [job for _, job in members], start)
            start += len(members)

    def _run_group(self, group: PrefixGroup, jobs: Sequence[int], start: int) -> None:
        prefix = group.prefix
        if prefix:
            self._compute_prefix(group, start)
            self._cache.write_prefix(self._prefixes[-1][1], start, start + len(jobs))
        rests = [self._prompts[job][len(prefix) : -1] for job in jobs]
        at = 0
        for count in padded_batches([len(rest) for rest in rests], self._budget, self._spare):
            self._runner.prefill(self._cache, rests[at : at + count], start + at, len(prefix))
            at += count

    def _compute_prefix(self, group: PrefixGroup, row: int) -> None:
        """Make a group's prefix the last of those at hand; `row` is free and serves to compute it.

        Prefixes that it continues are computed first and kept, since other groups that continue
        them follow.
        """
        ancestry = [item.prefix for item in group.ancestry()]
        while self._prefixes and self._prefixes[-1][0] not in ancestry:
            self._prefixes.pop()
        for prefix in ancestry[len(self._prefixes) :]:
            past = 0
            if self._prefixes:
                past = len(self._prefixes[-1][0])
                self._cache.write_prefix(self._prefixes[-1][1], row, row + 1)
            self._runner.prefill(self._cache, [prefix[past:]], row, past)
            self._prefixes.append((prefix, self._cache.read_prefix(row, len(prefix))))


class PackedPrefill:
    """Prompts as packs of a prefix tree; a pack is copied to all rows that share it."""

    def __init__(
        self,
        runner: ModelRunner,
        cache: SlotCache | PagedCache,
        prompts: Sequence[Ids],
        budget: int,
        compilation: Compilation | None = None,
    ) -> None:
        """Prepare to prefill.

        Args:
            runner: The model.
            cache: Its rows.
            prompts: Token ids of every prompt.
            budget: Tokens per pack.
            compilation: When to compile the model's layers; None for never.
        """
        self._runner = runner
        self._cache = cache
        self._prompts = prompts
        self._budget = budget
        self._compilation = compilation or Compilation("never")
        possible = self._compilation.is_possible(runner.model)
        self._tokens = distinct_tokens(prompts) if possible else 0

    def run(self, jobs: Sequence[tuple[PrefixGroup, int]], start: int) -> None:
        """Prefill prompts pack by pack."""
        self._cache.begin_write()
        rows: dict[Ids, list[int]] = {}
        for row, (_, job) in enumerate(jobs, start):
            if len(self._prompts[job]) > 1:
                rows.setdefault(self._prompts[job][:-1], []).append(row)
        with self._compilation.layers_of(self._runner.model, self._tokens):
            for pack in make_packs(list(rows), self._budget):
                self._runner.prefill_pack(self._cache, pack, [rows[ids] for ids in pack.sequences])
