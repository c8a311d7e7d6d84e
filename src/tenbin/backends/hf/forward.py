"""One forward pass over right-padded rows, and the log-probabilities asked of it.

Knows tensors and the one model it was given; knows no request, no text and no batching.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tenbin.backends.hf.memory import (
    input_device,
    is_out_of_memory,
    logit_budget,
    release_memory,
)
from tenbin.backends.hf.rope import LengthClasses

_HEAD_ROWS = 1 << 26
"""Logits turned into float32 at a time."""


@dataclass(frozen=True, slots=True)
class Target:
    """An answer to score in a batch."""

    row: int
    start: int
    """Position in the row whose logits predict the answer's first token."""
    answer: tuple[int, ...]


class Forward:
    """A causal model that scores padded rows."""

    def __init__(self, model: Any) -> None:
        """Look at the model once.

        Args:
            model: A transformers causal language model in eval mode.
        """
        self.model = model
        self.device = input_device(model)
        config = model.config.get_text_config()
        self.vocabulary: int = config.vocab_size
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        self._names = frozenset(inspect.signature(base.forward).parameters)
        self._classes = LengthClasses(config)
        self._keeps = "logits_to_keep" in self._names and self._can_keep()
        self._positions = max(1, logit_budget(self.device) // self.vocabulary)

    def is_too_wide(self, rows: int, longest: int, first: int) -> bool:
        """Whether a batch meets the head at more positions than memory should be asked for.

        Args:
            rows: Rows of the batch.
            longest: Tokens of its longest row.
            first: The earliest position that is scored in any row.
        """
        wide = longest - first if self._keeps else longest
        return bool(rows * wide > self._positions)

    def length_class(self, length: int) -> int:
        """Rows of different classes must not share a batch."""
        return self._classes.of(length)

    @torch.inference_mode()
    def score(
        self, rows: Sequence[Sequence[int]], targets: Sequence[Target]
    ) -> list[tuple[float, bool]] | None:
        """Log-likelihood of each target, and whether greedy decoding would give it.

        Args:
            rows: Inputs, right padded here.
            targets: What is scored in them.

        Returns:
            One entry a target; None when the device's memory did not suffice.
        """
        try:
            values = self._values(rows, targets)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            values = None
        if values is None:
            # Outside the except block: the traceback holds the batch's tensors.
            release_memory(self.device)
            return None
        return _summed(values, targets)

    def _values(self, rows: Sequence[Sequence[int]], targets: Sequence[Target]) -> list[Any]:
        """Log-probability and greediness of each target token; one copy to the host."""
        places = [
            (target.row, target.start + step, token)
            for target in targets
            for step, token in enumerate(target.answer)
        ]
        kept = sorted({place for _, place, _ in places})
        column = {place: number for number, place in enumerate(kept)}
        logits = self._logits(rows, kept)
        where = torch.tensor([(row, column[place]) for row, place, _ in places]).to(logits.device)
        wanted = torch.tensor([token for _, _, token in places]).to(logits.device)
        step = max(1, _HEAD_ROWS // self.vocabulary)
        found = []
        for at in range(0, len(places), step):
            part, token = where[at : at + step], wanted[at : at + step, None]
            head = logits[part[:, 0], part[:, 1]].float()
            value = head.gather(1, token)[:, 0] - head.logsumexp(-1)
            found.append(torch.stack((value, (head.argmax(-1) == token[:, 0]).float())))
        return torch.cat(found, dim=1).T.tolist()

    def _logits(self, rows: Sequence[Sequence[int]], kept: Sequence[int]) -> torch.Tensor:
        longest = max(len(row) for row in rows)
        # Right padding is never looked at from the left, so that no mask is needed.
        padded = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        index = torch.tensor(list(kept))
        options = self._options()
        if self._keeps:
            options["logits_to_keep"] = index.to(self.device)
        output = self.model(input_ids=padded.to(self.device), **options)
        logits: torch.Tensor = output.logits
        return logits if self._keeps else logits[:, index.to(logits.device)]

    def _options(self) -> dict[str, Any]:
        return {"use_cache": False} if "use_cache" in self._names else {}

    @torch.inference_mode()
    def _can_keep(self) -> bool:
        """Whether `logits_to_keep` takes an index: some models take a count only."""
        ids = torch.tensor([[1, 2, 3]]).to(self.device) % self.vocabulary
        index = torch.tensor([0, 2]).to(self.device)
        try:
            whole = self.model(input_ids=ids, **self._options()).logits
            part = self.model(input_ids=ids, logits_to_keep=index, **self._options()).logits
        except (TypeError, ValueError, IndexError, RuntimeError):
            return False
        if part.shape[:2] != (1, 2):
            return False
        return bool(torch.allclose(whole[:, [0, 2]].float(), part.float(), atol=0.1, rtol=0.05))


def _summed(
    values: Sequence[tuple[float, float]], targets: Sequence[Target]
) -> list[tuple[float, bool]]:
    scores, at = [], 0
    for target in targets:
        part = values[at : at + len(target.answer)]
        at += len(target.answer)
        scores.append((math.fsum(value for value, _ in part), all(same for _, same in part)))
    return scores
