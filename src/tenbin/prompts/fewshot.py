"""Which documents are shown as examples before a question.

tenbin's own draw belongs to the document: it depends on the seed, the task's family and the
document's id, and so not on how many documents are scored, in what order, by how many workers or
after how many restarts. `Running` reproduces programs that draw from one generator as they go.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tenbin.errors import ConfigError, DataError
from tenbin.records import Document, Task

# Examples drawn beyond those asked for, to replace one that is the document itself.
_SPARE = 4
_ID_FIELDS = frozenset({"id", "q_id", "idx", "sentence_pair_id", "review_id"})


class Draw(Protocol):
    """Orders the documents of a task and picks the examples of each."""

    def order(self, documents: Sequence[Document]) -> list[Document]:
        """The documents in the order they are asked; a limit takes the first ones."""
        ...

    def examples(self, document: Document) -> list[Document]:
        """The examples shown before this document."""
        ...


@dataclass(slots=True)
class Pool:
    """Where examples are drawn from."""

    documents: Sequence[Document]
    label: str | None = None
    """The field to stratify by; None for plain sampling."""
    _strata: dict[object, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.label is not None:
            for position, document in enumerate(self.documents):
                if self.label not in document.fields:
                    raise DataError(
                        f"{document.origin}: no field {self.label!r} to stratify examples by",
                        f"fields: {', '.join(document.fields)}",
                    )
                self._strata.setdefault(document.fields[self.label], []).append(position)

    def sample(self, generator: random.Random, shots: int, spare: int = 0) -> list[Document]:
        """Draw `shots` examples; up to `spare` more may follow them."""
        if self.label is not None:
            return self._sample_stratified(generator, shots)
        count = min(len(self.documents), shots + spare)
        return generator.sample(self.documents, count)

    def _sample_stratified(self, generator: random.Random, shots: int) -> list[Document]:
        total = len(self.documents)
        counts = {label: int(len(at) / total * shots) for label, at in self._strata.items()}
        while sum(counts.values()) < shots:
            counts[min(counts, key=lambda label: counts[label])] += 1
        chosen: list[Document] = []
        for label, positions in self._strata.items():
            if counts[label] > len(positions):
                raise ConfigError(
                    f"{counts[label]} examples of label {label!r} are needed, "
                    f"the data has {len(positions)}",
                    "ask for fewer shots with --num_fewshot",
                )
            chosen += [self.documents[at] for at in generator.sample(positions, counts[label])]
        generator.shuffle(chosen)
        return chosen

    def without(self, signature: str) -> Pool:
        """The same pool without the documents that say the same as the given one."""
        kept = [document for document in self.documents if content_signature(document) != signature]
        return Pool(kept, self.label)


def content_signature(document: Document) -> str:
    """What a document says, whatever its id: equal for a row that stands in two splits."""
    content = {k: v for k, v in document.fields.items() if k not in _ID_FIELDS}
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _generator(*identity: object) -> random.Random:
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


@dataclass(slots=True)
class PerDocument:
    """tenbin's own draw; with `fixed`, the same set for every document of a task."""

    pool: Pool
    shots: int
    seed: int
    family: str
    fixed: bool

    def order(self, documents: Sequence[Document]) -> list[Document]:
        """As the file has them."""
        return list(documents)

    def examples(self, document: Document) -> list[Document]:
        """Examples that depend on this document alone, and are never this document."""
        if self.shots == 0:
            return []
        itself = content_signature(document)
        drawn = self.pool.sample(self._seeded(document), self.shots, _SPARE)
        kept = [example for example in drawn if content_signature(example) != itself]
        if len(kept) < self.shots:
            # Strata have no spares, and a set may repeat a row often: draw from all the others.
            kept = self.pool.without(itself).sample(self._seeded(document), self.shots)
        return kept[: self.shots]

    def _seeded(self, document: Document) -> random.Random:
        if self.fixed:
            return _generator(self.seed, self.family, "fixed")
        return _generator(self.seed, self.family, document.id)


@dataclass(slots=True)
class Running:
    """One generator shuffles the documents and then draws for each in turn."""

    pool: Pool
    shots: int
    seed: int
    shares_split: bool
    """Whether the pool holds the scored documents: one more is drawn, in the document's place."""
    _generator: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._generator = random.Random(self.seed)

    def order(self, documents: Sequence[Document]) -> list[Document]:
        """Shuffled; must be called once, before the first draw."""
        shuffled = list(documents)
        self._generator.shuffle(shuffled)
        return shuffled

    def examples(self, document: Document) -> list[Document]:
        """The next draw, whichever document asks."""
        if self.shots == 0:
            return []
        if not self.shares_split:
            return self.pool.sample(self._generator, self.shots)
        drawn = self.pool.sample(self._generator, self.shots + 1)
        return [example for example in drawn if example.id != document.id][: self.shots]


def open_draw(
    task: Task,
    pool: Sequence[Document],
    shots: int,
    seed: int,
    mode: Literal["random", "fixed"],
    running: bool,
) -> Draw:
    """The draw a task asks for.

    Raises:
        ConfigError: When the pool holds too few examples.
    """
    shares_split = task.fewshot.split == task.split
    available = max(len(pool) - (1 if shares_split else 0), 0)
    if shots > available:
        raise ConfigError(
            f"{task.name}: {shots} examples were asked for, split {task.fewshot.split!r} "
            f"can give {available}",
            "ask for fewer with --num_fewshot, or provide more rows",
        )
    strata = task.fewshot.label if task.fewshot.sampler == "stratified" else None
    prepared = Pool(pool, strata)
    if running:
        return Running(prepared, shots, seed, shares_split)
    return PerDocument(prepared, shots, seed, task.family, mode == "fixed")
