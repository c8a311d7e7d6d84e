"""How much of a score's variance comes from the prompt, the examples and the items.

Values of one metric for every template × sample of examples × document are treated as a crossed
design without repetition, each factor random. Mean squares and their expectations give the variance
components (analysis of variance by the method of moments); they add up to the variance of one
score: one template, one sample of examples, n documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_FACTORS = ("prompt", "examples", "items")


@dataclass(frozen=True, slots=True)
class Shares:
    """The variance of one score, divided by its sources."""

    variance: float
    """Of the score of one template with one draw of examples on this many documents."""
    prompt: float
    """Share of the variance due to the wording: its own effect, and its interaction with items."""
    examples: float
    """Share due to the sample of examples, with all its interactions."""
    items: float
    """Share due to the sample of documents."""
    components: dict[str, float]
    """Variance of each effect on a single value; interactions joined by ` × `."""


def variance_shares(values: Array) -> Shares:
    """Divide the variance of a score.

    Args:
        values: Templates × draws × documents; an axis of length 1 takes no part.
    """
    components = variance_components(values)
    documents = values.shape[2]
    parts = {"prompt": 0.0, "examples": 0.0, "items": 0.0}
    for name, component in components.items():
        factors = name.split(" × ")
        # What changes from document to document is averaged over them.
        weight = component / documents if "items" in factors else component
        if "examples" in factors:
            parts["examples"] += weight
        elif "prompt" in factors:
            parts["prompt"] += weight
        else:
            parts["items"] += weight
    total = sum(parts.values())
    shares = {name: part / total if total else 0.0 for name, part in parts.items()}
    return Shares(total, **shares, components=components)


def variance_components(values: Array) -> dict[str, float]:
    """Variance of every effect, interactions included; what comes out below zero is zero.

    The interaction of all factors that vary cannot be told from chance without repetition.
    """
    lengths = dict(zip(_FACTORS, values.shape, strict=True))
    varying = [name for name in _FACTORS if lengths[name] > 1]
    effects = [
        frozenset(names)
        for size in range(1, len(varying) + 1)
        for names in combinations(varying, size)
    ]
    squares = {effect: _mean_square(values, effect) for effect in effects}
    components: dict[frozenset[str], float] = {}
    # From the widest interaction down: a mean square expects its own component, times the number
    # of values behind each of its levels, and those of every wider interaction.
    for effect in sorted(effects, key=len, reverse=True):
        wider = sum(
            prod(lengths[name] for name in varying if name not in other) * components[other]
            for other in components
            if effect < other
        )
        repeated = prod(lengths[name] for name in varying if name not in effect)
        components[effect] = (squares[effect] - wider) / repeated
    ordered = sorted(effects, key=lambda effect: (len(effect), _position(effect)))
    return {_name(effect): max(0.0, components[effect]) for effect in ordered}


def _mean_square(values: Array, effect: frozenset[str]) -> float:
    """The sum of squares of an effect over its degrees of freedom."""
    import numpy as np

    others = tuple(at for at, name in enumerate(_FACTORS) if name not in effect)
    estimate = np.zeros([1 if at in others else n for at, n in enumerate(values.shape)])
    inside = [at for at, name in enumerate(_FACTORS) if name in effect]
    # Inclusion and exclusion over the margins leaves what no smaller effect explains.
    for size in range(len(inside) + 1):
        for kept in combinations(inside, size):
            averaged = tuple(at for at in range(values.ndim) if at not in kept)
            margin = values.mean(axis=averaged, keepdims=True)
            estimate = estimate + (-1) ** (len(inside) - size) * margin
    repeated = prod(values.shape[at] for at in others)
    freedom = prod(values.shape[at] - 1 for at in inside)
    return float((estimate**2).sum() * repeated / freedom)


def _position(effect: frozenset[str]) -> tuple[int, ...]:
    return tuple(sorted(_FACTORS.index(name) for name in effect))


def _name(effect: frozenset[str]) -> str:
    return " × ".join(name for name in _FACTORS if name in effect)
