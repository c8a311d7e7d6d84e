"""The plan of a run: the prompts of all cells and the requests that answer them.

On disk, so that memory does not grow with the number of documents.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from tenbin.files.disk_list import CHUNK, chunks, marks, scratch_database
from tenbin.pipeline.requests import (
    QUEUE_TABLES,
    RequestQueue,
    requests_of,
    unconditional_request,
    unpack_text,
)
from tenbin.records import Cell, Prompt, Request
from tenbin.records.quick import quick

_TABLES = (
    "CREATE TABLE prompts (id INTEGER PRIMARY KEY, cell INTEGER NOT NULL, document TEXT NOT NULL, "
    "request INTEGER NOT NULL, key TEXT NOT NULL, bare TEXT, further TEXT NOT NULL, "
    "rest BLOB NOT NULL)",
    # Which prompts a request answers. By number: keys are hashes, and each would be written to a
    # page of its own.
    "CREATE TABLE uses (request INTEGER, prompt INTEGER, PRIMARY KEY (request, prompt)) "
    "WITHOUT ROWID",
    "CREATE INDEX uses_by_prompt ON uses (prompt)",
)
_PROMPT_FIELDS = [one.name for one in fields(Prompt) if one.name not in ("cell", "text")]
_prompt_values = attrgetter(*_PROMPT_FIELDS)
_BEFORE_TEXT = [one.name for one in fields(Prompt)].index("text") - 1
"""Fields before `text`, without `cell`, which is the first."""


@quick
@dataclass(frozen=True, slots=True)
class Planned:
    """A prompt and the keys under which its answers will arrive."""

    number: int
    """Its place in the plan, from 0: samples are written in this order."""
    prompt: Prompt
    key: str
    unconditional_key: str | None = None
    """Of the same choices without the prompt, where a metric compares with that."""
    further_keys: tuple[str, ...] = ()
    """Of the second and later answers sampled to the prompt, or of its further contexts."""

    @property
    def keys(self) -> tuple[str, ...]:
        """All of them."""
        bare = (self.unconditional_key,) if self.unconditional_key is not None else ()
        return (self.key, *bare, *self.further_keys)


class Plan:
    """The prompts of all cells, each cell's in order, and the queue of requests they make."""

    def __init__(self, watch: Callable[[Sequence[str]], None] | None = None) -> None:
        """An empty plan.

        Args:
            watch: Called with the keys of requests when they have been planned.
        """
        self._watch = watch
        self._database = scratch_database(*QUEUE_TABLES, *_TABLES)
        self.queue = RequestQueue(self._database)
        self._cells: list[Cell] = []
        self._spans: dict[Cell, range] = {}
        self._count = 0
        self._held = bytearray()
        """A mark for each prompt that is held back; empty where none is."""

    def add(self, cell: Cell, prompts: Iterable[Prompt], unconditional: bool) -> None:
        """Plan all prompts of a cell.

        Args:
            cell: What they belong to.
            prompts: Taken one at a time.
            unconditional: Whether their choices are asked for without the prompt too.
        """
        assert cell not in self._spans, f"{cell.id} was planned already"
        start = self._count
        for chunk in chunks(prompts):
            self._write(len(self._cells), chunk, unconditional)
        self._cells.append(cell)
        self._spans[cell] = range(start, self._count)

    def _write(self, cell: int, prompts: Sequence[Prompt], unconditional: bool) -> None:
        asked: list[list[Request]] = []
        bares = [unconditional_request(prompt) if unconditional else None for prompt in prompts]
        for prompt, bare in zip(prompts, bares, strict=True):
            asked.append(requests_of(prompt) + ([] if bare is None else [bare]))
        numbers = self.queue.put(request for requests in asked for request in requests)
        rows: list[tuple[Any, ...]] = []
        uses: list[tuple[int, int]] = []
        planned = zip(prompts, asked, bares, strict=True)
        for id, (prompt, requests, bare) in enumerate(planned, self._count):
            keys = [request.key for request in requests]
            uses += [(numbers[key], id) for key in keys]
            bare_key = None if bare is None else keys.pop()
            first, *further = keys
            names = (numbers[first], first, bare_key, " ".join(further))
            rows.append((id, cell, prompt.document, *names, _pack(prompt)))
        write = self._database.executemany
        write("INSERT INTO prompts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        write("INSERT OR IGNORE INTO uses VALUES (?, ?)", uses)
        self._count += len(rows)
        if self._watch is not None:
            self._watch(list(numbers))

    def __len__(self) -> int:
        """How many prompts there are."""
        return self._count

    def hold_back(self) -> None:
        """Hold back all prompts: only those that are released are asked."""
        self.queue.hold_back()
        self._held = bytearray(b"\1") * self._count

    def release(self, numbers: Sequence[int]) -> None:
        """Let the prompts of these numbers be asked."""
        for chunk in chunks(numbers):
            self.queue.release(f"SELECT request FROM uses WHERE prompt IN ({marks(chunk)})", chunk)
            for number in chunk:
                self._held[number] = 0

    def holds(self, number: int) -> bool:
        """Whether the prompt of this number is held back."""
        return bool(self._held) and bool(self._held[number])

    @property
    def held(self) -> int:
        """How many prompts are held back."""
        return sum(self._held)

    @property
    def spans(self) -> Mapping[Cell, range]:
        """The numbers of each cell's prompts, which follow one another."""
        return self._spans

    def planned(self, cell: Cell) -> Iterator[list[Planned]]:
        """A cell's prompts in order, many at a time."""
        span = self._spans[cell]
        for start in range(span.start, span.stop, CHUNK):
            yield self.between(start, min(start + CHUNK, span.stop))

    def between(self, start: int, stop: int) -> list[Planned]:
        """The prompts from one number up to another."""
        chosen = "prompts.id >= ? AND prompts.id < ? ORDER BY prompts.id"
        return list(self._read(chosen, (start, stop)))

    def completed_by(self, keys: Sequence[str]) -> Iterator[Planned]:
        """Prompts that use some answers and wait for no other one.

        A prompt with several answers that were settled in different portions is given with each of
        them.

        Args:
            keys: Of requests that are settled, some hundreds at most.
        """
        return self._read(
            "prompts.id IN (SELECT prompt FROM uses JOIN requests ON requests.id = uses.request "
            f"WHERE requests.key IN ({marks(keys)})) AND NOT EXISTS (SELECT 1 FROM uses "
            "JOIN open ON open.id = uses.request WHERE uses.prompt = prompts.id)",
            keys,
        )

    def _read(self, condition: str, values: Sequence[Any] = ()) -> Iterator[Planned]:
        rows = self._database.execute(
            "SELECT prompts.id, cell, prompts.key, bare, further, prompts.rest, text "
            f"FROM prompts JOIN requests ON requests.id = prompts.request WHERE {condition}",
            values,
        )
        for number, cell, key, bare, further, rest, text in rows:
            prompt = _unpack(rest, self._cells[cell], unpack_text(text))
            yield Planned(number, prompt, key, bare, tuple(further.split()))

    def numbers_by_document(self, cell: Cell) -> Iterator[int]:
        """The numbers of a cell's prompts in the order of their documents' names."""
        return (number for (number,) in self._by_document(cell, "id"))

    def keys_by_document(self, cell: Cell) -> Iterator[tuple[int, str, str]]:
        """What a cell asks, as (prompt's number, document, key), sorted by document and key."""
        for number, document, key, further in self._by_document(cell, "id, document, key, further"):
            for one in sorted((key, *further.split())):
                yield number, document, one

    def _by_document(self, cell: Cell, columns: str) -> Iterator[Any]:
        span = self._spans[cell]
        return self._database.execute(
            f"SELECT {columns} FROM prompts WHERE id >= ? AND id < ? ORDER BY document, key",
            (span.start, span.stop),
        )


def _pack(prompt: Prompt) -> bytes:
    """Everything of a prompt but its cell and its text: the request's row has the text."""
    return pickle.dumps(_prompt_values(prompt), pickle.HIGHEST_PROTOCOL)


def _unpack(packed: bytes, cell: Cell, text: str) -> Prompt:
    values: tuple[Any, ...] = pickle.loads(packed)
    # By position: a mapping of 17 names would take half as long again.
    in_order = (cell, *values[:_BEFORE_TEXT], text, *values[_BEFORE_TEXT:])
    return Prompt(*in_order)
