"""Made-up models under many prompts: every chance of a right answer is known.

A world draws its prompts once and then gives chances, documents × prompts, for any number of new
documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tenbin.statistics.prompts.design import PromptMatrix, assign

Chances = Callable[[int], np.ndarray]
"""Documents → chances of a right answer, documents × prompts."""
World = Callable[[np.random.Generator, int], Chances]
"""Generator, prompts → chances of new documents under these prompts."""


def logistic(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


def rasch(
    prompts: Callable[[np.random.Generator, int], np.ndarray], mean: float = 0.3, width: float = 1.5
) -> World:
    """Documents differ in difficulty, prompts in quality, and nothing else matters."""

    def world(generator: np.random.Generator, count: int) -> Chances:
        quality = prompts(generator, count)
        return lambda n: logistic(generator.normal(mean, width, n)[:, None] + quality[None, :])

    return world


def normal(width: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda generator, count: generator.normal(0, width, count)


def broken(generator: np.random.Generator, count: int) -> np.ndarray:
    """A fifth of the prompts hardly works at all."""
    quality = generator.normal(0, 0.3, count)
    quality[: count // 5] = -3.5
    return quality


def two_kinds(generator: np.random.Generator, count: int) -> np.ndarray:
    side = np.where(np.arange(count) < count // 2, -0.8, 0.8)
    return side + generator.normal(0, 0.1, count)


def interacting(generator: np.random.Generator, count: int) -> Chances:
    """Every cell has a chance of its own, which no model of margins sees."""
    quality = generator.normal(0, 0.4, count)
    return lambda n: logistic(
        generator.normal(0.3, 1.5, n)[:, None]
        + quality[None, :]
        + generator.normal(0, 1.5, (n, count))
    )


def kinds_of_documents(generator: np.random.Generator, count: int) -> Chances:
    """Two kinds of documents, to which prompts do the opposite."""
    quality, taste = generator.normal(0, 0.4, count), generator.normal(0, 1.2, count)
    return lambda n: logistic(
        generator.normal(0.3, 1.5, n)[:, None]
        + quality[None, :]
        + generator.choice([-1, 1], n)[:, None] * taste[None, :]
    )


def letters(generator: np.random.Generator, count: int) -> Chances:
    """Prompts prefer letters: who is right depends on where the gold stands."""
    quality = generator.normal(0, 0.3, count)
    taste = generator.normal(0, 1.2, (5, count))
    taste -= taste.mean(axis=0)

    def chances(n: int) -> np.ndarray:
        gold = generator.integers(0, 5, n)
        return logistic(generator.normal(-1, 1, n)[:, None] + quality[None, :] + taste[gold])

    return chances


def frozen(generator: np.random.Generator, count: int) -> Chances:
    """Most documents are always right or always wrong."""
    quality = generator.normal(0, 0.6, count)
    return lambda n: logistic(
        generator.choice([-4.0, 0.0, 4.0], n, p=[0.375, 0.25, 0.375])[:, None] + quality[None, :]
    )


WORLDS: Mapping[str, World] = {
    "prompts hardly differ": rasch(normal(0.08)),
    "prompts differ": rasch(normal(0.4)),
    "prompts differ much": rasch(normal(1.0)),
    "some prompts are bad": rasch(lambda generator, count: -generator.exponential(0.7, count)),
    "nearly all right": rasch(normal(0.5), mean=2.8),
    "every cell its own": interacting,
    "two kinds of documents": kinds_of_documents,
    "prompts prefer letters": letters,
    "documents always right or wrong": frozen,
    "gap: a fifth broken": rasch(broken),
    "gap: two kinds of prompts": rasch(two_kinds),
}
GAPS = tuple(name for name in WORLDS if name.startswith("gap"))


@dataclass(frozen=True)
class Sweep:
    """A full sweep, and what a budget shows of it."""

    grid: np.ndarray
    """Documents × prompts, all values."""
    matrix: PromptMatrix

    @property
    def scores(self) -> np.ndarray:
        """The prompts' true scores on these documents."""
        return np.asarray(self.grid.mean(axis=0))


def observe(grid: np.ndarray, budget: int, seed: int, clusters: np.ndarray | None = None) -> Sweep:
    """A full grid as a budget shows it."""
    numbers = np.arange(len(grid)) if clusters is None else clusters
    asked = assign([int(one) for one in numbers], grid.shape[1], budget, seed)
    return Sweep(grid, PromptMatrix(np.where(asked, grid, np.nan), asked, numbers))


def sweep(
    name: str,
    generator: np.random.Generator,
    budget: int,
    seed: int,
    n: int = 300,
    count: int = 100,
) -> Sweep:
    """One sweep of a world."""
    chances = WORLDS[name](generator, count)(n)
    return observe((generator.random(chances.shape) < chances).astype(float), budget, seed)
