"""Probes whether a scoring engine gives the right numbers for a model.

A few random sequences are scored by the engine and by single plain rows. Agreement alone proves
little: a small or untrained model may give nearly the same numbers whatever a token attends to. So
there are two controls. A changed branch must not move its siblings, which finds leaks through the
mask; and the engine with a mask or cache made wrong on purpose must be seen to be wrong, which
shows that these sequences can distinguish right from wrong on this model at all.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from tenbin.backends.finite import NotFiniteError, broken_model
from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.memory import is_out_of_memory
from tenbin.backends.hf.scoring.plain import PlainEngine
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import ScoringEngine

_EXACT = 1e-4
"""Largest difference of a log-likelihood in float32."""
_NOISE = 4.0
"""In float16 and bfloat16: times the model's own difference between one row and a batch."""
_LEAST_NOISE = 0.02
_BATCH = 512
"""Padded tokens per batch of plain rows."""
_CONTROLS = 2
"""Groups that the two controls use: those with siblings and a shared prefix."""
_WINDOW = 1024
"""Sliding windows up to this length are probed with a context that is longer."""


class Candidate(ScoringEngine, Protocol):
    """An engine that can be made wrong on purpose."""

    broken: bool
    """Whether its mask or cache is a wrong one, for the negative control only."""


Scored = list[list[float]]
"""Log-likelihoods of the rows of each group. Minus infinity is a valid one, of a token that the
model excludes; NaN is not."""


class Probe:
    """Random sequences, scored by single plain rows and by candidate engines."""

    def __init__(self, forward: Forward) -> None:
        """Make the sequences; nothing is scored yet.

        Args:
            forward: The model.
        """
        self._forward = forward
        self._groups = _sequences(forward)
        self._expected: Scored | None = None
        self._allowed = _EXACT
        self.ran_out_of_memory = False
        """Whether lack of memory refused a candidate, which says nothing about the model."""

    def refusal(self, make: Callable[[], Candidate]) -> str | None:
        """Return why a candidate must not be used, or None if it gives the plain numbers.

        Args:
            make: Makes a fresh candidate.

        Raises:
            NotFiniteError: The plain numbers themselves are not finite.
        """
        groups = self._groups
        try:
            engine = make()
            expected = self._plain()
            found = scores_of(engine, groups)
            few = groups[:_CONTROLS]
            moved = scores_of(make(), _perturbed(few, self._forward.vocabulary))
            broken = make()
            broken.broken = True
            wrong = scores_of(broken, few)
        except NotFiniteError:
            raise
        except Exception as error:  # whatever an architecture objects to
            self.ran_out_of_memory = self.ran_out_of_memory or is_out_of_memory(error)
            words = str(error).strip().splitlines() or ["no reason given"]
            return f"{type(error).__name__}: {words[0][:120]}"
        difference = _largest(expected, found)
        if math.isinf(difference):
            return "log-likelihoods are not finite, though those of plain rows are"
        if not difference <= self._allowed:
            return f"log-likelihoods differ by {difference:.2g}, {self._allowed:.2g} is allowed"
        siblings = _largest(_unperturbed(found[:_CONTROLS]), _unperturbed(moved))
        if not siblings <= self._allowed:
            return f"a branch reaches its siblings: {siblings:.2g}"
        # The bar for the control follows what was really seen, since small models move by little.
        least = min(self._allowed, 20 * max(difference, 1e-7))
        if not _largest(expected[:_CONTROLS], wrong) > least:
            return "a wrong mask or cache changes nothing, so the probe proves nothing"
        return None

    def require_finite(self) -> None:
        """Check that single rows have finite log-likelihoods.

        Raises:
            NotFiniteError: They do not.
        """
        try:
            self._plain()
        except NotFiniteError:
            raise
        except Exception as error:  # a candidate's refusal, or the first request, will say it
            self.ran_out_of_memory = self.ran_out_of_memory or is_out_of_memory(error)

    def _plain(self) -> Scored:
        """Return the log-likelihoods of single rows.

        In float32 they are taken from padded batches once one row by itself, the one with most
        padding, gives the same: every forward pass delays the start. In shorter dtypes the
        difference between single rows and batches is the measure of noise, so both are computed.
        """
        if self._expected is None:
            together = scores_of(PlainEngine(self._forward, "auto", _BATCH), self._groups)
            if self._forward.dtype == torch.float32:
                shortest = min(
                    range(len(self._groups)), key=lambda at: len(self._groups[at][0].ids)
                )
                alone = self._single(self._groups[shortest : shortest + 1])
                near = _largest(alone, together[shortest : shortest + 1]) <= _EXACT / 10
                near = near and _largest(together, together) == 0
                self._expected = together if near else self._single(self._groups)
            else:
                self._expected = self._single(self._groups)
                self._allowed = max(_LEAST_NOISE, _NOISE * _noise(self._expected, together))
        return self._expected

    def _single(self, groups: Sequence[Sequence[Row]]) -> Scored:
        found = scores_of(PlainEngine(self._forward, 1, 1), groups)
        broken = sum(any(map(math.isnan, values)) for values in found)
        if broken:
            raise broken_model(f"{broken} of {len(found)} random sequences have nan")
        return found


