"""Everything that a run will ask, and for whom: on disk, so that memory does not grow with it.

Two prompts that read the same are asked once, whatever cells they belong to. Knows prompts and
requests; knows no backend and no answer.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from tenbin.files.disk_list import CHUNK, chunks, marks, scratch_database
from tenbin.pipeline.requests import (
    QUEUE_TABLES,
    RequestQueue,
    requests_of,
    score_request,
    unpack_text,
)
from tenbin.records import Cell, Prompt, Request

_TABLES = (
    "CREATE TABLE prompts (id INTEGER PRIMARY KEY, cell INTEGER NOT NULL, document TEXT NOT NULL, "
    "key TEXT NOT NULL, bare TEXT, further TEXT NOT NULL, rest BLOB NOT NULL)",
    "CREATE TABLE waiting (key TEXT, prompt INTEGER, PRIMARY KEY (key, prompt)) WITHOUT ROWID",
    "CREATE INDEX waiting_prompts ON waiting (prompt)",
    "CREATE TABLE reached (prompt INTEGER PRIMARY KEY)",
)

_PROMPT_FIELDS = [one.name for one in fields(Prompt) if one.name not in ("cell", "text")]
_prompt_values = attrgetter(*_PROMPT_FIELDS)


@dataclass(frozen=True, slots=True)
class Planned:
    """A prompt and the keys under which its answers will arrive."""

    prompt: Prompt
    key: str
    unconditional_key: str | None = None
    """The same choices without the prompt, where a metric weighs against that."""
    further_keys: tuple[str, ...] = ()
    """Of the second and later answers drawn to the prompt."""

    @property
    def keys(self) -> tuple[str, ...]:
        """All of them."""
        bare = (self.unconditional_key,) if self.unconditional_key is not None else ()
        return (self.key, *bare, *self.further_keys)


class Plan:
    """The prompts of all cells, each cell's in order, and the queue of requests they make."""

    def __init__(self) -> None:
        """An empty plan."""
        self._database = scratch_database(*QUEUE_TABLES, *_TABLES)
        self.queue = RequestQueue(self._database)
        self._cells: list[Cell] = []
        self._spans: dict[Cell, range] = {}
        self._count = 0

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
        asked: list[Request] = []
        rows: list[tuple[Any, ...]] = []
        waiting: list[tuple[str, int]] = []
        for number, prompt in enumerate(prompts, start=self._count):
            requests = requests_of(prompt)
            key, *further = (request.key for request in requests)
            bare = None
            if unconditional and prompt.continuations is not None:
                requests.append(score_request("", prompt.continuations))
                bare = requests[-1].key
            waiting += [(request.key, number) for request in requests]
            asked += requests
            keys = (key, bare, " ".join(further))
            rows.append((number, cell, prompt.document, *keys, _pack(prompt)))
        self.queue.put(asked)
        write = self._database.executemany
        write("INSERT INTO prompts VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        write("INSERT OR IGNORE INTO waiting VALUES (?, ?)", waiting)
        self._count += len(rows)

    def __len__(self) -> int:
        """How many prompts there are."""
        return self._count

    @property
    def spans(self) -> Mapping[Cell, range]:
        """The numbers of each cell's prompts, which follow one another."""
        return self._spans

    def planned(self, cell: Cell) -> Iterator[list[Planned]]:
        """A cell's prompts in order, many at a time."""
        span = self._spans[cell]
        for start in range(span.start, span.stop, CHUNK):
            stop = min(start + CHUNK, span.stop)
            chosen = "prompts.id >= ? AND prompts.id < ? ORDER BY prompts.id"
            yield list(self._read(chosen, (start, stop)))

    def completed_by(self, keys: Sequence[str]) -> Iterator[Planned]:
        """Prompts that have all their answers now that these have come; each is given once.

        Args:
            keys: Of new answers, some hundreds at most. Must be walked through before the next.
        """
        arrived = f"FROM waiting WHERE key IN ({marks(keys)})"
        self._database.execute("DELETE FROM reached")
        self._database.execute(f"INSERT OR IGNORE INTO reached SELECT prompt {arrived}", keys)
        self._database.execute(f"DELETE {arrived}", keys)
        return self._read(
            "prompts.id IN (SELECT prompt FROM reached WHERE NOT EXISTS "
            "(SELECT 1 FROM waiting WHERE waiting.prompt = reached.prompt))"
        )

    def _read(self, condition: str, values: Sequence[Any] = ()) -> Iterator[Planned]:
        rows = self._database.execute(
            "SELECT cell, prompts.key, bare, further, prompts.rest, text "
            f"FROM prompts JOIN requests ON requests.key = prompts.key WHERE {condition}",
            values,
        )
        for cell, key, bare, further, rest, text in rows:
            prompt = _unpack(rest, self._cells[cell], unpack_text(text))
            yield Planned(prompt, key, bare, tuple(further.split()))

    def numbers_by_document(self, cell: Cell) -> Iterator[int]:
        """The numbers of a cell's prompts in the order of their documents' names."""
        return (number for (number,) in self._by_document(cell, "id"))

    def keys_by_document(self, cell: Cell) -> Iterator[tuple[str, str]]:
        """What a cell asks, as pairs of a document and a key, in the order of such pairs."""
        for document, key, further in self._by_document(cell, "document, key, further"):
            for one in sorted((key, *further.split())):
                yield document, one

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
    rest = dict(zip(_PROMPT_FIELDS, pickle.loads(packed), strict=True))
    return Prompt(cell=cell, text=text, **rest)
