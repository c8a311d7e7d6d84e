"""Whether rows of a slot cache give what transformers' generate gives for single prompts.

Asks the model itself: prompts of different lengths, two of them with a shared beginning, one of
one token and, where it can be had, one longer than the model's window are decoded side by side,
and a row changes its place on the way. Never decides by a model's name.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch
from transformers import GenerationConfig

from tenbin.backends.checkpoint.quiet import quiet_libraries
from tenbin.backends.finite import NotFiniteError, broken_model
from tenbin.backends.hf.generation.kv_cache import SlotCache
from tenbin.backends.hf.generation.model_runner import Reader
from tenbin.backends.hf.generation.prefill import Filling, PackedFilling, PaddedFilling
from tenbin.backends.hf.generation.shared_prefixes import Family
from tenbin.backends.hf.generation.transformers_generate import OwnSettingsOnly
from tenbin.backends.hf.model.compilation import Compiling
from tenbin.backends.hf.model.memory import input_device, is_out_of_memory

_STEPS = 3
_SHARED = 9
_LENGTHS = (13, 1, 22)
_WINDOW = {"cuda": 8192}
"""Windows up to this many tokens are gone beyond; elsewhere reading so much takes too long."""
_WINDOW_ELSEWHERE = 256


class Proof:
    """Prompts decoded by generate once, to hold other ways against."""

    def __init__(self, model: Any, max_length: int) -> None:
        """Make the prompts; nothing is decoded before a way is asked about.

        Args:
            model: A transformers causal language model in eval mode.
            max_length: Tokens that the model takes.
        """
        self._model = model
        self._prompts = _prompts(model, max_length)
        self._expected: list[tuple[list[int], torch.Tensor]] = []

    def cache(self, packed: bool, compiled: bool = False) -> SlotCache | None:
        """Decode the prompts side by side.

        Args:
            packed: Read them as one packed tree before; else padded.
            compiled: Read them by compiled layers.

        Returns:
            The cache that was used, when every step's logits were those of generate; else None.

        Raises:
            NotFiniteError: Those of generate are not finite.
        """
        model, prompts = self._model, self._prompts
        if prompts is None:
            return None
        try:
            with quiet_libraries():
                self._expected = self._expected or [_generated(model, ids) for ids in prompts]
                self._require_finite()
                answers = [tokens for tokens, _ in self._expected]
                compiling = Compiling("always" if compiled else "never")
                found, cache = _side_by_side(model, prompts, answers, packed, compiling)
        except NotFiniteError:
            raise
        except Exception as error:
            # Whatever a foreign forward dislikes, generate is there; memory is another matter.
            if is_out_of_memory(error):
                raise
            return None
        wanted = torch.stack([logits for _, logits in self._expected])
        return cache if _agree(wanted, found, model.dtype == torch.float32) else None

    def _require_finite(self) -> None:
        broken = [not bool(logits.logsumexp(-1).isfinite().all()) for _, logits in self._expected]
        if any(broken):
            raise broken_model(
                f"after {sum(broken)} of {len(broken)} made-up prompts its logits are NaN or"
                " infinite"
            )


def _prompts(model: Any, max_length: int) -> list[list[int]] | None:
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", 0)
    longest = _LENGTHS[-1]
    if window and window <= _WINDOW.get(input_device(model).type, _WINDOW_ELSEWHERE):
        longest = max(longest, window + 5)
    longest = min(longest, max_length - _STEPS - 1)
    if longest <= _SHARED + 1:
        return None
    drawn = random.Random(7)
    rows = [
        [drawn.randrange(config.vocab_size) for _ in range(min(length, longest))]
        for length in (*_LENGTHS[:-1], longest)
    ]
    rows[2][:_SHARED] = rows[0][:_SHARED]
    return rows


@torch.inference_mode()
def _generated(model: Any, ids: Sequence[int]) -> tuple[list[int], torch.Tensor]:
    """Tokens and logits that follow a prompt alone."""
    row = torch.tensor([list(ids)]).to(input_device(model))
    settings = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=_STEPS,
        do_sample=False,
        num_beams=1,
        eos_token_id=None,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_logits=True,
    )
    with OwnSettingsOnly(model):
        output = model.generate(
            input_ids=row, attention_mask=torch.ones_like(row), generation_config=settings
        )
    logits = torch.stack([step[0].float().cpu() for step in output.logits])
    return output.sequences[0, len(ids) :].tolist(), logits


@torch.inference_mode()
def _side_by_side(
    model: Any,
    prompts: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    packed: bool,
    compiling: Compiling,
) -> tuple[torch.Tensor, SlotCache]:
    """Logits that follow the same prompts in a slot cache, rows × steps × vocabulary."""
    reader = Reader(model)
    longest = max(len(ids) for ids in prompts)
    cache = SlotCache(len(prompts), longest + _STEPS)
    # The rows that share a beginning stand together; the others follow.
    order = [0, 2, 1]
    rows = [tuple(prompts[at]) for at in order]
    common = Family(rows[0][:_SHARED], None)
    jobs = [(common, 0), (common, 1), (Family((), None), 2)]
    filling: Filling = PaddedFilling(reader, cache, rows, 1 << 30, 1 << 30)
    if packed:
        filling = PackedFilling(reader, cache, rows, 1 << 30, compiling)
    filling.read(jobs, 0)
    tokens = [prompts[at][-1] for at in order]
    found: dict[int, list[torch.Tensor]] = {at: [] for at in order}
    for step in range(_STEPS):
        places = [len(prompts[at]) - 1 + step for at in order]
        logits = reader.step(
            cache,
            torch.tensor(tokens).to(reader.device),
            torch.tensor(places).to(reader.device),
            max(places) + 1,
        )
        for row, at in enumerate(order):
            found[at].append(logits[row].float().cpu())
        if step == 0:
            cache.move([2, 0], [0, 2])
            order = order[::-1]
        tokens = [answers[at][step] for at in order]
    return torch.stack([torch.stack(found[at]) for at in sorted(found)]), cache


def _agree(wanted: torch.Tensor, found: torch.Tensor, precise: bool) -> bool:
    """Equal up to rounding, by a measure that tells one prompt's logits from another's."""
    allowed = float(wanted.std()) * (1e-3 if precise else 0.08)
    # NaN compares as False, which is the answer wanted.
    others = wanted.roll(1, 0)
    return _distances(wanted, found)[-1] <= allowed < _distances(wanted, others)[0]


def _distances(first: torch.Tensor, second: torch.Tensor) -> list[float]:
    """Root mean squares over the vocabulary, the smallest first."""
    found: list[float] = (first - second).square().mean(-1).sqrt().flatten().sort()[0].tolist()
    return found
