"""What a page shows, as records: the scripts of the page read their JSON form.

The names of fields are the keys that assets/*.js use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from tenbin.analysis.compare import GroupComparison, MetricComparison
from tenbin.analysis.consistency.report import ExaminedRun, ModesReport, SetReport
from tenbin.analysis.document import ABSENT, FLAT, to_json
from tenbin.analysis.option_order.report import OptionOrderReport
from tenbin.analysis.sweep.distribution import PromptDistribution
from tenbin.analysis.sweep.task_sweep import TaskSweep
from tenbin.report.html.curve import PageCurve
from tenbin.report.html.leaderboard import PageLeaderboard
from tenbin.results.schema import SampledAnswer


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One score of a cell or a group."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    failed: int
    up: bool
    """Whether higher is better."""
    unit: str
    unweighted: float | None
    """The unweighted mean over the tasks of a group."""


@dataclass(frozen=True, slots=True)
class CellSamples:
    """Where the samples of a cell are, and sums over them."""

    count: int
    index: int
    """Number of the block that holds the cell's index."""
    blocks: Sequence[tuple[int, int]]
    """(block number, samples in it), in order."""
    scored_tokens: int
    generated_tokens: int
    chance: float | None
    """Mean accuracy of random guessing; None unless every document has choices."""


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One cell: a task under one template."""

    id: str
    task: str
    version: str
    template: str
    language: str
    family: str | None
    kind: str
    role: str
    shots: int
    metrics: Sequence[MetricSummary]
    failures: Sequence[tuple[str, int]]
    samples: CellSamples | None


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One group of tasks."""

    id: str
    members: Sequence[str]
    metrics: Sequence[MetricSummary]
    weighting: str = ""
    """How members count, where the catalogue defines the mean; empty: by their documents."""


@dataclass(frozen=True, slots=True)
class ThinkingSummary:
    """Mean lengths of thinking and answers, and how often thinking did not end normally."""

    answers: int
    thinking_tokens: float
    answer_tokens: float
    none: int
    budget: int
    open: int


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """What a server counted, and its cost if prices are known."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    calls: int
    not_counted: int
    cost: float | None
    currency: str | None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts at the head of a run."""

    dtype: object
    device: object
    engine: object
    mode: object
    date: str
    seconds: float | None
    from_journal: int | None
    usage: UsageSummary | None
    choices_by: str | None
    scored_tokens: int
    generated_tokens: int
    thinking: ThinkingSummary | None
    documents: int


@dataclass(frozen=True, slots=True)
class PartialSummary:
    """How much of a stopped run there is."""

    answered: int
    asked: int


@dataclass(frozen=True, slots=True)
class StopSummary:
    """How a task of a run with `--until` ended."""

    id: str
    ended: Literal["reached", "not_reached", "better", "worse", "undecided"]
    metric: str
    asked: int
    documents: int
    found: str | None
    """Half the interval's width, or the difference with its repeated interval, in points."""
    wanted: str
    """Half the width to reach, or the run that was compared with."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run."""

    name: str
    """What the run is called on the page, different from all others."""
    folder: str
    """Name of its folder."""
    model: str
    facts: RunFacts
    sample_data: bool
    cells: Sequence[CellSummary]
    groups: Sequence[GroupSummary]
    partial: PartialSummary | None
    stopping: Sequence[StopSummary]
    warnings: Sequence[str]
    command: str
    details: int
    """Number of the block that holds the rest of result.json."""


@dataclass(frozen=True, slots=True)
class PageSweep:
    """A sweep, or the reason why it could not be analysed."""

    tasks: Sequence[TaskSweep] = ()
    distributions: Sequence[PromptDistribution] = ()
    """Of tasks that were swept on a budget."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class PageConsistency:
    """The consistency of one model, or the reason why it could not be analysed."""

    runs: Sequence[ExaminedRun] = ()
    reference: str | None = None
    sets: Mapping[str, SetReport] = field(default_factory=dict)
    modes: Sequence[ModesReport] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DifferingSetting:
    """An option in which runs differ."""

    name: str
    values: tuple[str, ...]
    """One for each run."""


@dataclass(frozen=True, slots=True)
class AlignedTask:
    """The same task in several runs."""

    name: str
    """The id of its cells, or the task's name where they have different ids."""
    cells: tuple[str | None, ...]
    """The id of each run's cell; None for a run that did not ask it."""


@dataclass(frozen=True, slots=True)
class PairedScore:
    """A task or a group in two runs: the second run less the first."""

    score: MetricComparison | GroupComparison = field(metadata=FLAT)
    """Its `p_holm` is corrected for all comparisons with the first run as the baseline."""
    p_holm_turned: float = 1.0
    """The same with the second run as the baseline."""


@dataclass(frozen=True, slots=True)
class RefusedTask:
    """A task or group of two runs that is not comparable."""

    first: str
    second: str
    reasons: Sequence[str]


