"""Reads prompts into a slot cache before they are decoded, each but for its last token.

Two ways with one outcome. Rows side by side, padded to the longest of a few: any model that a
slot cache suits. Or packs of a prefix tree, as in scoring, without padding and with everything that
is shared read once a pack: where the tree's kernel runs. Knows prompts and rows; knows no answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

from tenbin.backends.hf.generation.kv_cache import Prefix, SlotCache
from tenbin.backends.hf.generation.model_runner import Reader
from tenbin.backends.hf.generation.shared_prefixes import Family, Ids, portions
from tenbin.backends.hf.model.compilation import Compiling
from tenbin.backends.hf.model.prefix_tree import make_packs


class Filling(Protocol):
    """Fills rows of a cache with prompts."""

    def read(self, jobs: Sequence[tuple[Family, int]], start: int) -> None:
        """Read prompts but for their last tokens into consecutive rows.

        Args:
            jobs: Numbers of prompts with their families, relatives together.
            start: The first row.
        """
        ...


class PaddedFilling:
    """Prompts side by side; beginnings that many share are read first and laid into each row."""

    def __init__(
        self, reader: Reader, cache: SlotCache, prompts: Sequence[Ids], budget: int, spare: int
    ) -> None:
        """Prepare to read.

        Args:
            reader: The model.
            cache: Its rows.
            prompts: Token ids of every prompt.
            budget: Padded tokens that are read at a time.
            spare: Padding that costs as much as another forward.
        """
        self._reader = reader
        self._cache = cache
        self._prompts = prompts
        self._budget = budget
        self._spare = spare
        self._held: list[tuple[Ids, Prefix]] = []

    def read(self, jobs: Sequence[tuple[Family, int]], start: int) -> None:
        """Read prompts family by family."""
        for _, group in groupby(jobs, key=lambda item: id(item[0])):
            relatives = list(group)
            self._read_family(relatives[0][0], [job for _, job in relatives], start)
            start += len(relatives)

    def _read_family(self, family: Family, jobs: Sequence[int], start: int) -> None:
        prefix = family.prefix
        if prefix:
            self._hold(family, start)
            self._cache.lay(self._held[-1][1], start, start + len(jobs))
        rests = [self._prompts[job][len(prefix) : -1] for job in jobs]
        at = 0
        for count in portions([len(rest) for rest in rests], self._budget, self._spare):
            self._reader.fill(self._cache, rests[at : at + count], start + at, len(prefix))
            at += count

    def _hold(self, family: Family, row: int) -> None:
        """Have a family's beginning at hand; a row that is free is used to read it.

        Beginnings that it continues are read first and kept, since its relatives follow.
        """
        line = [relative.prefix for relative in family.line()]
        while self._held and self._held[-1][0] not in line:
            self._held.pop()
        for prefix in line[len(self._held) :]:
            past = 0
            if self._held:
                past = len(self._held[-1][0])
                self._cache.lay(self._held[-1][1], row, row + 1)
            self._reader.fill(self._cache, [prefix[past:]], row, past)
            self._held.append((prefix, self._cache.lift(row, len(prefix))))


class PackedFilling:
    """Prompts as packs of a prefix tree; what a pack computes is copied to all who share it."""

    def __init__(
        self,
        reader: Reader,
        cache: SlotCache,
        prompts: Sequence[Ids],
        budget: int,
        compiling: Compiling | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            reader: The model.
            cache: Its rows.
            prompts: Token ids of every prompt.
            budget: Tokens a pack.
            compiling: When to compile the model's layers; None for never.
        """
        self._reader = reader
        self._cache = cache
        self._prompts = prompts
        self._budget = budget
        self._compiling = compiling or Compiling("never")
        self._tokens = sum(len(prompt) for prompt in prompts)

    def read(self, jobs: Sequence[tuple[Family, int]], start: int) -> None:
        """Read prompts pack by pack."""
        rows: dict[Ids, list[int]] = {}
        for row, (_, job) in enumerate(jobs, start):
            if len(self._prompts[job]) > 1:
                rows.setdefault(self._prompts[job][:-1], []).append(row)
        with self._compiling.layers_of(self._reader.model, self._tokens):
            for pack in make_packs(list(rows), self._budget):
                self._reader.fill_pack(self._cache, pack, [rows[ids] for ids in pack.sequences])
