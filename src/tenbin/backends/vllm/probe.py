"""Which scoring method is correct on this engine: tried before any score counts.

The same rows are scored without the prefix cache and with it. The cache is used only if both agree
and tokens really came from it.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from tenbin.backends.finite import broken_model
from tenbin.backends.text.encoding import Row
from tenbin.backends.vllm.engine import Engine
from tenbin.backends.vllm.scoring import PREFIX_CACHE, PROMPT_LOGPROBS, VllmScoring

_ANSWERS = ((1,), (2, 3), (4, 5, 6, 7))
"""Which of the random tokens make an answer."""
_NOISE = {"float32": 1e-2}
_NOISE_ELSEWHERE = 0.5
"""Largest difference of an answer of four tokens; a wrong token would differ by more."""
_SEED = 20


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The method to use, and why."""

    method: str
    reason: str
    """For the results."""


def choose_method(engine: Engine, wanted: str, dtype: str, window: int) -> ProbeResult:
    """Choose the scoring method.

    Args:
        engine: The running engine.
        wanted: `auto`, or a method by name, which is then used without a probe.
        dtype: Determines the rounding error to expect.
        window: The context window in tokens.

    Raises:
        NotFiniteError: The model gives no finite log-likelihoods.
    """
    if wanted != "auto":
        return ProbeResult(wanted, "as the model argument scoring says")
    cache = engine.config.cache_config
    if not cache.enable_prefix_caching:
        return ProbeResult(PROMPT_LOGPROBS, "this engine has no prefix cache")
    block = int(cache.block_size)
    length = 2 * block + block // 2
    if length + 4 > window:
        reason = f"a window of {window} tokens is too short for blocks of {block} in a cache"
        return ProbeResult(PROMPT_LOGPROBS, reason)
    rows = _rows(length, int(engine.config.model_config.get_vocab_size()))
    try:
        plain = _scored(engine, PROMPT_LOGPROBS, rows)
        # Twice: the second time everything that can be cached is cached.
        tried = [_scored(engine, PREFIX_CACHE, rows) for _ in range(2)]
        found = engine.cached_tokens
    except _Unanswered as error:
        return ProbeResult(PROMPT_LOGPROBS, f"the cache was tried in vain: {error}")
    finally:
        engine.prompt_tokens = engine.cached_tokens = 0
    if not found:
        return ProbeResult(PROMPT_LOGPROBS, "vLLM read nothing from its cache")
    pairs = [pair for scores in tried for pair in zip(plain, scores, strict=True)]
    # Equal infinities do not differ; NaN differs from everything.
    differences = [0.0 if a == b else abs(a - b) for a, b in pairs]
    worst = math.inf if any(map(math.isnan, differences)) else max(differences)
    if worst > _NOISE.get(dtype, _NOISE_ELSEWHERE):
        return ProbeResult(PROMPT_LOGPROBS, f"scores with the cache differ by {worst:.2g}")
    return ProbeResult(
        PREFIX_CACHE,
        f"agrees with prompt_logprobs within {worst:.1e} with {found} tokens from the cache",
    )


def require_finite(engine: Engine, window: int) -> None:
    """Check that the model gives finite log-likelihoods before it generates anything.

    Raises:
        NotFiniteError: It does not.
    """
    length = min(8, window - 4)
    if length < 1:
        return
    rows = _rows(length, int(engine.config.model_config.get_vocab_size()))
    try:
        _scored(engine, PROMPT_LOGPROBS, rows)
    except _Unanswered:
        # This says nothing about the numbers; the first answer will.
        return
    finally:
        engine.prompt_tokens = engine.cached_tokens = 0


def _rows(length: int, vocabulary: int) -> list[Row]:
    """Answers after one prefix, of random tokens."""
    generator = random.Random(_SEED)
    context = tuple(generator.randrange(vocabulary) for _ in range(length))
    tokens = [generator.randrange(vocabulary) for _ in range(8)]
    return [Row((*context, *(tokens[at] for at in answer)), len(answer)) for answer in _ANSWERS]


class _Unanswered(Exception):
    """The engine did not answer; the message says why."""


def _scored(engine: Engine, method: str, rows: list[Row]) -> list[float]:
    try:
        ((_, scores),) = VllmScoring(engine, method).score([rows])
    except (TypeError, AttributeError) as error:
        # A version of vLLM that lacks an option.
        raise _Unanswered(str(error)) from error
    if isinstance(scores, tuple):
        found = [score.logprob for score in scores]
        if method == PROMPT_LOGPROBS and any(map(math.isnan, found)):
            raise broken_model("nan for made-up tokens")
        return found
    raise _Unanswered(scores.message if scores else "no answer")
