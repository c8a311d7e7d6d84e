"""Log-probabilities of tokens from logits, and their way from the device to the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from tenbin.backends.finite import summed
from tenbin.backends.hf.model.memory import send

_HEAD_ROWS = 1 << 26
"""Logits converted to float32 at a time."""


class TokenLogprobs:
    """Log-probabilities of answers' tokens, on their way to the host."""

    def __init__(self, values: torch.Tensor, answers: Sequence[tuple[int, ...]]) -> None:
        """Start the one copy of a batch; the device continues meanwhile.

        Args:
            values: Log-probability and greediness of each token.
            answers: The answers that the tokens belong to, in order.
        """
        self._answers = answers
        self._values = values
        self._event: Any = None
        if values.is_cuda:
            self._values = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
            self._values.copy_(values, non_blocking=True)
            made: Any = torch.cuda.Event
            self._event = made()
            self._event.record(torch.cuda.current_stream(values.device))

    def scores(self) -> list[tuple[float, bool]]:
        """Return the log-likelihood of each answer, and whether greedy decoding would give it."""
        if self._event is not None:
            self._event.synchronize()
        values = self._values.tolist()
        scores, at = [], 0
        for answer in self._answers:
            part = values[at : at + len(answer)]
            at += len(answer)
            scores.append((summed(value for value, _ in part), all(same for _, same in part)))
        return scores


def token_logprobs(
    logits: torch.Tensor, where: Sequence[int], tokens: Sequence[int]
) -> torch.Tensor:
    """Return the log-probability of tokens, and whether each is the greedy one.

    Args:
        logits: One row per position.
        where: The row that predicts each token.
        tokens: The tokens.

    Returns:
        Two float32 numbers per token, on the logits' device; NaN if the logits have no softmax.
    """
    if not tokens:
        return logits.new_empty((0, 2), dtype=torch.float32)
    rows = sorted(set(where))
    number = {row: at for at, row in enumerate(rows)}
    used = send(rows, logits.device)
    index = send([number[row] for row in where], logits.device)
    wanted = send(list(tokens), logits.device)
    step = max(1, _HEAD_ROWS // logits.shape[-1])
    # Each row of logits is normalised once, however many answers begin there. In float32: a sum
    # over a whole vocabulary loses too much in float16 or bfloat16.
    norms, best = [], []
    for at in range(0, len(rows), step):
        head = logits[used[at : at + step]].float()
        norms.append(head.logsumexp(-1))
        best.append(head.argmax(-1))
    norm = torch.cat(norms)[index]
    value = logits[used[index], wanted].float() - norm
    # Minus an infinite norm every token would seem to be excluded, which is valid for a few.
    value = value.masked_fill(~norm.isfinite(), torch.nan)
    greedy = torch.cat(best)[index] == wanted
    return torch.stack((value, greedy.float()), dim=1)


def slice_by_slice(
    kept: Sequence[int],
    places: Sequence[int],
    most: int,
    values_of: Callable[[Sequence[int], list[int]], torch.Tensor],
) -> torch.Tensor:
    """Compute values of tokens at a few places at a time, and return them in the tokens' order.

    Args:
        kept: The places, each once, in order.
        places: The place of each token.
        most: Places at a time.
        values_of: Given places and the numbers of the tokens there, returns a row for each token.
    """
    found: list[torch.Tensor] = []
    order: list[int] = []
    for start in range(0, len(kept), most):
        part = kept[start : start + most]
        here = [n for n, place in enumerate(places) if part[0] <= place <= part[-1]]
        found.append(values_of(part, here))
        order += here
    back = sorted(range(len(order)), key=order.__getitem__)
    return torch.cat(found)[send(back, found[0].device)]


@contextmanager
def hidden_states_once(model: Any) -> Iterator[None]:
    """Run the layers below the head once, however often the model is called inside."""
    body = getattr(model, model.base_model_prefix)
    is_own, original = "forward" in vars(body), body.forward
    found: list[Any] = []

    def remembered(*arguments: Any, **options: Any) -> Any:
        if not found:
            found.append(original(*arguments, **options))
        return found[0]

    body.forward = remembered
    try:
        yield
    finally:
        # Offloading puts a forward of its own there, which must come back.
        if is_own:
            body.forward = original
        else:
            del body.forward
