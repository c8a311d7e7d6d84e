"""Which option of a sweep to use, and its honest score.

The best score of a table is too good: it is shown beside the honest score of the chosen option, and
the difference is called optimism.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tenbin.analysis.document import ABSENT
from tenbin.analysis.sweep.leaders import folds_of_option
from tenbin.analysis.sweep.options import Swept
from tenbin.analysis.sweep.score import Score, score_of
from tenbin.errors import ResultError
from tenbin.statistics.intervals import estimate
from tenbin.statistics.measured import Measured
from tenbin.statistics.selection import (
    FOLDS,
    REPEATS,
    best_of,
    chosen_among,
    cross_fitted,
    honest_estimate,
)

Leaders = Sequence[Sequence[str]]
"""Of a sweep on a budget: for each fold, the prompts that lead on the other documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The option to use, with its honest score beside the naive one."""

    option: int
    """Index of the option."""
    template: str
    shots: int
    id: str
    on: str
    """The documents that it was chosen on."""
    held_out_scores: tuple[float, ...] | None = field(default=None, metadata=ABSENT)
    """The options' scores on held-out documents, if there are some."""
    shares: tuple[float, ...] | None = field(default=None, metadata=ABSENT)
    """How often each option was chosen in cross-fitting."""
    naive: float
    """The best score of the table."""
    honest: Score
    """The chosen option's score on documents that did not choose it."""
    optimism: float | None
    """The naive score less the honest one."""


def choice_of(swept: Swept, together: Sequence[Measured], seed: int, leaders: Leaders) -> Choice:
    """Which option to use, its honest score and the naive one."""
    top = swept.top
    scores = [one.value for one in together]
    naive = scores[best_of(scores, swept.higher_is_better)]
    held_out: tuple[float, ...] | None = None
    shares: tuple[float, ...] | None = None
    if swept.selecting:
        held_out = tuple(option.together.value for option in swept.selecting)
        chosen = best_of(held_out, swept.higher_is_better)
        honest = estimate(together[chosen], seed, top)
        on = f"{len(swept.selecting[0].together.documents)} documents of {swept.select_split!r}"
        on += ", held out from the score"
    elif len(leaders) > 1:
        candidates = _candidates(swept, leaders)
        folds = folds_of_option(together[0], seed)
        fitted = chosen_among(together, candidates, folds, swept.higher_is_better)
        chosen, honest = fitted.best, honest_estimate(fitted, seed, top)
        shares = fitted.shares
        on = "one half of the documents and scored on the other, among the prompts leading there"
    else:
        fitted = cross_fitted(together, seed, swept.higher_is_better)
        chosen, honest = fitted.best, honest_estimate(fitted, seed, top)
        shares = tuple(fitted.shares)
        on = f"the scored documents, cross-fitted in {FOLDS} folds {REPEATS} times"
    option = swept.options[chosen]
    return Choice(
        option=chosen,
        template=option.template,
        shots=option.shots,
        id=option.cells[0].partition("@")[0],
        on=on,
        held_out_scores=held_out,
        shares=shares,
        naive=naive,
        honest=score_of(honest),
        optimism=None if honest.value is None else naive - honest.value,
    )


def _candidates(swept: Swept, leaders: Leaders) -> list[list[int]]:
    """For each fold, the indices of the options that lead on the other documents."""
    places = {id: at for at, option in enumerate(swept.options) for id in option.cells}
    unknown = [id for own in leaders for id in own if id not in places]
    if unknown:
        raise ResultError(
            f"leaders names {unknown[0]}, which the run does not hold", "run the sweep again"
        )
    return [[places[id] for id in own] for own in leaders]
