"""Samples → compressed blocks, and for every cell an index that lists and filters without them.

A block is a zlib stream of JSON, small enough to be inflated when somebody scrolls to it. The index
of a cell holds a line for each document: its id, its state under each metric, the beginnings of
question and answer. Knows stored rows; does not know where blocks are kept.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from tenbin.report.html.sample import Explain, page_sample, snippet, state_of

_SAMPLES_A_BLOCK = 400
_CHARACTERS_A_BLOCK = 600_000
_ANSWER = 48
_FIRST, _HEAD = 40, 2_000
"""Questions, and characters of each, that show what a template puts before every question."""


class Blocks:
    """Compressed values, each known by its number."""

    def __init__(self) -> None:
        self._streams: list[bytes] = []

    def add(self, value: Any) -> int:
        """Compress a value and give its number."""
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        self._streams.append(zlib.compress(written.encode("utf-8", "surrogatepass"), 6))
        return len(self._streams) - 1

    def __len__(self) -> int:
        return len(self._streams)

    def __getitem__(self, number: int) -> bytes:
        return self._streams[number]

    @property
    def size(self) -> int:
        """Compressed bytes in all."""
        return sum(map(len, self._streams))


@dataclass(slots=True)
class _CellPacker:
    """Gathers one cell's documents into blocks and index columns."""

    config: Mapping[str, Any]
    details: Mapping[str, Mapping[str, Any]]
    blocks: Blocks
    explain: Explain | None
    waiting: list[dict[str, Any]] = field(default_factory=list)
    characters: int = 0
    written: list[tuple[int, int]] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    states: dict[str, list[str]] = field(default_factory=dict)
    scored_tokens: int = 0
    generated_tokens: int = 0
    chances: float = 0.0
    offered: int = 0
    first: list[str] = field(default_factory=list)
    shared: str | None = None
    """What the first questions all begin with; None until so many have been seen."""

    def add(self, row: Mapping[str, Any]) -> None:
        sample = page_sample(row, self.config, self.explain)
        self._note(row, sample)
        self.waiting.append(sample)
        if self.shared is None and len(self.first) == _FIRST:
            self._find_shared()
        self.characters += sum(
            len(row.get(name) or "") for name in ("prompt", "thinking", "generated")
        )
        if len(self.waiting) >= _SAMPLES_A_BLOCK or self.characters >= _CHARACTERS_A_BLOCK:
            self._flush()

    def _note(self, row: Mapping[str, Any], sample: Mapping[str, Any]) -> None:
        outcomes = row.get("outcomes") or []
        first = outcomes[0] if outcomes else {}
        question = sample["parts"][-1][1] if sample.get("parts") else ""
        line = {
            "document": row["document"],
            "question": self._own_words(question),
            "answer": snippet(_answer(row, first), _ANSWER) or None,
            "target": snippet(row.get("target"), _ANSWER),
            "item": row.get("item"),
        }
        for name, value in line.items():
            self.columns.setdefault(name, []).append(value)
        found = {outcome["metric"]: outcome["value"] for outcome in outcomes}
        for metric, detail in self.details.items():
            self.states.setdefault(metric, []).append(state_of(found.get(metric), detail))
        self.scored_tokens += sum(row.get("token_counts") or ())
        self.generated_tokens += row.get("generated_tokens") or 0
        if row.get("choices"):
            self.chances += 1 / len(row["choices"])
            self.offered += 1

    def _own_words(self, question: str) -> str:
        """The beginning of a question, less what the first questions of the cell all begin with."""
        if self.shared is None:
            self.first.append(question[:_HEAD])
            return ""  # filled in once the shared words are known
        own = question[len(self.shared) :] if question.startswith(self.shared) else question
        return snippet(own)

    def _find_shared(self) -> None:
        # What the first and the last in order of the alphabet share, all share.
        low, high = min(self.first, default=""), max(self.first, default="")
        same = takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False))
        shared = "".join(one for one, _ in same) if len(self.first) > 1 else ""
        # Whole words only: cut back to the last break.
        self.shared = shared[: max(map(shared.rfind, "\n :：、。,")) + 1] if shared else ""
        self.columns["question"] = [self._own_words(question) for question in self.first]

    def _flush(self) -> None:
        if self.waiting:
            self.written.append((self.blocks.add(self.waiting), len(self.waiting)))
        self.waiting, self.characters = [], 0

    def finish(self) -> dict[str, Any]:
        self._flush()
        if self.shared is None:
            self._find_shared()
        count = sum(number for _, number in self.written)
        columns = {
            name: values
            for name, values in self.columns.items()
            if any(value is not None for value in values)
        }
        states = {metric: "".join(letters) for metric, letters in self.states.items()}
        return {
            "count": count,
            "index": self.blocks.add({**columns, "states": states}),
            "blocks": self.written,
            "scored_tokens": self.scored_tokens,
            "generated_tokens": self.generated_tokens,
            "chance": self.chances / self.offered if self.offered == count and count else None,
        }


def pack_samples(
    document: Mapping[str, Any],
    samples: Iterable[Mapping[str, Any]],
    blocks: Blocks,
    explain: Explain | None = None,
) -> dict[str, dict[str, Any]]:
    """Put every document of a run into blocks.

    Args:
        document: The run's result document.
        samples: Its rows, in any order.
        blocks: Where they go.
        explain: Tells how a generated answer is read.

    Returns:
        Cell id → number of documents, its index's and its blocks' numbers, and sums over it.
    """
    packers: dict[str, _CellPacker] = {}
    for row in samples:
        id = row["id"]
        if id not in packers:
            config = document.get("configs", {}).get(id, {})
            details = document.get("details", {}).get(id, {})
            packers[id] = _CellPacker(config, details, blocks, explain)
        packers[id].add(row)
    return {id: packer.finish() for id, packer in packers.items()}


def _answer(row: Mapping[str, Any], outcome: Mapping[str, Any]) -> str | None:
    """What was read as the answer; of a text that was weighed whole, its log-likelihood."""
    if row.get("logprobs") and not row.get("choices"):
        return f"{row['logprobs'][0]:.2f}"
    return outcome.get("answer")
