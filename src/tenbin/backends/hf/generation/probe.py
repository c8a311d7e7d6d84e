"""Probes whether continuous batching gives what transformers' generate gives for single prompts.

Random prompts of different lengths, two of them with a shared prefix, one of one token and, if that
is affordable, one longer than the model's sliding window are decoded side by side, and rows change
places on the way. The negative control: the tolerance must be smaller than the distance between
different prompts' logits, or agreement would prove nothing. A model's name decides nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from tenbin.backends.checkpoint.quiet import quiet_libraries
from tenbin.backends.finite import NotFiniteError, broken_model
from tenbin.backends.hf.generation.decode import AnyCache
from tenbin.backends.hf.generation.generate_logits import agree, generated
from tenbin.backends.hf.generation.kv_cache import SlotCache
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.generation.prefill import PackedPrefill, PaddedPrefill
from tenbin.backends.hf.generation.shared_prefixes import PrefixGroup
from tenbin.backends.hf.model.compilation import Compilation
from tenbin.backends.hf.model.llama_layers import misfit
from tenbin.backends.hf.model.memory import input_device, is_out_of_memory, release_memory
from tenbin.backends.hf.model.prefix_tree import common_prefix
from tenbin.backends.text.tokenizer import first_words

_STEPS = 3
_DRAFTED = (3, 1, 2)
"""Tokens that are read at once in each row to find out about drafts."""
_SHARED = 9
_LENGTHS = (13, 1, 22)
_FURTHER = {"cuda": 128}
"""Tokens by which shared prefix and prompts are longer, so that rows share pages of the cache."""
_WINDOW = {"cuda": 8192}
"""Sliding windows up to this many tokens are exceeded by a prompt; longer ones take too long."""
_WINDOW_ELSEWHERE = 256


class GenerationProbe:
    """Prompts decoded by generate once, to compare other ways with."""

    def __init__(self, model: Any, max_length: int) -> None:
        """Make the prompts; nothing is decoded yet.

        Args:
            model: A transformers causal language model in eval mode.
            max_length: Tokens that the model takes.
        """
        self._model = model
        self._prompts = _prompts(model, max_length)
        self._expected: list[tuple[list[int], torch.Tensor]] = []
        self.refusal: str | None = None
        """Why the last way that was tried did not give what generate gives."""

    def cache(self, packed: bool, compiled: bool = False, fused: bool = False) -> AnyCache | None:
        """Decode the prompts side by side.

        Args:
            packed: Prefill them as one packed tree; else as padded rows.
            compiled: Prefill them by compiled layers.
            fused: Decode them by fused steps.

        Returns:
            The cache that was used if every step's logits were those of generate, else None.

        Raises:
            NotFiniteError: The logits of generate are not finite.
        """
        model, prompts = self._model, self._prompts
        self.refusal = "the window is too short for the probe" if prompts is None else None
        if prompts is None or (fused and misfit(model) is not None):
            return None
        try:
            with quiet_libraries():
                self._expected = self._expected or [
                    (tokens[0], logits[0])
                    for tokens, logits in (generated(model, [ids], _STEPS) for ids in prompts)
                ]
                self._require_finite()
                answers = [tokens for tokens, _ in self._expected]
                compilation = Compilation("always" if compiled else "never")
                found, cache = _side_by_side(model, prompts, answers, packed, compilation, fused)
        except NotFiniteError:
            raise
        except Exception as error:
            # Whatever a model's forward rejects, generate is left; memory is another matter.
            if is_out_of_memory(error) and not fused:
                raise
            self.refusal, found = first_words(error)[:150], None
        if found is None:
            # Outside the except block: the traceback keeps tensors alive. Merging weights needs
            # memory that plain steps do not need.
            release_memory(input_device(model))
            return None
        wanted = torch.stack([logits for _, logits in self._expected])
        if agree(wanted, found, model.dtype == torch.float32):
            return cache
        self.refusal = "its logits differ from those of generate"
        return None

    def takes_drafts(self) -> bool:
        """Whether several tokens of a row in one step, on a CPU, get the logits of single ones.

        Call it after `cache` found that the model works with a slot cache.
        """
        if self._prompts is None or input_device(self._model).type != "cpu":
            return False
        answers = [tokens for tokens, _ in self._expected]
        try:
            with quiet_libraries():
                found = _with_drafts(self._model, self._prompts, answers)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            return False
        wanted = torch.cat(
            [logits[:count] for (_, logits), count in zip(self._expected, _DRAFTED, strict=True)]
        )
        return agree(wanted, found, self._model.dtype == torch.float32)

    def _require_finite(self) -> None:
        broken = [not bool(logits.logsumexp(-1).isfinite().all()) for _, logits in self._expected]
        if any(broken):
            raise broken_model(
                f"after {sum(broken)} of {len(broken)} random prompts its logits are NaN or"
                " infinite"
            )


def _prompts(model: Any, max_length: int) -> list[list[int]] | None:
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", 0)
    further = _FURTHER.get(input_device(model).type, 0)
    if max_length <= 2 * further:
        further = 0
    lengths = [length + further if length > 1 else length for length in _LENGTHS]
    longest, common = lengths[-1], _SHARED + further
    if window and window <= _WINDOW.get(input_device(model).type, _WINDOW_ELSEWHERE):
        longest = max(longest, window + 5)
    longest = min(longest, max_length - _STEPS - 1)
    if longest <= common + 1:
        return None
    generator = random.Random(7)
    rows = [
        [generator.randrange(config.vocab_size) for _ in range(min(length, longest))]
        for length in (*lengths[:-1], longest)
    ]
    rows[2][:common] = rows[0][:common]
    return rows


@torch.inference_mode()
def _side_by_side(
    model: Any,
    prompts: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    packed: bool,
    compilation: Compilation,
    fused: bool,
) -> tuple[torch.Tensor, AnyCache]:
    """Return the logits that follow the same prompts in a KV cache, rows × steps × vocabulary."""
    runner = ModelRunner(model, fused)
    longest = max(len(ids) for ids in prompts) + _STEPS
    # Rows of one prefix group are consecutive.
    order = [0, 2, 1]
    rows = [tuple(prompts[at]) for at in order]
    cache: AnyCache = SlotCache(len(prompts), longest)
    if runner.fused is not None:
        cache = runner.fused.cache(len(prompts), longest, len(prompts) * longest)
        cache.enter(0, rows, [longest] * len(prompts))
    common = PrefixGroup(rows[0][: common_prefix(rows[0], rows[1])], None)
    jobs = [(common, 0), (common, 1), (PrefixGroup((), None), 2)]
    if isinstance(cache, SlotCache) and not packed:
        PaddedPrefill(runner, cache, rows, 1 << 30, 1 << 30).run(jobs, 0)
    else:
        PackedPrefill(runner, cache, rows, 1 << 30, compilation).run(jobs, 0)
    tokens = [prompts[at][-1] for at in order]
    found: dict[int, list[torch.Tensor]] = {at: [] for at in order}
    for step in range(_STEPS):
        places = [len(prompts[at]) - 1 + step for at in order]
        logits = runner.decode(
            cache,
            torch.tensor(tokens).to(runner.device),
            torch.tensor(places).to(runner.device),
            max(places) + 1,
        )
        for row, at in enumerate(order):
            found[at].append(logits[row].float().cpu())
        if step == 0:
            # As when a complete row is replaced by the last one.
            cache.move([2, 0], [0, 2])
            order = order[::-1]
        tokens = [answers[at][step] for at in order]
    return torch.stack([torch.stack(found[at]) for at in sorted(found)]), cache


@torch.inference_mode()
def _with_drafts(
    model: Any, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Return the logits that follow some tokens of each row, all read in one step.

    The last row is given one more token, a wrong one: it must change nothing before it.
    """
    runner = ModelRunner(model)
    cache = SlotCache(len(prompts), max(len(ids) for ids in prompts) + _STEPS)
    rows = [tuple(ids) for ids in prompts]
    alone = PrefixGroup((), None)
    jobs = [(alone, at) for at in range(len(rows))]
    PaddedPrefill(runner, cache, rows, 1 << 30, 1 << 30).run(jobs, 0)
    entries: list[tuple[int, int, int]] = []
    for row, count in enumerate(_DRAFTED):
        tokens = [prompts[row][-1], *answers[row][: count - 1]]
        if row == len(rows) - 1:
            tokens.append(prompts[row][0])
        first = len(prompts[row]) - 1
        entries += [(row, first + at, token) for at, token in enumerate(tokens)]
    owners, places, read = (torch.tensor(list(part)) for part in zip(*entries, strict=True))
    logits = runner.decode_drafts(cache, read, places, owners, int(places.max()) + 1)
    return logits[:-1].float()