def _sequences(forward: Forward) -> list[list[Row]]:
    """Contexts of several lengths, shared prefixes, one-token, nested and long continuations.

    Few and short, since they delay the start.
    """
    generator = random.Random(0)

    def tokens(count: int) -> tuple[int, ...]:
        return random_tokens(generator, forward, count)

    shared, first = tokens(11), tokens(2)
    groups = [
        (shared + tokens(23), [first, (*first, *tokens(3)), tokens(1), tokens(6)]),
        (shared + tokens(4), [tokens(1), tokens(3)]),
        (shared, [tokens(2)]),
        (tokens(1), [tokens(7)]),
        # As long as the first: caches of several contexts are copied together.
        (tokens(len(shared) + 23), [tokens(2), tokens(3)]),
    ]
    if window := _shortest_window(forward):
        groups.append((tokens(window + 19), [tokens(2), tokens(4)]))
    return [
        [Row(context + answer, len(answer)) for answer in answers] for context, answers in groups
    ]


def _shortest_window(forward: Forward) -> int | None:
    config = forward.model.config.get_text_config()
    values = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
    windows = [value for value in values if isinstance(value, int) and value <= _WINDOW]
    return min(windows, default=None)


def scores_of(engine: ScoringEngine, groups: Sequence[Sequence[Row]]) -> Scored:
    """Return the log-likelihoods of all rows."""
    found: dict[int, list[float]] = {}
    for number, scores in engine.score(groups):
        if not isinstance(scores, tuple):
            raise MemoryError("the device's memory does not suffice for the probe")
        found[number] = [score.logprob for score in scores]
    return [found[number] for number in range(len(groups))]


def _perturbed(groups: Sequence[Sequence[Row]], vocabulary: int) -> list[list[Row]]:
    """Replace the tokens of each group's last answer."""
    changed = []
    for group in groups:
        last = group[-1]
        answer = tuple((token + 1) % vocabulary for token in last.ids[-last.scored :])
        changed.append([*group[:-1], Row(last.ids[: -last.scored] + answer, last.scored)])
    return changed


def _unperturbed(scored: Scored) -> Scored:
    return [values[:-1] for values in scored]


def _largest(first: Scored, second: Scored) -> float:
    """Return the largest difference; infinite if one is not finite, which `max` would overlook."""
    found = _differences(first, second)
    return max(found) if all(map(math.isfinite, found)) else math.inf


def _noise(alone: Scored, together: Scored) -> float:
    """Return the largest finite difference: padding may overflow where a single row does not."""
    return max(filter(math.isfinite, _differences(alone, together)), default=0.0)


def _differences(first: Scored, second: Scored) -> list[float]:
    groups = zip(first, second, strict=True)
    pairs = [pair for x, y in groups for pair in zip(x, y, strict=True)]
    # Equal infinities have no difference, not even zero.
    return [0.0 if a == b else abs(a - b) for a, b in pairs]


def random_tokens(generator: random.Random, forward: Forward, count: int) -> tuple[int, ...]:
    """Return random tokens of the model's vocabulary."""
    return tuple(generator.randrange(forward.vocabulary) for _ in range(count))
