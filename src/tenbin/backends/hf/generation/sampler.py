"""The next token of every row: the most likely one, or one that is drawn.

A draw rests on the row's seed, the place of the token before it and the logits, and on nothing
else: not on the batch, its order, its size or what was drawn before. Every token of the vocabulary
gets a random number of its own, a hash of (seed, place, token), which becomes Gumbel noise on its
logit; the largest sum wins. That draws exactly from the softmax. Logits that differ by rounding, as
they do between batch sizes, give the same token unless two sums are as near as that; in an inverted
cumulative distribution they would shift a border for every token.
Everything stays on the logits' device. Knows tensors; knows no request and no text.
"""

from __future__ import annotations

import torch

from tenbin.records import Sampling

GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND = 0x94D049BB133111EB - (1 << 64)
"""SplitMix64, as signed numbers: torch's whole numbers wrap around."""
_SPREAD = 0x9E3779B1 - (1 << 32)
_MIX = (0x21F0AAAD, 0x735A2D97)
"""A mix of 32 bits with little bias: shifts by 16, 15 and 15, these factors between them."""
NO_TOKEN = -1
"""Stands for the token of a row whose logits give none: they hold NaN, or nothing but infinities.
Such a row has no answer."""
_HEAD = 1024
"""Most likely tokens among which the end of top_p is looked for first, where all may be drawn."""


class Choice:
    """How rows choose their next token; all rows of a batch choose in the same way."""

    def __init__(self, sampling: Sampling | None) -> None:
        """Prepare a choice.

        Args:
            sampling: How tokens are drawn; None: the most likely one is taken.
        """
        self._sampling = sampling

    def next(self, logits: torch.Tensor, seeds: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Choose a token for each row.

        Args:
            logits: Rows × vocabulary.
            seeds: Of each row, 64 bits.
            places: Where in its row the token stands that the logits follow.

        Returns:
            A token a row, on the logits' device; `NO_TOKEN` where the logits give none.
        """
        if self._sampling is None:
            return _sound(logits, logits.argmax(-1))
        kept = filtered(logits, self._sampling)
        noise = gumbel(seeds.to(kept.device), places.to(kept.device), kept.shape[-1])
        return _sound(kept, noise.add_(kept).argmax(-1))


def _sound(logits: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Chosen tokens, `NO_TOKEN` where the softmax of the logits has no value.

    One number a row tells: NaN is the largest of all to argmax and positive infinity comes next,
    so either is what was chosen if it is there, and negative infinity is chosen only if there is
    nothing else. Nothing is looked at on the host.
    """
    sound = logits.gather(-1, chosen[:, None])[:, 0].isfinite()
    if logits.device.type not in ("cpu", "cuda"):
        # Elsewhere argmax may pass NaN over.
        sound &= ~logits.isnan().any(-1)
    return chosen.masked_fill(~sound, NO_TOKEN)


def filtered(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Logits by temperature, minus infinity for tokens that top_k and top_p leave out.

    Tokens as likely as the last one that stays in stay in as well: which of them went would be
    chance.
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
    """The score of the last token that is needed to reach the share, found among `likely` ones."""
    total = scores.logsumexp(-1, keepdim=True)
    if scores.is_cuda or likely >= scores.shape[-1]:
        # A GPU would have to be waited for to know whether few tokens are enough.
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
    """The first of falling scores that reaches the share, and which rows do not reach it."""
    below = (falling - total).exp().cumsum(-1) < top_p
    last = below.sum(-1, keepdim=True).clamp_(max=falling.shape[-1] - 1)
    return falling.gather(-1, last), below[..., -1]


def gumbel(seeds: torch.Tensor, places: torch.Tensor, vocabulary: int) -> torch.Tensor:
    """Gumbel noise for every token of every row, rows × vocabulary, from hashes alone."""
    state = mixed(mixed(seeds) + places * GOLDEN)
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
    """Gumbel noise out of the lower 31 of random bits, which are used up."""
    # A share between 0 and 1, both excluded. Small ones must be exact, not only near: they make the
    # large noises, which decide, and a vocabulary has many of them.
    share = bits.bitwise_and_(0x7FFFFFFF).float().add_(0.5).mul_(2.0**-31).clamp_(max=1 - 2.0**-24)
    return share.neg_().log1p_().neg_().log_().neg_()


def mixed(numbers: torch.Tensor) -> torch.Tensor:
    """SplitMix64's output function; its shifts fill with zeros, torch's with the sign."""
    numbers = numbers + GOLDEN
    numbers = (numbers ^ ((numbers >> 30) & ((1 << 34) - 1))) * _FIRST
    numbers = (numbers ^ ((numbers >> 27) & ((1 << 37) - 1))) * _SECOND
    return numbers ^ ((numbers >> 31) & ((1 << 33) - 1))
