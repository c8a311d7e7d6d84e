"""Runs a model's forward pass and returns log-probabilities of tokens.

Logits are computed only at positions where something is scored, and at most a fixed number of them
at a time: the head gets its positions in slices. A vocabulary of 150,000 tokens would otherwise
take more memory than the rest of the model's activations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from tenbin.backends.finite import broken_model
from tenbin.backends.hf.model.logprobs import (
    TokenLogprobs,
    hidden_states_once,
    slice_by_slice,
    token_logprobs,
)
from tenbin.backends.hf.model.memory import (
    input_device,
    is_out_of_memory,
    logit_budget,
    release_memory,
    send,
)
from tenbin.backends.hf.model.rope import LengthClasses
from tenbin.backends.text.score_collector import Target

Place = tuple[int, int]
"""Row and column of a batch."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a model's head can do."""

    keeps: bool
    """Whether logits can be computed at chosen positions only (`logits_to_keep` as an index)."""
    slices: bool
    """Whether it can run again without the layers below it."""


class Forward:
    """A causal language model that scores tokens."""

    def __init__(self, model: Any, head: Head | None = None) -> None:
        """Inspect the model once.

        Args:
            model: A transformers causal language model in eval mode.
            head: What its head can do; None to find out.
        """
        self.model = model
        self.device = input_device(model)
        config = model.config.get_text_config()
        self.vocabulary: int = config.vocab_size
        self.dtype: torch.dtype = model.get_input_embeddings().weight.dtype
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        self.names = frozenset(inspect.signature(base.forward).parameters)
        self._classes = LengthClasses(config)
        self.positions = max(1, logit_budget(self.device) // self.vocabulary)
        """Positions whose logits are held at a time."""
        self.head = head or self._inspect_head()
        self.keeps = self.head.keeps

    def is_too_wide(self, rows: int, longest: int) -> bool:
        """Whether a batch would give more logits than are held at a time."""
        return not self.keeps and rows * longest > self.positions

    @property
    def takes_positions(self) -> bool:
        """Whether the model accepts the position of every token."""
        return "position_ids" in self.names

    def length_class(self, length: int) -> int:
        """Return the class of a row; rows of different classes must not share a batch."""
        return self._classes.of(length)

    def classes(self, inputs: Sequence[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
        """Group inputs that may share a batch: some rotary embeddings depend on the longest row."""
        found: dict[int, list[tuple[int, ...]]] = {}
        for ids in inputs:
            found.setdefault(self.length_class(len(ids)), []).append(ids)
        return list(found.values())

    @torch.inference_mode()
    def guarded(
        self, compute: Callable[[], torch.Tensor], answers: Sequence[tuple[int, ...]]
    ) -> TokenLogprobs | None:
        """Start a computation of token values; None if the device's memory did not suffice."""
        try:
            return TokenLogprobs(compute(), answers)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        # Outside the except block: the traceback keeps the batch's tensors alive.
        release_memory(self.device)
        return None

    def score_rows(
        self, rows: Sequence[Sequence[int]], targets: Sequence[Target]
    ) -> TokenLogprobs | None:
        """Score targets in rows that are right padded here; None if memory did not suffice."""
        answers = [target.answer for target in targets]
        return self.guarded(lambda: self._values(rows, targets), answers)

    def _values(self, rows: Sequence[Sequence[int]], targets: Sequence[Target]) -> torch.Tensor:
        places = [
            (target.row, target.start + step)
            for target in targets
            for step in range(len(target.answer))
        ]
        tokens = [token for target in targets for token in target.answer]
        return self.values({"input_ids": self.padded(rows)}, places, tokens)[0]

    def padded(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Right pad rows: no token of a causal model attends to what stands to its right."""
        longest = max(len(row) for row in rows)
        flat = [token for row in rows for token in (*row, *[0] * (longest - len(row)))]
        return send(flat, self.device).view(len(rows), longest)

    def values(
        self,
        inputs: Mapping[str, Any],
        places: Sequence[Place],
        tokens: Sequence[int],
        repeats: bool = True,
    ) -> tuple[torch.Tensor, Any]:
        """Run the model and return the log-probabilities of tokens at places of the batch.

        Args:
            inputs: The model's inputs, `input_ids` among them.
            places: Row and column where each token is predicted.
            tokens: The tokens.
            repeats: Whether the model may run again with the same inputs.

        Returns:
            Log-probability of each token and whether it is the greedy one; and the model's output.
        """
        rows = inputs["input_ids"].shape[0]
        kept = sorted({column for _, column in places}) or [inputs["input_ids"].shape[1] - 1]
        step = max(1, self.positions // rows)
        if len(kept) <= step or not (self.head.slices or (repeats and self.keeps)):
            return self._slice(inputs, kept, places, tokens)
        output: Any = None

        def values_of(part: Sequence[int], here: list[int]) -> torch.Tensor:
            nonlocal output
            values, output = self._slice(
                inputs, part, [places[n] for n in here], [tokens[n] for n in here]
            )
            return values

        with hidden_states_once(self.model) if self.head.slices else nullcontext():
            columns = [column for _, column in places]
            found = slice_by_slice(kept, columns, step, values_of)
        return found, output

    def _slice(
        self,
        inputs: Mapping[str, Any],
        kept: Sequence[int],
        places: Sequence[Place],
        tokens: Sequence[int],
    ) -> tuple[torch.Tensor, Any]:
        index = send(list(kept), self.device)
        options = {"use_cache": False} if "use_cache" in self.names else {}
        output = self.model(
            **{**options, **inputs}, **({"logits_to_keep": index} if self.keeps else {})
        )
        logits = output.logits if self.keeps else output.logits[:, index.to(output.logits.device)]
        column = {place: number for number, place in enumerate(kept)}
        where = [row * len(kept) + column[place] for row, place in places]
        return token_logprobs(logits.flatten(0, 1), where, tokens), output

    def _probe(self, kept: Sequence[int] | None) -> torch.Tensor:
        ids = send([1, 2, 3], self.device)[None] % self.vocabulary
        options: dict[str, Any] = {"use_cache": False} if "use_cache" in self.names else {}
        if kept is not None:
            options["logits_to_keep"] = send(list(kept), self.device)
        logits: torch.Tensor = self.model(input_ids=ids, **options).logits
        return logits.float()

    @torch.inference_mode()
    def _inspect_head(self) -> Head:
        """Try it out: some models take a count instead of an index as `logits_to_keep`."""
        if "logits_to_keep" not in self.names:
            return Head(False, False)
        try:
            whole = self._probe(None)
            if not bool(whole.logsumexp(-1).isfinite().all()):
                raise broken_model(f"its logits for three tokens sum to {_seen(whole)}")
            if self._can_slice(whole):
                return Head(True, True)
            return Head(_close(whole[:, [0, 2]], self._probe([0, 2])), False)
        except (TypeError, ValueError, IndexError, RuntimeError) as error:
            if is_out_of_memory(error):
                # Says nothing about the head, and nothing larger would fit either.
                raise
            return Head(False, False)

    def _can_slice(self, whole: torch.Tensor) -> bool:
        """Whether the head can run without its body; adapters wrap both in one module."""
        body = getattr(self.model, self.model.base_model_prefix, None)
        if body is None or body is self.model:
            return False
        try:
            with hidden_states_once(self.model):
                first, second = self._probe([0, 2]), self._probe([1])
        except (TypeError, ValueError, IndexError, RuntimeError):
            return False
        return _close(whole[:, [0, 2]], first) and _close(whole[:, [1]], second)


def _seen(logits: torch.Tensor) -> str:
    return ", ".join(sorted({str(value) for value in logits.logsumexp(-1).flatten().tolist()}))


def _close(first: torch.Tensor, second: torch.Tensor) -> bool:
    return first.shape == second.shape and torch.allclose(first, second, atol=0.1, rtol=0.05)