@dataclass(frozen=True, slots=True)
class PagePair:
    """Two runs, compared as far as they go together."""

    first: int
    second: int
    comparisons: Sequence[PairedScore] = ()
    groups: Sequence[PairedScore] = ()
    only_first: Sequence[str] = ()
    """Tasks that only the first run has."""
    only_second: Sequence[str] = ()
    refused: Sequence[RefusedTask] = ()
    changes: int | None = None
    """Number of the block that lists the changed documents of each of `comparisons`."""
    error: str | None = None
    """Why nothing is compared although tasks go together."""


@dataclass(frozen=True, slots=True)
class PageComparison:
    """The pairs of runs."""

    pairs: Sequence[PagePair]
    every_pair: bool
    """Whether every pair is there; with very many runs, only those of the first run are."""


@dataclass(frozen=True, slots=True)
class PageChart:
    """A chart; `light` and `dark` are the numbers of the blocks that hold its SVG."""

    title: str
    note: str
    description: str
    width: int
    height: int
    light: int
    dark: int


@dataclass(frozen=True, slots=True)
class PageSummary:
    """Everything that a page knows before it opens a block."""

    tenbin_version: str
    title: str
    runs: Sequence[RunSummary] = ()
    settings: Sequence[DifferingSetting] = ()
    """Options in which the runs differ."""
    aligned: Sequence[AlignedTask] = ()
    """Which tasks of the runs belong together."""
    sweeps: Sequence[PageSweep | None] = ()
    """One for each run; None for a run that is no sweep."""
    orders: Sequence[OptionOrderReport | None] = ()
    """One for each run; None for a run that asked options in one order."""
    consistency: Sequence[PageConsistency] = ()
    comparison: PageComparison | None = None
    curve: PageCurve | None = None
    """Learning curves; the run is then that of the newest checkpoint."""
    leaderboard: PageLeaderboard | None = None
    """None for a single run."""
    charts: Mapping[str, PageChart] | None = None
    listing: bool = False
    """Whether the page lists the runs of a served folder."""
    stored: int = 0
    """How many runs of that folder have scores."""
    home: str | None = None
    """Address of that list, on a page that a server shows."""


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """What one metric says of a document."""

    metric: str
    value: float | None
    answer: str | None
    predicted: int | None
    weight: float | None = field(default=None, metadata=ABSENT)
    values: Sequence[float] | None = field(default=None, metadata=ABSENT)
    answers: Sequence[str | None] | None = field(default=None, metadata=ABSENT)


@dataclass(frozen=True, slots=True)
class PageStep:
    """One step of reading an answer."""

    name: str
    text: str | None
    """What is left after it; None when nothing can be read."""
    mentions: Sequence[tuple[str, str]]
    """Letters or numbers, each with its stance."""
    too_slow: bool | None = field(default=None, metadata=ABSENT)
    """True if its pattern takes too long."""


@dataclass(frozen=True, slots=True)
class PageReading:
    """How one filter read an answer."""

    filter: str
    steps: Sequence[PageStep]


@dataclass(frozen=True, slots=True)
class PageSample:
    """One document as the page shows it."""

    document: str
    group: str | None
    item: str | None
    parts: Sequence[tuple[str, str]]
    """(kind, text): `d` description, `e` example, `q` question."""
    exact: bool
    """Whether the run recorded where the parts begin."""
    examples: Sequence[str] | None
    choices: Sequence[str] | None
    continuations: Sequence[str] | None
    """What was scored, if it differs from the choices."""
    logprobs: Sequence[float | str | None] | None
    tokens: Sequence[int] | None
    unconditional: Sequence[float | str | None] | None
    picked_by: str | None
    labels: Sequence[str] | None
    label_logprobs: Sequence[float | str | None] | None
    added: str | None
    generated: str | None
    finish: str | None
    generated_tokens: int | None
    thinking: str | None
    thinking_tokens: int | None
    thinking_end: str | None
    truncated: int | None
    stop: Sequence[str] | None
    limit: int | None
    gold: int | None
    target: str | None
    references: Sequence[str] | None
    dropped: int | None
    rotation: int | None
    """Places that the options are rotated by, if they are."""
    sampled: Sequence[SampledAnswer] | None
    """Every answer, if several were sampled."""
    outcomes: Sequence[PageOutcome]
    readings: Sequence[PageReading] | None
    failure: tuple[str, str] | None
    """Kind and message."""


_KEPT = ("gold", "exact")
"""Fields of a sample that are kept if they are 0 or false."""


def sample_json(sample: PageSample) -> dict[str, Any]:
    """Return a sample's JSON form without what is empty; an empty text is kept."""
    values = {one.name: getattr(sample, one.name) for one in fields(sample)}
    return {
        name: to_json(value)
        for name, value in values.items()
        if value is not None and (name in _KEPT or value == "" or value)
    }
