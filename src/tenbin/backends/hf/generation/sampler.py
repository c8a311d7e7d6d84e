"""Chooses the next token of every row: the most likely one, or a sampled one.

A sampled token depends on the row's seed, the position of the token before it and the logits, and
on nothing else: not on the batch, its order, its size or what was sampled before. Every token of
the vocabulary gets a random number of its own, a hash of (seed, position, token), which becomes
Gumbel noise on its logit; the largest sum wins. That samples exactly from the softmax. Logits that
differ by rounding, as they do between batch sizes, give the same token unless two sums are as near
as that; inverting a cumulative distribution would instead shift a border for every token.
Everything stays on the logits' device.
"""

from __future__ import annotations

import torch

from tenbin.records import Sampling

GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND = 0x94D049BB133111EB - (1 << 64)
"""Constants of SplitMix64, as signed numbers: torch's integers wrap around."""
_SPREAD = 0x9E3779B1 - (1 << 32)
_MIX = (0x21F0AAAD, 0x735A2D97)
"""A 32-bit mix with little bias: shifts by 16, 15 and 15, these factors between them."""
NO_TOKEN = -1
"""The token of a row whose logits give none, because they hold NaN or only infinities."""
_HEAD = 1024
"""Most likely tokens among which the end of top_p is searched first, if there is no top_k."""


class Sampler:
    """Chooses next tokens; all rows of a batch have the same sampling."""

    def __init__(self, sampling: Sampling | None) -> None:
        """Prepare a sampler.

        Args:
            sampling: Temperature, top_k and top_p; None for greedy decoding.
        """
        self._sampling = sampling

    def sample(
        self, logits: torch.Tensor, seeds: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """Choose a token for each row.

        Args:
            logits: Rows × vocabulary.
            seeds: Of each row, 64 bits.
            positions: Position in its row of the token that the logits follow.

        Returns:
            One token per row, on the logits' device; `NO_TOKEN` where the logits give none.
        """
        if self._sampling is None:
            return _checked(logits, logits.argmax(-1))
        kept = filtered(logits, self._sampling)
        noise = gumbel(seeds.to(kept.device), positions.to(kept.device), kept.shape[-1])
        return _checked(kept, noise.add_(kept).argmax(-1))


def _checked(logits: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Return the chosen tokens, `NO_TOKEN` where the softmax of the logits has no value.

    The logit of the chosen token is enough: to argmax NaN is the largest value and positive
    infinity comes next, so either was chosen if it is there, and negative infinity is chosen only
    if there is nothing else. The host is not involved.
    """
    sound = logits.gather(-1, chosen[:, None])[:, 0].isfinite()
    if logits.device.type not in ("cpu", "cuda"):
        # On other devices argmax may overlook NaN.
        sound &= ~logits.isnan().any(-1)
    return chosen.masked_fill(~sound, NO_TOKEN)


def filtered(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Divide logits by the temperature and exclude tokens by top_k and top_p.

    Tokens as likely as the last one that is kept are kept as well: which of them to exclude would
    be arbitrary.
    """
    scores = logits.float() / sampling.temperature
    if 0 < sampling.top_k < scores.shape[-1]:
        floor = scores.topk(sampling.top_k).values[..., -1:]
        scores = scores.masked_fill(scores < floor, -torch.inf)
    if sampling.top_p < 1:
        floor = _nucleus_floor(scores, sampling.top_p, sampling.top_k or _HEAD)
        scores = scores.masked_fill(scores < floor, -torch.inf)
    return scores


def _nucleus_floor(scores: torch.Tensor, top_p: float, likely: int) -> torch.Tensor:
    """Return the score of the last token needed to reach top_p, searched among `likely` ones."""
    total = scores.logsumexp(-1, keepdim=True)
    if scores.is_cuda or likely >= scores.shape[-1]:
        # Finding out whether few tokens are enough would mean waiting for the GPU.
        return _reaching(scores.sort(-1, descending=True).values, total, top_p)[0]
    # A sort of the whole vocabulary takes a CPU as long as a step of a small model.
    floor, short = _reaching(scores.topk(likely).values, total, top_p)
    if bool(short.any()):
        rest = scores[short].sort(-1, descending=True).values
        floor[short] = _reaching(rest, total[short], top_p)[0]
    return floor


def _reaching(
    falling: torch.Tensor, total: torch.Tensor, top_p: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the first of falling scores that reaches top_p, and which rows do not reach it."""
    below = (falling - total).exp().cumsum(-1) < top_p
    last = below.sum(-1, keepdim=True).clamp_(max=falling.shape[-1] - 1)
    return falling.gather(-1, last), below[..., -1]


def gumbel(seeds: torch.Tensor, positions: torch.Tensor, vocabulary: int) -> torch.Tensor:
    """Return Gumbel noise for every token of every row, rows × vocabulary, from hashes alone."""
    state = splitmix64(splitmix64(seeds) + positions * GOLDEN)
    low = ((state & 0xFFFFFFFF) - (1 << 31)).to(torch.int32)[:, None]
    high = (state >> 32).to(torch.int32)[:, None]
    tokens = torch.arange(vocabulary, dtype=torch.int32, device=seeds.device)
    bits = tokens * _SPREAD + low
    bits ^= (bits >> 16) & 0xFFFF
    bits *= _MIX[0]
    bits ^= high
    bits ^= (bits >> 15) & 0x1FFFF
    bits *= _MIX[1]
    bits ^= (bits >> 15) & 0x1FFFF
    return noise_of(bits)


def noise_of(bits: torch.Tensor) -> torch.Tensor:
    """Turn the lower 31 of random bits into Gumbel noise; `bits` is overwritten."""
    # Uniform in (0, 1). Small values must be exact: they become the large noises, which decide, and
    # a vocabulary has many of them. Hence log1p of the complement below.
    share = bits.bitwise_and_(0x7FFFFFFF).float().add_(0.5).mul_(2.0**-31).clamp_(max=1 - 2.0**-24)
    return share.neg_().log1p_().neg_().log_().neg_()


def splitmix64(numbers: torch.Tensor) -> torch.Tensor:
    """SplitMix64's output function; its shifts fill with zeros, torch's with the sign."""
    numbers = numbers + GOLDEN
    numbers = (numbers ^ ((numbers >> 30) & ((1 << 34) - 1))) * _FIRST
    numbers = (numbers ^ ((numbers >> 27) & ((1 << 37) - 1))) * _SECOND
    return numbers ^ ((numbers >> 31) & ((1 << 33) - 1))
