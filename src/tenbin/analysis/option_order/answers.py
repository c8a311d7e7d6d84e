"""Answers of cells that differ in the rotation of their options alone, as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tenbin.analysis.consistency.answers import position_of
from tenbin.errors import ResultError
from tenbin.results.schema import CellConfig, RunResult, Sample
from tenbin.statistics.option_order import NOT_READ, RotatedAnswers
from tenbin.tasks.rotation import split_rotation

COLUMNS = (
    "group", "choices", "num_choices", "gold", "references", "logprobs", "label_logprobs",
)  # fmt: skip
"""Columns of the samples that are needed here, besides the required ones."""
_LEAST = 2
"""Documents in all orders, at least."""


def rotated_cells(result: RunResult) -> dict[tuple[object, ...], dict[int, str]]:
    """Cells that differ in rotation alone: rotation → id."""
    found: dict[tuple[object, ...], dict[int, str]] = {}
    for id, config in result.configs.items():
        # Rotated cells may ask a part of the documents, but never choose a template.
        kept = (None, "score", "part") if config.rotation else (None, "score")
        if config.role not in kept or config.output_type not in ("choice", "generate"):
            continue
        found.setdefault(_family(id, config), {})[config.rotation or 0] = id
    return found


def _family(id: str, config: CellConfig) -> tuple[object, ...]:
    base = split_rotation(config.template)[0] if config.rotation else config.template
    return (config.task, config.version, base, config.num_fewshot, config.seed, config.split)


def rotations_of_others(result: RunResult) -> set[str]:
    """Ids of cells that show the options of another cell in another order."""
    families = rotated_cells(result).values()
    return {id for cells in families for rotation, id in cells.items() if rotation and 0 in cells}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one cell says of a document, as positions that were shown."""

    chosen: int
    gold: int | None
    """None: the answer is no position."""
    options: int | None
    group: str | None
    logprobs: tuple[float, ...] | None
    failed: bool

    def is_usable(self, options: int) -> bool:
        """Whether there is an answer to a question with this many options."""
        return not self.failed and self.gold is not None and self.options == options


def read_answer(sample: Sample, metric: str) -> Answer:
    """The answer of one document, by a metric."""
    outcome = sample.outcome(metric)
    failed = outcome is None or outcome.value is None
    options = sample.num_choices or (len(sample.choices) if sample.choices else None)
    chosen, gold = NOT_READ, sample.gold
    if gold is not None:
        if outcome is not None and outcome.predicted is not None:
            chosen = outcome.predicted
    elif sample.references:
        gold = position_of(sample.references[0].strip())
        answered = position_of((outcome.answer or "").strip()) if outcome is not None else None
        chosen = NOT_READ if answered is None else answered
    if options is not None and chosen >= options:
        chosen = NOT_READ  # a letter that the question does not offer
    logprobs = sample.logprobs if sample.logprobs is not None else sample.label_logprobs
    known = None
    if metric == "acc" and logprobs is not None and len(logprobs) == options:
        known = tuple(one for one in logprobs if one is not None)
    if known is not None and len(known) != options:
        known = None
    return Answer(chosen, gold, options, sample.group, known, failed)


def rotated_answers(
    cells: Mapping[int, str], answers: Mapping[str, Mapping[str, Answer]]
) -> RotatedAnswers:
    """The answers of a template's rotations by document.

    A document is left out if it failed in the row's order, or in another one that all documents
    were asked in, or if it has another number of options than most.

    Args:
        cells: Rotation → id.
        answers: Id → document → its answer.

    Raises:
        ResultError: They cannot be put together.
    """
    import numpy as np

    first = answers[cells[0]] if 0 in cells else {}
    counts = Counter(one.options for one in first.values() if one.options)
    if not counts:
        raise ResultError("it was not asked in the order of the rows, or has no options")
    options = counts.most_common(1)[0][0]
    missing = [rotation for rotation in range(options) if rotation not in cells]
    if missing:
        raise ResultError(f"rotation {missing[0]} of {options} was not asked")
    orders = [answers[cells[rotation]] for rotation in range(options)]
    usable = [name for name, one in first.items() if one.is_usable(options)]
    complete = [
        all(name in order and order[name].is_usable(options) for order in orders) for name in usable
    ]
    if not min(map(len, orders)) < len(first):
        usable = [name for name, whole in zip(usable, complete, strict=True) if whole]
        complete = [True] * len(usable)
    if sum(complete) < _LEAST:
        raise ResultError(
            f"fewer than {_LEAST} documents were answered in all orders, with a position"
        )
    chosen = np.full((len(usable), options), NOT_READ, dtype=np.intp)
    logprobs = np.zeros((len(usable), options, options))
    for at, (name, whole) in enumerate(zip(usable, complete, strict=True)):
        for rotation, order in enumerate(orders if whole else orders[:1]):
            chosen[at, rotation] = order[name].chosen
            logprobs[at, rotation] = order[name].logprobs or np.nan
    return RotatedAnswers(
        chosen,
        np.array([first[name].gold for name in usable], dtype=np.intp),
        [first[name].group for name in usable],
        None if np.isnan(logprobs).any() else logprobs,
        np.array(complete, dtype=bool),
    )
