"""What a result counts of a cell beside its scores: failures, windows, lengths, ways of choosing.

Counted a document at a time, so that no documents need to be held. Knows prompts and answers.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tenbin.records import Outcome, Picked, Prompt, Response, Scores, Text
from tenbin.results.lengths import Lengths
from tenbin.results.rows import failure_of


@dataclass(slots=True)
class Tally:
    """The counts of one cell."""

    documents: int = 0
    shortened: int = 0
    """Documents that lost examples, because the window is too short."""
    dropped_examples: int = 0
    truncated: int = 0
    """Documents that were cut from the left."""
    failures: Counter[str] = field(default_factory=Counter)
    """Documents by what failed them."""
    lengths: Lengths = field(default_factory=Lengths)
    weighed: int = 0
    """Documents whose choices were weighed."""
    named: Counter[str] = field(default_factory=Counter)
    """Documents whose choice was named, by how."""
    _shares: array[float] = field(default_factory=lambda: array("d"))

    def add(
        self,
        prompt: Prompt,
        drawn: Sequence[Response],
        bare: Response | None,
        outcomes: Sequence[Outcome] = (),
    ) -> None:
        """One more document.

        Args:
            prompt: As it was put.
            drawn: All answers to it.
            bare: The answer without the prompt, where one was asked for.
            outcomes: What the metrics say of it.
        """
        self.documents += 1
        self.shortened += prompt.dropped_examples > 0
        self.dropped_examples += prompt.dropped_examples
        self.truncated += any(isinstance(a, Scores | Text) and a.truncated > 0 for a in drawn)
        failed = failure_of((*drawn, bare), outcomes)
        if failed is not None:
            self.failures[f"{failed.kind}: {failed.message}"] += 1
        for answer in drawn:
            self.lengths.add(answer)
        first = drawn[0]
        self.weighed += isinstance(first, Scores)
        if isinstance(first, Picked):
            self.named[first.way] += 1
            if first.logprobs:
                shown = (value for value in first.logprobs if value is not None)
                self._shares.append(math.fsum(map(math.exp, shown)))

    @property
    def letter_share(self) -> float | None:
        """How much of the first token the labels hold on average; None where nothing showed it."""
        return math.fsum(self._shares) / len(self._shares) if self._shares else None
