"""Estimates what a run computes, in tokens: with every row alone, and with shared prefixes once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tenbin.records.tokenized import TokenizedPrompt

_WIDTH = 4
"""Bytes of a token in a packed row."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens to compute for the examined documents, and an estimate for all."""

    documents: int
    of: int
    """Documents in all."""
    rows: int
    tokens: int
    """Tokens with every row computed from its first token."""
    distinct: int
    """Tokens with every shared prefix counted once."""
    written: int
    """Tokens that generation adds at most."""

    def scaled(self, number: int) -> int:
        """An estimate for all documents, from those that were examined."""
        return round(number * self.of / self.documents) if self.documents else 0


def pack_rows(readings: Sequence[TokenizedPrompt]) -> list[bytes]:
    """The inputs of a model, packed: the last token of a scored row is never an input."""
    rows = []
    for reading in readings:
        if reading.failure is not None:
            continue
        if reading.windows:
            rows += [_pack(window[:-1]) for window in reading.windows]
        elif reading.answers:
            rows += [_pack((reading.context + answer)[:-1]) for answer in reading.answers]
        else:
            rows.append(_pack(reading.context))
    return rows


def measure_cost(
    readings: Sequence[TokenizedPrompt], rows: Sequence[bytes], documents: int, of: int
) -> Cost:
    """Count the tokens of one cell.

    Args:
        readings: What was looked at.
        rows: Its inputs, from `pack_rows`.
        documents: How many documents that is.
        of: How many documents the cell has in all.
    """
    written = sum(r.new_tokens * r.repeats for r in readings if r.failure is None)
    tokens = sum(len(row) for row in rows) // _WIDTH
    return Cost(documents, of, len(rows), tokens, count_distinct(rows), written)


def count_distinct(rows: Iterable[bytes]) -> int:
    """Distinct prefixes of all rows: the nodes of their prefix tree."""
    # Rows that share their first n tokens stand together in any order by bytes.
    ordered = sorted(rows)
    shared = sum(_common(first, second) for first, second in pairwise(ordered))
    return sum(len(row) for row in ordered) // _WIDTH - shared


def _common(first: bytes, second: bytes) -> int:
    """How many leading tokens two rows share."""
    low, high = 0, min(len(first), len(second)) // _WIDTH
    while low < high:
        # Slices compare at C speed, so halving beats walking.
        middle = (low + high + 1) // 2
        if first[low * _WIDTH : middle * _WIDTH] == second[low * _WIDTH : middle * _WIDTH]:
            low = middle
        else:
            high = middle - 1
    return low


def _pack(ids: Sequence[int]) -> bytes:
    return array("I", ids).tobytes()
