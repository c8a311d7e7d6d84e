"""One forward pass, and the log-probabilities asked of it.

Knows tensors and the one model it was given; knows no request, no text and no batching. Logits
are made where something is scored, and never more of them at a time than a fixed number: the
head is given its positions in slices.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from tenbin.backends.finite import broken_model
from tenbin.backends.hf.model.logprobs import TokenValues, body_once, weigh
from tenbin.backends.hf.model.memory import (
    input_device,
    is_out_of_memory,
    logit_budget,
    release_memory,
    send,
)
from tenbin.backends.hf.model.rope import LengthClasses
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import (
    AnyWork,
    Desk,
    GroupScore,
    Pending,
    Target,
    run_works,
)

Place = tuple[int, int]
"""Row and column of a batch."""


@dataclass(frozen=True, slots=True)
class Head:
    """How a model's head can be asked."""

    keeps: bool
    """Whether logits can be had at chosen positions only."""
    slices: bool
    """Whether it can be asked again without the layers below."""


class Forward:
    """A causal model that scores tokens."""

    def __init__(self, model: Any, head: Head | None = None) -> None:
        """Look at the model once.

        Args:
            model: A transformers causal language model in eval mode.
            head: How its head can be asked; None to find out.
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
        """Rows of logits that are held at a time."""
        self.head = head or self._look_at_head()
        self.keeps = self.head.keeps

    def is_too_wide(self, rows: int, longest: int) -> bool:
        """Whether a batch gives more logits than memory should be asked for."""
        return not self.keeps and rows * longest > self.positions

    @property
    def takes_positions(self) -> bool:
        """Whether the model can be told the position of every token."""
        return "position_ids" in self.names

    def length_class(self, length: int) -> int:
        """Rows of different classes must not share a batch."""
        return self._classes.of(length)

    def classes(self, inputs: Sequence[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
        """Inputs that may share a batch: some rotary embeddings look at the longest row."""
        found: dict[int, list[tuple[int, ...]]] = {}
        for ids in inputs:
            found.setdefault(self.length_class(len(ids)), []).append(ids)
        return list(found.values())

    def run_groups(
        self,
        groups: Sequence[Sequence[Row]],
        plan: Callable[[Sequence[tuple[int, ...]]], Iterable[AnyWork]],
        launch: Callable[[AnyWork, Sequence[Target]], Pending | None],
        shrink: Callable[[AnyWork], None],
        known: Collection[int] = (),
    ) -> Iterator[tuple[int, GroupScore]]:
        """Score groups of rows by works of a core's own making.

        Args:
            groups: The rows of each request.
            plan: Cuts inputs into works under the core's budget.
            launch: Starts a work; None when memory did not suffice.
            shrink: Lowers the budget below a work that was too large.
            known: Groups that need no score; see `ScoringCore`.

        Yields:
            Position of a group and its scores, as soon as its last row is done.
        """
        desk = Desk(groups, known)
        for kind in self.classes(desk.inputs):
            yield from run_works(desk, kind, plan, launch, shrink, self.device.type == "cuda")

    @torch.inference_mode()
    def guarded(
        self, compute: Callable[[], torch.Tensor], answers: Sequence[tuple[int, ...]]
    ) -> TokenValues | None:
        """Start a computation of token values; None when the device's memory did not suffice."""
        try:
            return TokenValues(compute(), answers)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        # Outside the except block: the traceback holds the batch's tensors.
        release_memory(self.device)
        return None

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
        found = self.guarded(lambda: self._values(rows, targets), answers)
        return None if found is None else found.scores()

    def _values(self, rows: Sequence[Sequence[int]], targets: Sequence[Target]) -> torch.Tensor:
        """Log-probability and greediness of each target token."""
        places = [
            (target.row, target.start + step)
            for target in targets
            for step in range(len(target.answer))
        ]
        tokens = [token for target in targets for token in target.answer]
        return self.values({"input_ids": self.padded(rows)}, places, tokens)[0]

    def padded(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Rows side by side: right padding is never looked at from the left."""
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
        """Run the model, and weigh tokens at places of the batch.

        Args:
            inputs: What the model is given, `input_ids` among it.
            places: Row and column where each token is predicted.
            tokens: The tokens.
            repeats: Whether the model may be run again with the same inputs.

        Returns:
            Log-probability and greediness of each token, and the model's output.
        """
        rows = inputs["input_ids"].shape[0]
        kept = sorted({column for _, column in places}) or [inputs["input_ids"].shape[1] - 1]
        step = max(1, self.positions // rows)
        if len(kept) <= step or not (self.head.slices or (repeats and self.keeps)):
            return self._slice(inputs, kept, places, tokens)
        found, order = [], []
        with body_once(self.model) if self.head.slices else nullcontext():
            for at in range(0, len(kept), step):
                part = kept[at : at + step]
                here = [n for n, (_, column) in enumerate(places) if part[0] <= column <= part[-1]]
                order += here
                values, output = self._slice(
                    inputs, part, [places[n] for n in here], [tokens[n] for n in here]
                )
                found.append(values)
        back = sorted(range(len(order)), key=order.__getitem__)
        return torch.cat(found)[send(back, found[0].device)], output

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
        return weigh(logits.flatten(0, 1), where, tokens), output

    def _probe(self, kept: Sequence[int] | None) -> torch.Tensor:
        ids = send([1, 2, 3], self.device)[None] % self.vocabulary
        options: dict[str, Any] = {"use_cache": False} if "use_cache" in self.names else {}
        if kept is not None:
            options["logits_to_keep"] = send(list(kept), self.device)
        logits: torch.Tensor = self.model(input_ids=ids, **options).logits
        return logits.float()

    @torch.inference_mode()
    def _look_at_head(self) -> Head:
        """Ask it: some models take a count instead of an index as `logits_to_keep`."""
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
                # Says nothing of the head, and nothing larger would fit either.
                raise
            return Head(False, False)

    def _can_slice(self, whole: torch.Tensor) -> bool:
        """Whether the head can be asked again without its body: adapters wrap both in one."""
        body = getattr(self.model, self.model.base_model_prefix, None)
        if body is None or body is self.model:
            return False
        try:
            with body_once(self.model):
                first, second = self._probe([0, 2]), self._probe([1])
        except (TypeError, ValueError, IndexError, RuntimeError):
            return False
        return _close(whole[:, [0, 2]], first) and _close(whole[:, [1]], second)


def _seen(logits: torch.Tensor) -> str:
    return ", ".join(sorted({str(value) for value in logits.logsumexp(-1).flatten().tolist()}))


def _close(first: torch.Tensor, second: torch.Tensor) -> bool:
    return first.shape == second.shape and torch.allclose(first, second, atol=0.1, rtol=0.05)
