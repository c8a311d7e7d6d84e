"""Where examples are drawn from, by position: a pool may be far larger than memory.

It reads the documents that are shown, keeps those shown last, and knows what it once found out by
reading all. Nothing here depends on the document that examples are drawn for.
"""

from __future__ import annotations

import hashlib
import json
import random
from array import array
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from tenbin.errors import ConfigError, DataError
from tenbin.records import Document

_ID_FIELDS = frozenset({"id", "q_id", "idx", "sentence_pair_id", "review_id"})
_SORTED = json.JSONEncoder(sort_keys=True, default=str).encode
_KEPT = 4096
"""Examples that stay in memory: reading one again takes as long as wording a short one."""

Strata = Mapping[object, "array[int]"]
"""Positions by label, labels in the order of their first document."""


@dataclass(frozen=True, slots=True)
class Example:
    """A document of the pool, and what it says whatever its id."""

    document: Document
    signature: str


class Pool:
    """The documents that examples are drawn from."""

    def __init__(self, documents: Sequence[Document]) -> None:
        """Read nothing yet."""
        self.documents = documents
        self.example = lru_cache(maxsize=_KEPT)(partial(_read, documents))
        """The example at a position."""
        self._strata: dict[str, Strata] = {}
        self._signatures: array[int] | None = None

    def __len__(self) -> int:
        return len(self.documents)

    def sample(
        self,
        generator: random.Random,
        shots: int,
        label: str | None = None,
        spare: int = 0,
        without: Sequence[int] = (),
    ) -> list[int]:
        """Sample the positions of examples.

        Args:
            generator: Draws.
            shots: How many.
            label: The field to stratify by; None for plain sampling.
            spare: Up to so many more may follow them, without strata.
            without: Positions that must not be drawn, in order; the others are drawn as if these
                were not there.
        """
        if label is not None:
            return _sample_stratified(_left(self.strata(label), without), generator, shots)
        left = len(self) - len(without)
        drawn = generator.sample(range(left), min(left, shots + spare))
        return [_behind(at, without) for at in drawn]

    def strata(self, label: str) -> Strata:
        """The positions of each label.

        Raises:
            DataError: A document has no such field.
        """
        if label not in self._strata:
            strata: dict[object, array[int]] = {}
            for position, document in enumerate(self.documents):
                if label not in document.fields:
                    raise DataError(
                        f"{document.origin}: no field {label!r} to stratify examples by",
                        f"fields: {', '.join(document.fields)}",
                    )
                value = document.fields[label]
                if not isinstance(value, Hashable) or value != value:
                    raise DataError(
                        f"{document.origin}: field {label!r} is no label to stratify examples by: "
                        f"{str(value)[:80]}",
                        "labels are texts or numbers",
                    )
                strata.setdefault(value, array("Q")).append(position)
            self._strata[label] = strata
        return self._strata[label]

    def saying(self, signature: str) -> list[int]:
        """The positions of the documents that say just this, in order."""
        if self._signatures is None:
            signatures = (content_signature(document) for document in self.documents)
            self._signatures = array("Q", map(_short, signatures))
        near = _places(self._signatures, _short(signature))
        return [at for at in near if self.example(at).signature == signature]


def content_signature(document: Document) -> str:
    """What a document says, whatever its id: equal for a row that stands in two splits."""
    content = {k: v for k, v in document.fields.items() if k not in _ID_FIELDS}
    return hashlib.sha256(_SORTED(content).encode()).hexdigest()


def _read(documents: Sequence[Document], at: int) -> Example:
    document = documents[at]
    return Example(document, content_signature(document))


def _short(signature: str) -> int:
    return int(signature[:16], 16)


def _places(values: array[int], wanted: int) -> Iterator[int]:
    at = -1
    for _ in range(values.count(wanted)):
        at = values.index(wanted, at + 1)
        yield at


def _behind(at: int, without: Sequence[int]) -> int:
    """The position of what is at `at` among those left."""
    for gone in without:
        if at < gone:
            break
        at += 1
    return at


def _left(strata: Strata, without: Sequence[int]) -> Strata:
    """Strata without some positions, in the order of the first documents that are left."""
    if not without:
        return strata
    gone = set(without)
    left = {
        label: array("Q", (at for at in positions if at not in gone))
        for label, positions in strata.items()
    }
    filled = [(label, positions) for label, positions in left.items() if positions]
    return dict(sorted(filled, key=lambda stratum: stratum[1][0]))


def _sample_stratified(strata: Strata, generator: random.Random, shots: int) -> list[int]:
    total = sum(map(len, strata.values()))
    counts = {label: int(len(at) / total * shots) for label, at in strata.items()}
    while counts and sum(counts.values()) < shots:
        counts[min(counts, key=lambda label: counts[label])] += 1
    chosen: list[int] = []
    for label, positions in strata.items():
        if counts[label] > len(positions):
            raise ConfigError(
                f"{counts[label]} examples of label {label!r} are needed, "
                f"the data has {len(positions)}",
                "ask for fewer shots with --num_fewshot",
            )
        drawn = generator.sample(range(len(positions)), counts[label])
        chosen += [positions[at] for at in drawn]
    generator.shuffle(chosen)
    return chosen
