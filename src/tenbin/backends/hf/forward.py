"""One forward pass over right-padded rows, and the log-probabilities asked of it.

Knows tensors and the one model it was given; knows no request, no text and no batching.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tenbin.backends.hf.desk import Target
from tenbin.backends.hf.memory import (
    input_device,
    is_out_of_memory,
    logit_budget,
    release_memory,
)
from tenbin.backends.hf.rope import LengthClasses

_HEAD_ROWS = 1 << 26
"""Logits turned into float32 at a time."""


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
        self.dtype: torch.dtype = model.get_input_embeddings().weight.dtype
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

    @property
    def keeps(self) -> bool:
        """Whether logits can be had at chosen positions only."""
        return self._keeps

    @property
    def takes_positions(self) -> bool:
        """Whether the model can be told the position of every token."""
        return "position_ids" in self._names

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
        answers = [target.answer for target in targets]
        return self._guarded(lambda: self._values(rows, targets), answers)

    @torch.inference_mode()
    def score_packed(
        self,
        ids: Sequence[int],
        positions: Sequence[int],
        places: Sequence[Sequence[int]],
        answers: Sequence[tuple[int, ...]],
    ) -> list[tuple[float, bool]] | None:
        """Log-likelihood of answers whose tokens are predicted at given places of one row.

        Args:
            ids: The row.
            positions: The position that each of its tokens has in its own sequence.
            places: For each answer, where its tokens are predicted.
            answers: The answers' tokens.

        Returns:
            One entry an answer; None when the device's memory did not suffice.
        """
        return self._guarded(lambda: self._packed(ids, positions, places, answers), answers)

    def _guarded(
        self, compute: Callable[[], list[Any]], answers: Sequence[tuple[int, ...]]
    ) -> list[tuple[float, bool]] | None:
        try:
            values = compute()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            values = None
        if values is None:
            # Outside the except block: the traceback holds the batch's tensors.
            release_memory(self.device)
            return None
        return _summed(values, answers)

    def _packed(
        self,
        ids: Sequence[int],
        positions: Sequence[int],
        places: Sequence[Sequence[int]],
        answers: Sequence[tuple[int, ...]],
    ) -> list[Any]:
        kept = sorted({place for group in places for place in group})
        column = {place: number for number, place in enumerate(kept)}
        where = [column[place] for group in places for place in group]
        options = {
            **self._options(),
            "position_ids": torch.tensor([positions]).to(self.device),
            "logits_to_keep": torch.tensor(kept).to(self.device),
        }
        output = self.model(input_ids=torch.tensor([ids]).to(self.device), **options)
        return self._token_values(output.logits[0], where, [t for a in answers for t in a])

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
        where = [row * len(kept) + column[place] for row, place, _ in places]
        return self._token_values(logits.flatten(0, 1), where, [token for *_, token in places])

    def _token_values(
        self, logits: torch.Tensor, where: Sequence[int], tokens: Sequence[int]
    ) -> list[Any]:
        """Log-probability and greediness of tokens at rows of logits; one copy to the host."""
        rows = sorted(set(where))
        number = {row: at for at, row in enumerate(rows)}
        used = torch.tensor(rows).to(logits.device)
        index = torch.tensor([number[row] for row in where]).to(logits.device)
        wanted = torch.tensor(tokens).to(logits.device)
        step = max(1, _HEAD_ROWS // self.vocabulary)
        # Each row of logits meets the softmax once, however many answers begin there.
        norms, best = [], []
        for at in range(0, len(used), step):
            head = logits[used[at : at + step]].float()
            norms.append(head.logsumexp(-1))
            best.append(head.argmax(-1))
        value = logits[used[index], wanted].float() - torch.cat(norms)[index]
        greedy = torch.cat(best)[index] == wanted
        return torch.stack((value, greedy.float()), dim=1).tolist()

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
    values: Sequence[tuple[float, float]], answers: Sequence[tuple[int, ...]]
) -> list[tuple[float, bool]]:
    scores, at = [], 0
    for answer in answers:
        part = values[at : at + len(answer)]
        at += len(answer)
        scores.append((math.fsum(value for value, _ in part), all(same for _, same in part)))
    return scores
