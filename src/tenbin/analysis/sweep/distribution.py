"""The distribution of a score over prompts, from a sweep on a budget.

Each document was asked under some of the prompts only, so that no prompt has a score of its own:
all prompts are estimated together (`statistics/prompts/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tenbin.analysis.document import ABSENT
from tenbin.analysis.option_order.answers import rotations_of_others
from tenbin.analysis.sweep.score import Score, score_of
from tenbin.errors import NothingScored, ResultError
from tenbin.records import Outcome
from tenbin.results.samples import Outcomes
from tenbin.results.schema import CellConfig, MetricDetail, RunResult
from tenbin.statistics.measured import LINEAR, number_clusters
from tenbin.statistics.prompts.advice import Advice, advise
from tenbin.statistics.prompts.design import PromptMatrix
from tenbin.statistics.prompts.distribution import Quantile, ScoreDistribution, score_distribution
from tenbin.statistics.prompts.effects import LevelEffect, level_effects
from tenbin.statistics.prompts.per_prompt import PromptScores, prompt_scores

if TYPE_CHECKING:
    from numpy import intp
    from numpy.typing import NDArray

PART = "part"
"""The role of cells that ask a part of the documents."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard deviation of scores over prompts, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPlace:
    """Where one prompt lies in the distribution."""

    id: str
    """The task id that runs it by itself."""
    name: str
    """Its template, with the shots and the seed of examples where a sweep varies them."""
    template: str
    shots: int
    published: bool
    """Whether it is a template of the task file: no generated format, no rotated options."""
    format: Mapping[str, str] | None = field(default=None, metadata=ABSENT)
    """Dimension → level of a generated format."""
    n: int
    """Documents that were asked under it."""
    value: float
    """Its score, drawn towards the others as far as it is uncertain."""
    low: float
    high: float
    rank: float
    """The share of prompts with a lower score."""
    rank_low: float
    rank_high: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What the sweep asked, and what a full one would have."""

    asked: int
    """Questions: pairs of a document and a prompt."""
    full: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDistribution:
    """The scores of all prompts of one task, as a full sweep would have given them."""

    task: str
    version: str
    metric: str
    unit: str
    higher_is_better: bool
    split: str
    documents: int
    clusters: int
    prompts: int
    budget: float
    """Prompts that a document was asked under, on average: the price in full runs."""
    cost: Cost
    failed: int
    """Questions without an answer."""
    mean: Score
    """The mean over prompts, with the error that other documents would bring."""
    mean_here: Score
    """The same with its error against a full sweep on these documents."""
    quantiles: tuple[Quantile, ...]
    """Worst, 5, 25, 50, 75, 95 %, best."""
    curve: tuple[Quantile, ...]
    """The same at a hundred shares, with a simultaneous band."""
    spread: Spread
    noise: float
    """The standard error of a prompt's own estimate, root mean square over prompts."""
    gap: tuple[float, float] | None
    """Scores between which hardly any prompt lies; None without such a gap."""
    simultaneous: bool
    """Whether intervals of the quantiles hold for all of them at once, as they do near a gap."""
    places: tuple[PromptPlace, ...]
    """Every prompt that was answered, the best first."""
    effects: tuple[LevelEffect, ...]
    """What each choice in the wording adds; empty without generated formats."""
    advice: Advice
    """What a budget is worth here."""

    @property
    def published(self) -> tuple[PromptPlace, ...]:
        """The places of the task's own templates."""
        return tuple(place for place in self.places if place.published)


@dataclass(frozen=True, slots=True)
class AskedPrompts:
    """The prompts of one task with the values that were observed."""

    ids: tuple[str, ...]
    """Ids of the cells, in the order of the matrix's columns."""
    configs: tuple[CellConfig, ...]
    metric: str
    detail: MetricDetail
    documents: tuple[str, ...]
    """Names, in the order of the matrix's rows."""
    clusters: tuple[str | None, ...]
    matrix: PromptMatrix


def asked_prompts(
    result: RunResult, outcomes: Outcomes, metric: str | None = None
) -> list[AskedPrompts]:
    """The tasks of a run whose prompts were asked of a part of the documents each.

    Args:
        result: The run.
        outcomes: Its outcomes.
        metric: By default each task's first that is a mean over documents.

    Raises:
        ResultError: The metric is no mean, or nothing was scored.
    """
    tasks: dict[tuple[str, str], list[str]] = {}
    rotated = rotations_of_others(result)
    for id, config in result.configs.items():
        if config.role == PART and id not in rotated:
            tasks.setdefault((config.task, config.version), []).append(id)
    return [_asked(result, outcomes, ids, metric) for ids in tasks.values()]


def _asked(
    result: RunResult, outcomes: Outcomes, ids: Sequence[str], metric: str | None
) -> AskedPrompts:
    used = _metric(result.details[ids[0]], metric, ids[0])
    detail = result.details[ids[0]][used]
    found = [outcomes.get((id, used), ()) for id in ids]
    seen: dict[str, Outcome] = {one.document: one for column in found for one in column}
    documents = tuple(sorted(seen))
    if not any(one.value is not None for column in found for one in column):
        raise NothingScored(
            f"no document of {result.configs[ids[0]].task} could be scored",
            "look at the failures of the run",
        )
    clusters = tuple(seen[name].group for name in documents)
    top = 100.0 if detail.unit == "%" else 1.0
    matrix = _matrix(found, documents, clusters, top)
    configs = tuple(result.configs[id] for id in ids)
    return AskedPrompts(tuple(ids), configs, used, detail, documents, clusters, matrix)


