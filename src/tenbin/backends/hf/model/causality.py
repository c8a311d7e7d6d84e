"""Checks that a model is causal: that what follows a token does not reach the token's logits.

An encoder loads as a language model without an error. Its tokens look at those after them, at
padding and at the very tokens that are scored, so that its numbers depend on the batch and say
nothing.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from typing import Any

import torch

from tenbin.backends.hf.model.memory import input_device, is_out_of_memory
from tenbin.errors import BackendError

_KEPT, _CHANGED = 8, 4
"""Tokens of the row that is tried, and tokens after them that are exchanged."""


def require_causal(model: Any) -> None:
    """Check a model by one row whose last tokens are exchanged.

    Raises:
        BackendError: The logits of the tokens before them change.
    """
    vocabulary = model.config.get_text_config().vocab_size
    generator = random.Random(11)
    first, *others = (
        [generator.randrange(vocabulary) for _ in range(count)]
        for count in (_KEPT, _CHANGED, _CHANGED)
    )
    try:
        logits = [_logits(model, first + other) for other in others]
    except Exception as error:
        if is_out_of_memory(error):
            raise
        # Whatever this model objects to: its first request will say it.
        return
    allowed = float(logits[0].std()) * (1e-3 if model.dtype == torch.float32 else 0.08)
    # A comparison with NaN is False: that the numbers are finite is checked by themselves.
    if float((logits[0] - logits[1]).square().mean(-1).sqrt().max()) > allowed:
        raise BackendError(
            f"{type(model).__name__} is no causal language model: its log-probabilities of a token"
            " depend on the tokens after it; no document was asked",
            "evaluate a decoder: an encoder such as BERT gives no likelihood of a text",
        )


@torch.inference_mode()
def _logits(model: Any, ids: Sequence[int]) -> torch.Tensor:
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    names = inspect.signature(base.forward).parameters
    options = {"use_cache": False} if "use_cache" in names else {}
    found = model(input_ids=torch.tensor([ids]).to(input_device(model)), **options)
    logits: torch.Tensor = found.logits[0, :_KEPT].float()
    return logits
