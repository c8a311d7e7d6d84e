"""The report on option order: cells of a run that differ in the rotation of their options alone.

Says how a score depends on the order of the options, for each template that was asked in all
rotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenbin.analysis.consistency.answers import letter
from tenbin.analysis.document import ABSENT, to_json
from tenbin.analysis.option_order.answers import (
    Answer,
    read_answer,
    rotated_answers,
    rotated_cells,
)
from tenbin.analysis.sweep.score import Score, score_of
from tenbin.errors import ResultError
from tenbin.results.schema import CellConfig, RunResult, Sample
from tenbin.statistics.columns import Spread
from tenbin.statistics.option_order import (
    ByPosition,
    OptionOrder,
    RemovedPrior,
    option_order,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionReport:
    """One position, as it is shown: A is the first."""

    position: str
    recall: Score
    """Share of documents answered right when the right answer stands here."""
    chosen: Score
    """Share of answers that choose it."""
    recall_after: Score | None = field(default=None, metadata=ABSENT)
    """The same after the prior was removed."""
    chosen_after: Score | None = field(default=None, metadata=ABSENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedReport:
    """The score after a prior of the positions was removed."""

    prior: tuple[float, ...]
    """Probability of each position, whatever stands there."""
    prior_documents: int
    """Documents behind one prior."""
    priors: int
    """Sets of documents that gave one each."""
    score: Score
    gain: Score
    """That score less the score as asked, on the same documents."""
    recall_spread: Spread
    chosen_spread: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateOrder:
    """How the score of one template depends on the order of its options."""

    id: str
    ids: tuple[str, ...]
    """Of the cells, by rotation."""
    task: str
    version: str
    template: str
    shots: int
    metric: str
    options: int
    documents: int
    complete: int
    """Documents that were asked in all orders."""
    left_out: int
    """Documents that failed, or have another number of options."""
    as_asked: Score
    """The score in the row's own order."""
    mean: Score
    """The mean over all orders."""
    from_order: Score
    """The score in the row's order less that mean, on the same documents."""
    rotations: tuple[Score, ...]
    same_option: Score
    """How often two orders of a document lead to the same option."""
    same_position: Score
    """How often they lead to the same position, which holds another option."""
    combined: Score | None = field(default=None, metadata=ABSENT)
    """Of the options that are best in all orders together; None if options were not scored."""
    positions: tuple[PositionReport, ...]
    every_order: bool
    """Whether each document counts at every position."""
    recall_spread: Spread
    """Standard deviation of the recalls over positions, without what chance adds."""
    chosen_spread: Spread
    removed: RemovedReport | None = field(default=None, metadata=ABSENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionOrderReport:
    """What a run with `--rotations` says about the order of options."""

    model: Mapping[str, object]
    date: str
    templates: tuple[TemplateOrder, ...]
    notes: tuple[str, ...] = ()
    """Templates whose rotations cannot be put together, and why."""

    def to_json(self) -> dict[str, Any]:
        """What option_order.json holds."""
        document: dict[str, Any] = to_json(self)
        return document


def has_rotations(result: RunResult) -> bool:
    """Whether a run asked options in several orders."""
    return any(len(cells) > 1 for cells in rotated_cells(result).values())


def option_order_report(result: RunResult, samples: Iterable[Sample]) -> OptionOrderReport:
    """Analyse the templates of a run that were asked in rotated orders.

    Args:
        result: The run.
        samples: Its samples, with `COLUMNS` at least.
    """
    families = {key: cells for key, cells in rotated_cells(result).items() if len(cells) > 1}
    metrics = {id: _metric(result, id) for cells in families.values() for id in cells.values()}
    answers: dict[str, dict[str, Answer]] = {id: {} for id in metrics}
    for sample in samples:
        if sample.id in answers:
            answers[sample.id][sample.document] = read_answer(sample, metrics[sample.id])
    templates: list[TemplateOrder] = []
    notes: list[str] = []
    for cells in families.values():
        try:
            joined = rotated_answers(cells, answers)
        except ResultError as error:
            notes.append(f"{cells[min(cells)]}: {error.message}")
            continue
        left_out = len(answers[cells[0]]) - len(joined.gold)
        found = option_order(joined, result.seed)
        ids = [cells[rotation] for rotation in range(found.options)]
        templates.append(_report(found, result.configs[ids[0]], ids, metrics[ids[0]], left_out))
    return OptionOrderReport(
        model=result.model, date=result.date, templates=tuple(templates), notes=tuple(notes)
    )


def _metric(result: RunResult, id: str) -> str:
    """The metric whose choices count: the plain one of scored choices, else the most lenient."""
    names = list(result.details[id])
    for wanted in ("acc", "exact_match,flexible-extract"):
        if wanted in names:
            return wanted
    return names[0]


def _report(
    found: OptionOrder, config: CellConfig, ids: Sequence[str], metric: str, left_out: int
) -> TemplateOrder:
    removed = found.removed
    return TemplateOrder(
        id=ids[0],
        ids=tuple(ids),
        task=config.task,
        version=config.version,
        template=config.template,
        shots=config.num_fewshot,
        metric=metric,
        options=found.options,
        documents=found.documents,
        complete=found.complete,
        left_out=left_out,
        as_asked=score_of(found.as_asked),
        mean=score_of(found.mean),
        from_order=score_of(found.from_order),
        rotations=tuple(map(score_of, found.rotations)),
        same_option=score_of(found.same_option),
        same_position=score_of(found.same_position),
        combined=None if found.combined is None else score_of(found.combined),
        positions=_positions(found.before, removed),
        every_order=found.before.every_order,
        recall_spread=found.before.recall_spread,
        chosen_spread=found.before.chosen_spread,
        removed=None
        if removed is None
        else RemovedReport(
            prior=removed.prior,
            prior_documents=removed.prior_documents,
            priors=removed.priors,
            score=score_of(removed.score),
            gain=score_of(removed.gain),
            recall_spread=removed.after.recall_spread,
            chosen_spread=removed.after.chosen_spread,
        ),
    )


def _positions(before: ByPosition, removed: RemovedPrior | None) -> tuple[PositionReport, ...]:
    after = {one.position: one for one in removed.after.positions} if removed else {}
    return tuple(
        PositionReport(
            position=letter(one.position),
            recall=score_of(one.recall),
            chosen=score_of(one.chosen),
            recall_after=score_of(after[one.position].recall) if one.position in after else None,
            chosen_after=score_of(after[one.position].chosen) if one.position in after else None,
        )
        for one in before.positions
    )
