"""What the metrics say of one document, and the score of a whole cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenbin.records.quick import quick
from tenbin.records.response import Failure
from tenbin.records.task import Cell


@quick
@dataclass(frozen=True, slots=True)
class Outcome:
    """What one metric says of one document."""

    cell: Cell
    document: str
    metric: str
    value: float | None
    """None when the document failed, never a zero; for perplexity its log-likelihood."""
    answer: str | None = None
    """What was read as the model's answer: a choice's text or an extracted string; of several
    sampled answers the first."""
    predicted: int | None = None
    gold: int | None = None
    """Both as indices, for metrics over a confusion matrix."""
    group: str | None = None
    weight: float | None = None
    """What the value is spread over, for metrics of perplexity: words, bytes or characters."""
    values: tuple[float, ...] = ()
    """Where several answers were judged: what was said of each; `value` is their mean."""
    answers: tuple[str | None, ...] = ()
    """What was read out of each of them."""
    failure: Failure | None = None
    """Why an answer that came could not be judged."""
    item: Any = None
    """What a corpus-level aggregation takes of this document, where that is not a number: (gold,
    predicted), (reference, answer), or what a task's function gave. `value` is then 0.0, or the
    item's own value where it has one."""
    source: str | None = None
    """The metric whose function gave it, where a function may give values under several names."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One number of the results: a metric of a cell (or of a group), with what it rests on."""

    id: str
    metric: str
    value: float | None
    """None when no document could be scored."""
    stderr: float | None
    n: int
    """Documents behind the value."""
    failed: int
    higher_is_better: bool
    stderr_method: str
    """`analytic` or `bootstrap`; `none`: a corpus-level function does not show it."""
    low: float | None = None
    """The 95 % interval's ends; None where too little is known."""
    high: float | None = None
    clusters: int = 0
    """Independent units among the documents: paragraphs, items asked in several languages."""
    interval_method: str = "wilson"
    """`wilson`, `t`, `bca`, `percentile` or `none`."""
    aggregation: str = "mean"
    """How values of documents became this one: `mean`, `mcc`, …, or `function NAME`."""
    detectable_unpaired: float | None = None
    """The smallest difference to another run that would show, on other documents."""
    detectable_paired: Mapping[float, float | None] = field(default_factory=dict)
    """The same on the same documents: correlation of the two runs → difference; None where a test
    of so few documents finds nothing."""
    weight: float | None = None
    """Words, bytes or characters behind the value, for metrics of perplexity."""
    notice: str = ""
    """What a reader should know of the value: why it has no interval, or why there is none."""
    parts: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    """Of a share that is pooled over parts of documents: kind of part → its sum and number."""
