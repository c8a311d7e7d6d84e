"""Packs samples into compressed blocks, with an index per cell to list and filter without them.

A block is a zlib stream of JSON, small enough to be inflated when somebody scrolls to it. The index
of a cell has one entry per document: its id, its state under each metric, and the start of question
and answer.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from tenbin.report.html.model import CellSamples, PageSample, sample_json
from tenbin.report.html.sample import Explain, page_sample, snippet, state_of
from tenbin.results.schema import CellConfig, MetricDetail, RunResult, Sample

_SAMPLES_PER_BLOCK = 400
_CHARACTERS_PER_BLOCK = 600_000
_ANSWER = 48
_FIRST, _HEAD = 40, 2_000
"""Questions, and characters of each, from which the common start of all questions is found."""


class Blocks:
    """Compressed values by number."""

    def __init__(self) -> None:
        self._streams: list[bytes] = []

    def add(self, value: Any) -> int:
        """Compress a value and return its number."""
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        self._streams.append(zlib.compress(written.encode("utf-8", "surrogatepass"), 6))
        return len(self._streams) - 1

    def __len__(self) -> int:
        return len(self._streams)

    def __getitem__(self, number: int) -> bytes:
        return self._streams[number]

    @property
    def size(self) -> int:
        """Total size of the compressed values in bytes."""
        return sum(map(len, self._streams))


@dataclass(slots=True)
class _CellPacker:
    """Packs the documents of one cell into blocks and index columns."""

    config: CellConfig
    details: Mapping[str, MetricDetail]
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
    """The common start of the first questions; None until enough have been seen."""

    def add(self, sample: Sample) -> None:
        shown = page_sample(sample, self.config, self.explain)
        self._index(sample, shown)
        self.waiting.append(sample_json(shown))
        if self.shared is None and len(self.first) == _FIRST:
            self._find_shared()
        texts = (sample.prompt, sample.thinking, sample.generated)
        self.characters += sum(len(text or "") for text in texts)
        if len(self.waiting) >= _SAMPLES_PER_BLOCK or self.characters >= _CHARACTERS_PER_BLOCK:
            self._flush()

    def _index(self, sample: Sample, shown: PageSample) -> None:
        question = shown.parts[-1][1] if shown.parts else ""
        line = {
            "document": sample.document,
            "question": self._own_words(question),
            "answer": snippet(_answer(sample), _ANSWER) or None,
            "target": snippet(sample.target, _ANSWER),
            "item": sample.item,
        }
        for name, value in line.items():
            self.columns.setdefault(name, []).append(value)
        found = {outcome.metric: outcome.value for outcome in sample.outcomes}
        for metric, detail in self.details.items():
            self.states.setdefault(metric, []).append(state_of(found.get(metric), detail))
        self.scored_tokens += sum(sample.token_counts or ())
        self.generated_tokens += sample.generated_tokens or 0
        if sample.choices:
            self.chances += 1 / len(sample.choices)
            self.offered += 1

    def _own_words(self, question: str) -> str:
        """Return the start of a question without the start that all questions of the cell share."""
        if self.shared is None:
            self.first.append(question[:_HEAD])
            return ""  # filled in once the shared start is known
        own = question[len(self.shared) :] if question.startswith(self.shared) else question
        return snippet(own)

    def _find_shared(self) -> None:
        # The common prefix of the smallest and the largest is common to all.
        low, high = min(self.first, default=""), max(self.first, default="")
        same = takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False))
        shared = "".join(one for one, _ in same) if len(self.first) > 1 else ""
        # Cut back to the last break, so that no word is split.
        self.shared = shared[: max(map(shared.rfind, "\n :：、。,")) + 1] if shared else ""
        self.columns["question"] = [self._own_words(question) for question in self.first]

    def _flush(self) -> None:
        if self.waiting:
            self.written.append((self.blocks.add(self.waiting), len(self.waiting)))
        self.waiting, self.characters = [], 0

    def finish(self) -> CellSamples:
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
        return CellSamples(
            count,
            self.blocks.add({**columns, "states": states}),
            self.written,
            self.scored_tokens,
            self.generated_tokens,
            self.chances / self.offered if self.offered == count and count else None,
        )


def pack_samples(
    result: RunResult,
    samples: Iterable[Sample],
    blocks: Blocks,
    explain: Explain | None = None,
) -> dict[str, CellSamples]:
    """Put every document of a run into blocks.

    Args:
        result: The run's result.
        samples: Its samples, in any order.
        blocks: Where they go.
        explain: Explains how generated answers were read.

    Returns:
        Cell id → where its samples are.
    """
    packers: dict[str, _CellPacker] = {}
    for sample in samples:
        id = sample.id
        if id not in packers:
            packers[id] = _CellPacker(result.configs[id], result.details[id], blocks, explain)
        packers[id].add(sample)
    return {id: packer.finish() for id, packer in packers.items()}


def _answer(sample: Sample) -> str | None:
    """Return the extracted answer; of a rolling log-likelihood, its value."""
    if sample.logprobs and not sample.choices:
        return f"{sample.logprobs[0]:.2f}"
    return sample.outcomes[0].answer if sample.outcomes else None
