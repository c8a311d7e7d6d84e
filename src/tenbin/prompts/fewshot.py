"""Which documents are shown as examples before a question.

tenbin's own draw belongs to the document: it depends on the seed, the task's family and the
document's id, and so not on how many documents are scored, in what order, by how many workers or
after how many restarts. `Running` reproduces programs that draw from one generator as they go.
"""

from __future__ import annotations

import hashlib
import json
import random
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, Protocol

from tenbin.errors import ConfigError
from tenbin.prompts.example_pool import Pool, content_signature
from tenbin.records import Document, Task

# Examples drawn beyond those asked for, to replace one that is the document itself.
_SPARE = 4


class Draw(Protocol):
    """Orders the documents of a task and picks the examples of each."""

    def order(self, count: int) -> Sequence[int]:
        """The positions of so many documents in the order they are asked; a limit takes the first.

        To be called once, before the first draw.
        """
        ...

    def examples(self, document: Document) -> list[Document]:
        """The examples shown before this document."""
        ...


def _generator(*identity: object) -> random.Random:
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


@dataclass(slots=True)
class PerDocument:
    """tenbin's own draw; with `fixed`, the same set for every document of a task."""

    pool: Pool
    label: str | None
    """The field to stratify by; None for plain sampling."""
    shots: int
    seed: int
    family: str
    fixed: bool

    def order(self, count: int) -> Sequence[int]:
        """As the file has them."""
        return range(count)

    def examples(self, document: Document) -> list[Document]:
        """Examples that depend on this document alone, and are never this document."""
        if self.shots == 0:
            return []
        itself = content_signature(document)
        drawn = self.pool.sample(self._seeded(document), self.shots, self.label, _SPARE)
        # Spares are read where they are needed alone.
        kept = list(islice(self._others(drawn, itself), self.shots))
        if len(kept) < self.shots:
            # Strata have no spares, and a set may repeat a row often: draw from all the others.
            without = self.pool.saying(itself)
            drawn = self.pool.sample(
                self._seeded(document), self.shots, self.label, without=without
            )
            kept = [self.pool.example(at).document for at in drawn]
        return kept

    def _others(self, positions: Sequence[int], signature: str) -> Iterator[Document]:
        examples = (self.pool.example(at) for at in positions)
        return (example.document for example in examples if example.signature != signature)

    def _seeded(self, document: Document) -> random.Random:
        if self.fixed:
            return _generator(self.seed, self.family, "fixed")
        return _generator(self.seed, self.family, document.id)


@dataclass(slots=True)
class Running:
    """One generator shuffles the documents and then draws for each in turn."""

    pool: Pool
    label: str | None
    shots: int
    seed: int
    shares_split: bool
    """Whether the pool holds the scored documents: one more is drawn, in the document's place."""
    _generator: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._generator = random.Random(self.seed)

    def order(self, count: int) -> Sequence[int]:
        """Shuffled."""
        shuffled = array("Q", range(count))
        self._generator.shuffle(shuffled)
        return shuffled

    def examples(self, document: Document) -> list[Document]:
        """The next draw, whichever document asks."""
        if self.shots == 0:
            return []
        wanted = self.shots + 1 if self.shares_split else self.shots
        drawn = self.pool.sample(self._generator, wanted, self.label)
        examples = [self.pool.example(at).document for at in drawn]
        if not self.shares_split:
            return examples
        return [example for example in examples if example.id != document.id][: self.shots]


def open_draw(
    task: Task,
    pool: Pool,
    shots: int,
    seed: int,
    mode: Literal["random", "fixed"],
    running: bool,
) -> Draw:
    """The draw a task asks for.

    Raises:
        ConfigError: When the pool holds too few examples.
        DataError: When documents lack the field that strata are made of.
    """
    shares_split = task.fewshot.split == task.split
    available = max(len(pool) - (1 if shares_split else 0), 0)
    if shots > available:
        raise ConfigError(
            f"{task.name}: {shots} examples were asked for, split {task.fewshot.split!r} "
            f"can give {available}",
            "ask for fewer with --num_fewshot, or provide more rows",
        )
    label = task.fewshot.label if task.fewshot.sampler == "stratified" else None
    if label is not None:
        pool.strata(label)  # read now, so that a fault shows before the first prompt
    if running:
        return Running(pool, label, shots, seed, shares_split)
    return PerDocument(pool, label, shots, seed, task.family, mode == "fixed")