def _metric(details: Mapping[str, MetricDetail], wanted: str | None, id: str) -> str:
    means = [name for name, detail in details.items() if detail.aggregation in LINEAR]
    if wanted is None or wanted not in details:
        if not means:
            raise ResultError(
                f"{id}: no metric is a mean over documents, which --budget needs",
                f"metrics: {', '.join(details)}; sweep without --budget",
            )
        return means[0]
    if wanted not in means:
        raise ResultError(
            f"--metric {wanted} is no mean over documents, and a sweep on a budget estimates means",
            f"means are: {', '.join(means) or 'none'}; or sweep without --budget",
        )
    return wanted


def _matrix(
    columns: Sequence[Sequence[Outcome]],
    documents: Sequence[str],
    clusters: Sequence[str | None],
    top: float,
) -> PromptMatrix:
    import numpy as np

    rows = {name: at for at, name in enumerate(documents)}
    values = np.full((len(documents), len(columns)), np.nan)
    asked = np.zeros(values.shape, dtype=np.bool_)
    for at, column in enumerate(columns):
        for outcome in column:
            row = rows[outcome.document]
            asked[row, at] = True
            if outcome.value is not None:
                values[row, at] = outcome.value
    numbers = np.array(number_clusters(clusters), dtype=np.intp)
    return PromptMatrix(values, asked, numbers, top)


def prompt_distribution(prompts: AskedPrompts, seed: int) -> PromptDistribution:
    """Estimate the distribution of a task's score over its prompts.

    Args:
        prompts: The prompts with what was observed.
        seed: Makes folds and draws repeatable.
    """
    matrix, first = prompts.matrix, prompts.configs[0]
    scores = prompt_scores(matrix, seed)
    found = score_distribution(matrix, seed, scores=scores)
    return PromptDistribution(
        task=first.task,
        version=first.version,
        metric=prompts.metric,
        unit=prompts.detail.unit,
        higher_is_better=prompts.detail.higher_is_better,
        split=first.split,
        documents=matrix.documents,
        clusters=int(matrix.cluster_numbers.max()) + 1,
        prompts=matrix.prompts,
        budget=matrix.per_document,
        cost=Cost(int(matrix.asked.sum()), matrix.asked.size),
        failed=int((matrix.asked & ~matrix.observed).sum()),
        mean=score_of(found.mean.elsewhere),
        mean_here=Score(
            value=found.mean.value,
            stderr=found.mean.stderr,
            low=found.mean.low,
            high=found.mean.high,
            n=matrix.documents,
        ),
        quantiles=found.quantiles,
        curve=found.curve,
        spread=Spread(found.spread, found.spread_low, found.spread_high),
        noise=found.noise,
        gap=found.gap,
        simultaneous=found.simultaneous,
        places=_places(prompts, found, scores),
        effects=_effects(prompts, seed),
        advice=advise(found, seed, top=matrix.bound),
    )


def _places(
    prompts: AskedPrompts, found: ScoreDistribution, scores: PromptScores
) -> tuple[PromptPlace, ...]:
    counts = dict(zip(scores.prompts.tolist(), scores.counts.tolist(), strict=True))
    places = []
    for one in found.places:
        config = prompts.configs[one.prompt]
        id = prompts.ids[one.prompt].removesuffix(f"@{PART}")
        places.append(
            PromptPlace(
                id=id,
                name=_name(config.template, id),
                template=config.template,
                shots=config.num_fewshot,
                published=config.format is None and not config.rotation,
                format=config.format,
                n=counts[one.prompt],
                value=one.value,
                low=one.low,
                high=one.high,
                rank=one.rank,
                rank_low=one.rank_low,
                rank_high=one.rank_high,
            )
        )
    sign = -1 if prompts.detail.higher_is_better else 1
    return tuple(sorted(places, key=lambda place: (sign * place.value, place.id)))


def _name(template: str, id: str) -> str:
    marks = id.split("@")[1:]
    varied = (mark for mark in marks if mark.endswith("shot") or mark.startswith("seed"))
    return "@".join([template, *varied])


def _effects(prompts: AskedPrompts, seed: int) -> tuple[LevelEffect, ...]:
    """The effect of every level of the generated formats; templates of files have no levels."""
    formats = [config.format for config in prompts.configs]
    columns = [at for at, one in enumerate(formats) if one is not None]
    matrix = _columns(prompts.matrix, columns)
    if matrix is None:
        return ()
    levels = [one for one in formats if one is not None]
    dimensions = {name: [one[name] for one in levels] for name in levels[0]}
    return level_effects(matrix, dimensions, seed)


def _columns(matrix: PromptMatrix, columns: Sequence[int]) -> PromptMatrix | None:
    """The matrix with some of its prompts, and the documents asked under any; None if none was."""
    import numpy as np

    chosen = matrix.asked[:, columns]
    rows: NDArray[intp] = np.flatnonzero(chosen.any(axis=1))
    if not matrix.observed[:, columns].any():
        return None
    return PromptMatrix(
        matrix.values[:, columns][rows], chosen[rows], matrix.clusters[rows], matrix.top
    )
