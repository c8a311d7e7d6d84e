"""Which documents are shown as examples before a question.

tenbin samples by document: the examples depend on the seed, the task's family and the document's
id, and not on how many documents are scored, in what order, by how many workers or after how many
restarts. `ShufflingSampler` and `LmEvalSampler` reproduce programs that use one random generator
for all documents.
"""

from __future__ import annotations

import hashlib
import json
import random
from array import array
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, Protocol, TypeAlias

from tenbin.errors import ConfigError
from tenbin.prompts.example_pool import Pool, content_signature
from tenbin.records import Document, Task

SamplerKind: TypeAlias = Literal["document", "running", "lm-eval"]
"""Examples by each document's own seed, or by one generator as a published program uses it."""

# Examples sampled beyond those asked for, to replace one that is the document itself.
_SPARE = 4


class ExampleSampler(Protocol):
    """Orders the documents of a task and picks the examples of each."""

    def order(self, count: int) -> Sequence[int]:
        """The positions of so many documents in the order they are asked; a limit takes the first.

        To be called once, before examples are sampled.
        """
        ...

    def examples(self, document: Document) -> list[Document]:
        """The examples shown before this document."""
        ...


def _generator(*identity: object) -> random.Random:
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


@dataclass(slots=True)
class DocumentSampler:
    """tenbin's own sampler; with `fixed`, the same set for every document of a task."""

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
        sampled = self.pool.sample(self._seeded(document), self.shots, self.label, _SPARE)
        # Spares are read where they are needed alone.
        kept = list(islice(self._others(sampled, itself), self.shots))
        if len(kept) < self.shots:
            # Strata have no spares, and a set may repeat a row often: sample from all the others.
            without = self.pool.saying(itself)
            sampled = self.pool.sample(
                self._seeded(document), self.shots, self.label, without=without
            )
            kept = [self.pool.example(at).document for at in sampled]
        return kept

    def _others(self, positions: Sequence[int], signature: str) -> Iterator[Document]:
        examples = (self.pool.example(at) for at in positions)
        return (example.document for example in examples if example.signature != signature)

    def _seeded(self, document: Document) -> random.Random:
        if self.fixed:
            return _generator(self.seed, self.family, "fixed")
        return _generator(self.seed, self.family, document.id)


@dataclass(slots=True)
class ShufflingSampler:
    """One generator shuffles the documents and then samples for each in turn."""

    pool: Pool
    label: str | None
    shots: int
    seed: int
    shares_split: bool
    """Whether the pool holds the scored documents: one more is sampled, in the document's place."""
    _generator: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._generator = random.Random(self.seed)

    def order(self, count: int) -> Sequence[int]:
        """Shuffled."""
        shuffled = array("Q", range(count))
        self._generator.shuffle(shuffled)
        return shuffled

    def examples(self, document: Document) -> list[Document]:
        """The next examples of the generator, whichever document asks."""
        if self.shots == 0:
            return []
        wanted = self.shots + 1 if self.shares_split else self.shots
        sampled = self.pool.sample(self._generator, wanted, self.label)
        examples = [self.pool.example(at).document for at in sampled]
        if not self.shares_split:
            return examples
        return [example for example in examples if example.id != document.id][: self.shots]


@dataclass(slots=True)
class LmEvalSampler:
    """lm-eval 0.4.13: one generator samples for each document in turn, in the order of the file."""

    pool: Pool
    shots: int
    seed: int
    excludes_document: bool
    """Whether one more is sampled, and rows that equal the document are removed."""
    _generator: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._generator = random.Random(self.seed)

    def order(self, count: int) -> Sequence[int]:
        """As the file has them."""
        return range(count)

    def examples(self, document: Document) -> list[Document]:
        """The next examples of the generator, whichever document asks."""
        if self.shots == 0:
            return []
        everything = range(len(self.pool))
        if not self.excludes_document:
            sampled = self._generator.sample(everything, self.shots)
            return [self.pool.example(at).document for at in sampled]
        sampled = self._generator.sample(everything, self.shots + 1)
        kept = [
            one for at in sampled if not _equal(one := self.pool.example(at).document, document)
        ]
        if len(kept) < self.shots:
            # The pool repeats the row: sample again from all the others.
            others = [at for at in everything if not _equal(self.pool.documents[at], document)]
            _check_enough(len(others), self.shots, document)
            sampled = self._generator.sample(others, self.shots)
            kept = [self.pool.example(at).document for at in sampled]
        return kept[: self.shots]


@dataclass(slots=True)
class FirstSampler:
    """The first documents of the pool, the same for every document or for every label."""

    pool: Pool
    shots: int
    excludes_document: bool
    """Whether rows that equal the document are passed over."""
    label: str | None = None
    """Only rows that have the document's value of this field are shown."""

    def order(self, count: int) -> Sequence[int]:
        """As the file has them."""
        return range(count)

    def examples(self, document: Document) -> list[Document]:
        """The first examples that are not the document itself, where that matters."""
        positions: Sequence[int] = range(len(self.pool))
        if self.label is not None:
            value = document.fields.get(self.label)
            alike = self.pool.strata(self.label)
            positions = alike.get(value, ()) if isinstance(value, Hashable) else ()
        pool = (self.pool.example(at).document for at in positions)
        if self.excludes_document:
            pool = (one for one in pool if not _equal(one, document))
        found = list(islice(pool, self.shots))
        _check_enough(len(found), self.shots, document, self.label)
        return found


def _equal(one: Document, other: Document) -> bool:
    """Whether two rows say the same in every field, as lm-eval compares them."""
    return one.fields == other.fields


def _check_enough(found: int, shots: int, document: Document, label: str | None = None) -> None:
    if found < shots:
        alike = f" with its {label}" if label else ""
        raise ConfigError(
            f"{document.origin}: {shots} examples were asked for, {found} rows are others{alike}",
            "ask for fewer with --num_fewshot, or provide more rows",
        )


def open_sampler(
    task: Task,
    pool: Pool,
    shots: int,
    seed: int,
    mode: Literal["random", "fixed"],
    kind: SamplerKind,
) -> ExampleSampler:
    """The sampler that a task and the profile ask for.

    Raises:
        ConfigError: When the pool holds too few examples.
        DataError: When documents lack the field that strata are made of.
    """
    shares_split = task.fewshot.split == task.split
    excludes = shares_split
    if task.origin is not None:
        # lm-eval itself may show a document its own answer; only its profile follows it there.
        own = task.fewshot.excludes_document
        excludes = own if kind == "lm-eval" else own or shares_split
    available = max(len(pool) - (1 if excludes else 0), 0)
    if shots > available:
        where = f"split {task.fewshot.split!r}" if task.fewshot.split else "its file's own samples"
        raise ConfigError(
            f"{task.name}: {shots} examples were asked for, {where} can give {available}",
            "ask for fewer with --num_fewshot, or provide more rows",
        )
    if task.fewshot.sampler == "first_n":
        return FirstSampler(pool, shots, excludes, task.fewshot.label)
    label = task.fewshot.label if task.fewshot.sampler == "stratified" else None
    if label is not None:
        pool.strata(label)  # read now, so that a fault shows before the first prompt
    if kind == "lm-eval" and label is None:
        return LmEvalSampler(pool, shots, seed, excludes)
    if kind == "running":
        return ShufflingSampler(pool, label, shots, seed, shares_split)
    return DocumentSampler(pool, label, shots, seed, task.family, mode == "fixed")
