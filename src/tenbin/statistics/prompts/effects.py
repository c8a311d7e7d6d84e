"""The effect of each choice in the wording on the score.

Prompts of a grammar have a level in each of several dimensions. Their scores are regressed on the
levels, all dimensions at once. Errors count both that other prompts and that other documents could
have been drawn; intervals and p-values are corrected for the number of levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.errors import ResultError
from tenbin.statistics.bootstrap import LEVEL
from tenbin.statistics.intervals import t_point
from tenbin.statistics.paired import holm
from tenbin.statistics.prompts.design import PromptMatrix
from tenbin.statistics.prompts.per_prompt import PromptScores, prompt_scores
from tenbin.statistics.special import special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


NO_EFFECT = "–"
"""The level of a prompt in which a dimension has no effect: it takes no part in the comparison of
the others, so that a dimension that depends on another one can be told from it."""


@dataclass(frozen=True, slots=True)
class LevelEffect:
    """What one level of a dimension adds to the score."""

    dimension: str
    level: str
    prompts: int
    """Prompts of this level."""
    effect: float
    """Against the plain mean over the levels of its dimension, other dimensions being equal."""
    stderr: float
    low: float
    """The ends of the 95 % interval that holds for all levels of all dimensions at once."""
    high: float
    p_value: float
    """Of no effect, by Holm's method over all levels."""


def level_effects(
    matrix: PromptMatrix,
    levels: Mapping[str, Sequence[str]],
    seed: int,
    scores: PromptScores | None = None,
) -> tuple[LevelEffect, ...]:
    """Estimate the effect of every level; dimensions with one level are left out.

    Returns nothing where there are fewer prompts than levels to tell apart.

    Args:
        matrix: What was observed.
        levels: For each dimension, the level of every prompt; `NO_EFFECT` where it has none.
        seed: Makes the folds repeatable.
        scores: The prompts' scores, where they are known already.

    Raises:
        ResultError: A dimension does not give every prompt a level.
    """
    import numpy as np

    _check(matrix, levels)
    found = prompt_scores(matrix, seed) if scores is None else scores
    coded = _coded({name: [given[at] for at in found.prompts] for name, given in levels.items()})
    if coded is None:
        return ()
    design, named, contrasts = coded
    rank = int(np.linalg.matrix_rank(design))
    freedom = len(design) - rank
    if freedom < 2:
        return ()
    inverse = np.linalg.pinv(design)
    # A level that always goes with one of another dimension cannot be told from it.
    apart = np.abs(contrasts @ inverse @ design - contrasts).max(axis=1) < 1e-6
    shares = contrasts @ inverse
    effects = shares @ found.values
    leverage = np.einsum("tp,pt->t", design, inverse).clip(0.0, 1 - 1e-9)
    rest = (found.values - design @ (inverse @ found.values)) / (1 - leverage)
    variances = (shares**2) @ rest**2 + _between_documents(matrix, found, shares)
    return _tested(
        [
            (*named[at], float(effects[at]), float(np.sqrt(variances[at])))
            for at in np.flatnonzero(apart)
        ],
        freedom,
    )


def _check(matrix: PromptMatrix, levels: Mapping[str, Sequence[str]]) -> None:
    for name, given in levels.items():
        if len(given) != matrix.prompts:
            raise ResultError(
                f"dimension '{name}' has levels of {len(given)} prompts, and there are "
                f"{matrix.prompts}"
            )


def _coded(
    levels: Mapping[str, Sequence[str]],
) -> tuple[Array, list[tuple[str, str, int]], Array] | None:
    """Prompts × columns in which the levels of a dimension sum to zero; and for each level its
    name, its number of prompts and the row that makes its effect of the coefficients."""
    import numpy as np

    columns = [np.ones(len(next(iter(levels.values()), ())))]
    named: list[tuple[str, str, int]] = []
    rows: list[tuple[int, Array]] = []
    for dimension, given in levels.items():
        names = [level for level in dict.fromkeys(given) if level != NO_EFFECT]
        if len(names) < 2:
            continue
        freedom = len(names) - 1
        code = np.vstack([np.eye(freedom), -np.ones(freedom), np.zeros(freedom)])
        position = np.array(
            [len(names) if level == NO_EFFECT else names.index(level) for level in given],
            dtype=np.intp,
        )
        rows += [(len(columns), row) for row in code[:-1]]
        named += [(dimension, level, int((position == at).sum())) for at, level in enumerate(names)]
        columns += list(code[position].T)
    if not named:
        return None
    contrasts = np.zeros((len(rows), len(columns)))
    for at, (first, row) in enumerate(rows):
        contrasts[at, first : first + len(row)] = row
    return np.stack(columns, axis=1), named, contrasts


def _between_documents(matrix: PromptMatrix, found: PromptScores, shares: Array) -> Array:
    """The variance of each effect from documents to which a level does something of its own.

    The products of different cells' residuals within a cluster; products of a cell with itself are
    in the scatter of prompts already.
    """
    import numpy as np

    asked = float(np.median(matrix.asked.sum(axis=1)))
    if asked < 2:
        return np.zeros(len(shares))
    every = np.zeros((len(shares), matrix.prompts))
    every[:, found.prompts] = shares
    load = np.maximum(matrix.observed.sum(axis=0), 1)
    cells = matrix.sums_by_cluster(found.residuals / load)
    products = ((cells @ every.T) ** 2).sum(axis=0) - ((cells**2) @ (every**2).T).sum(axis=0)
    # Pairs are asked more rarely than the square of single cells.
    rarity = asked / (asked - 1) * (matrix.prompts - 1) / matrix.prompts
    extra: Array = np.maximum(products * rarity, 0.0)
    return extra


def _tested(
    found: Sequence[tuple[str, str, int, float, float]], freedom: int
) -> tuple[LevelEffect, ...]:
    """Effects with p-values and intervals that hold together."""
    if not found:
        return ()
    reach = t_point(1 - (1 - LEVEL) / 2 / len(found), freedom)
    single = [
        2 * float(special().stdtr(freedom, -abs(effect) / stderr))
        if stderr > 0
        else float(effect == 0)
        for _, _, _, effect, stderr in found
    ]
    return tuple(
        LevelEffect(*one, one[3] - reach * one[4], one[3] + reach * one[4], p_value)
        for one, p_value in zip(found, holm(single), strict=True)
    )
