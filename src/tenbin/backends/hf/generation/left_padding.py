"""Whether a model can be given prompts of different lengths at once, padded on the left.

Knows a model's forward; decides by its signature and by asking it.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch

from tenbin.backends.hf.model.memory import input_device

_GAP = 3
_IDS = (5, 9, 7, 11, 6)


@torch.inference_mode()
def takes_left_padding(model: Any) -> bool:
    """Whether left padding leaves a row's answer unchanged.

    Recurrent and hybrid models carry the padding in their state, and some forwards have no mask
    or no positions to set it right; these get groups of equal length instead.
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    names = inspect.signature(base.forward).parameters
    if "attention_mask" not in names or getattr(base, "_is_stateful", False):
        return False
    vocabulary = model.config.get_text_config().vocab_size
    device = input_device(model)
    plain = [token % vocabulary for token in _IDS]
    mask = [0] * _GAP + [1] * len(plain)
    options: dict[str, Any] = {"attention_mask": torch.tensor([mask]).to(device)}
    if "position_ids" in names:
        positions = [0] * _GAP + list(range(len(plain)))
        options["position_ids"] = torch.tensor([positions]).to(device)
    try:
        alone = _last_logits(model, torch.tensor([plain]).to(device), {})
        padded = _last_logits(model, torch.tensor([[0] * _GAP + plain]).to(device), options)
    except (TypeError, ValueError, IndexError, RuntimeError):
        return False
    precise = alone.dtype == torch.float32
    allowed = (1e-3 if precise else 0.1) * float(alone.float().std())
    return float((alone.float() - padded.float()).abs().max()) <= allowed


def _last_logits(model: Any, ids: Any, options: dict[str, Any]) -> Any:
    return model(input_ids=ids, **options).logits[0, -1]
