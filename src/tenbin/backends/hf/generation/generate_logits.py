"""Logits of transformers' generate, for single prompts and for batches, and when the two agree."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from tenbin.backends.checkpoint.quiet import quiet_libraries
from tenbin.backends.hf.model.memory import input_device

Batches = Literal["padded", "equal", "single"]
"""Which prompts generate may take together: of any length, of one length, or none."""

_LENGTHS = (5, 8)
"""Tokens of the prompts that are generated together: three of padding before the first."""
_STEPS = 3
"""The first step's logits come from the prompts, those of the others from the cache: some models
are right in one and wrong in the other."""


@torch.inference_mode()
def generated(
    model: Any,
    prompts: Sequence[Sequence[int]],
    steps: int,
    answers: Sequence[Sequence[int]] | None = None,
) -> tuple[list[list[int]], torch.Tensor]:
    """Return the tokens and logits that follow prompts in one batch, left padded.

    Args:
        model: A transformers causal language model in eval mode.
        prompts: Token ids.
        steps: How many tokens follow.
        answers: What follows each prompt, whatever the logits are; None: the likeliest tokens.

    Returns:
        Tokens of each prompt, and logits on the host: prompts × steps × vocabulary.
    """
    device = input_device(model)
    longest = max(map(len, prompts))
    gaps = [longest - len(ids) for ids in prompts]
    ids = [[0] * gap + list(row) for gap, row in zip(gaps, prompts, strict=True)]
    mask = [[0] * gap + [1] * (longest - gap) for gap in gaps]
    settings = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=steps,
        do_sample=False,
        num_beams=1,
        eos_token_id=None,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_logits=True,
    )
    forced = LogitsProcessorList([] if answers is None else [_Answers(answers, longest)])
    with default_generation_config(model):
        output = model.generate(
            input_ids=torch.tensor(ids).to(device),
            attention_mask=torch.tensor(mask).to(device),
            generation_config=settings,
            logits_processor=forced,
        )
    logits = torch.stack([step.float().cpu() for step in output.logits], dim=1)
    return output.sequences[:, longest:].tolist(), logits


class _Answers(LogitsProcessor):
    """Excludes all tokens but the next one of each answer."""

    def __init__(self, answers: Sequence[Sequence[int]], longest: int) -> None:
        self._answers = torch.tensor([list(ids) for ids in answers])
        self._longest = longest

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        token = self._answers[:, input_ids.shape[1] - self._longest].to(scores.device)
        return torch.full_like(scores, -torch.inf).scatter_(1, token[:, None], 0.0)


def agree(wanted: torch.Tensor, found: torch.Tensor, precise: bool) -> bool:
    """Whether logits agree within a tolerance that distinguishes one prompt's from another's.

    Args:
        wanted: Logits, the first dimension that of prompts.
        found: Logits of the same shape.
        precise: Whether they were computed in float32.
    """
    allowed = float(wanted.std()) * (1e-3 if precise else 0.08)
    # NaN compares as False, which refuses the model.
    others = wanted.roll(1, 0)
    return _distances(wanted, found)[-1] <= allowed < _distances(wanted, others)[0]


def _distances(first: torch.Tensor, second: torch.Tensor) -> list[float]:
    """Return root mean squares over the vocabulary, the smallest first."""
    found: list[float] = (first - second).square().mean(-1).sqrt().flatten().sort()[0].tolist()
    return found


def batches_of(model: Any) -> Batches:
    """Return which prompts generate may take together, by trying it out.

    Recurrent and hybrid models carry padding in their state, and some forwards take no mask to
    correct it; such a model gets prompts of one length. Some mix up even these.
    """
    vocabulary = model.config.get_text_config().vocab_size
    generator = random.Random(5)
    prompts = [[generator.randrange(vocabulary) for _ in range(length)] for length in _LENGTHS]
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    names = inspect.signature(base.forward).parameters
    is_stateful = getattr(base, "_is_stateful", False)
    if "attention_mask" in names and not is_stateful and _is_right_together(model, prompts):
        return "padded"
    shortest = min(_LENGTHS)
    if _is_right_together(model, [ids[:shortest] for ids in prompts]):
        return "equal"
    return "single"


def _is_right_together(model: Any, prompts: Sequence[Sequence[int]]) -> bool:
    """Whether generate gives the logits of single prompts when it takes them together."""
    try:
        with quiet_libraries():
            alone = [generated(model, [ids], _STEPS) for ids in prompts]
            answers = [tokens[0] for tokens, _ in alone]
            found = generated(model, prompts, _STEPS, answers)[1]
    except Exception:
        # Whatever a model's forward rejects: its prompts are generated one by one.
        return False
    wanted = torch.cat([logits for _, logits in alone])
    return agree(wanted, found, model.dtype == torch.float32)


@contextmanager
def default_generation_config(model: Any) -> Iterator[None]:
    """Hide the checkpoint's generation settings, which generate would mix into ours."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    original = base.generation_config
    blank: Any = GenerationConfig()  # type: ignore[no-untyped-call]
    base.generation_config = blank
    try:
        yield
    finally:
        base.generation_config = original
