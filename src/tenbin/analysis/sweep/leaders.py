"""The leading prompts of a sweep on a budget, which `--then best:3` runs in full.

The best of many noisy estimates was partly lucky, so that its score must come from other documents.
The documents are divided into two folds: the prompts that lead on one are scored on the other.
Documents of another split need no folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenbin.analysis.sweep.distribution import PART, AskedPrompts
from tenbin.errors import ConfigError
from tenbin.statistics.measured import Measured
from tenbin.statistics.prompts.design import PromptMatrix
from tenbin.statistics.prompts.per_prompt import prompt_scores
from tenbin.statistics.selection import fold_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDS = 2


def leading_prompts(
    prompts: AskedPrompts, count: int, seed: int, held_out: bool
) -> tuple[tuple[str, ...], ...]:
    """Ids of the leading prompts: for each fold those that lead on the other documents.

    Args:
        prompts: The prompts with what was observed.
        count: How many lead.
        seed: Of the run.
        held_out: Whether the documents are none that leaders are scored on: one list is enough.

    Raises:
        ConfigError: There are too few documents for two folds.
    """
    import numpy as np

    if held_out:
        return (_leading(prompts, prompts.matrix, count, seed),)
    folds = np.array(folds_of(prompts.documents, prompts.clusters, seed))
    if any((folds == fold).sum() < 2 for fold in range(FOLDS)):
        raise ConfigError(
            "--then chooses on one half of the documents and scores on the other, and there are "
            f"{len(folds)} in all",
            "raise --limit or leave it out",
        )
    matrix, leaders = prompts.matrix, []
    for fold in range(FOLDS):
        rest = folds != fold
        others = PromptMatrix(
            matrix.values[rest], matrix.asked[rest], matrix.clusters[rest], matrix.top
        )
        leaders.append(_leading(prompts, others, count, seed))
    return tuple(leaders)


def folds_of(documents: Sequence[str], clusters: Sequence[str | None], seed: int) -> list[int]:
    """The fold of each document; those of one cluster are together."""
    named = zip(documents, clusters, strict=True)
    return [fold_of(cluster or f"document {name}", seed, FOLDS) for name, cluster in named]


def folds_of_option(option: Measured, seed: int) -> list[int]:
    """The fold of each document that an option was scored on."""
    return folds_of(option.documents, option.clusters, seed)


def _leading(prompts: AskedPrompts, matrix: PromptMatrix, count: int, seed: int) -> tuple[str, ...]:
    import numpy as np

    scores = prompt_scores(matrix, seed)
    ordered: NDArray[np.intp] = np.argsort(
        -scores.values if prompts.detail.higher_is_better else scores.values, kind="stable"
    )
    columns = scores.prompts[ordered[:count]].tolist()
    return tuple(prompts.ids[at].removesuffix(f"@{PART}") for at in columns)
