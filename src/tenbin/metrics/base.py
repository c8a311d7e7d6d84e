"""What a metric is: one pure function under the decorator `metric`.

What the function takes depends on the kind of task that it judges:

    choice          Choices → the index of the choice that is taken as the model's answer
    generate        the answer that was read and the accepted ones → the answer's value
    perplexity      a text → its length in the unit that the perplexity is given in
    loglikelihood   Choices of one text → its value
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from tenbin.errors import PluginError
from tenbin.metrics.options import Option, option_of
from tenbin.plugins import Plugin
from tenbin.records import Failure, Kind, Outcome, Prompt, TaskFunction
from tenbin.records.quick import quick

OWN_FUNCTION = "function"
"""The aggregation of metrics that give a pair, which only a function of the task aggregates."""

LANGUAGE = "language"
"""The option of generation metrics that is the prompt's language unless the task sets it."""

CLASSES = "classes"
"""The option of generation metrics over a confusion matrix that lists what can be answered."""

POOLED = "pooled"
"""The aggregation of metrics that judge parts of a document: the share of all parts."""

OVER_CLASSES = ("balanced_acc", "mcc", "macro_f1", "f1")
"""Aggregations over a confusion matrix."""

_AGGREGATIONS: Mapping[Kind, tuple[str, ...]] = {
    "choice": ("mean", *OVER_CLASSES, OWN_FUNCTION),
    "generate": ("mean", *OVER_CLASSES, "bleu", "chrf", "chrf++", "ter", POOLED, OWN_FUNCTION),
    "perplexity": ("weighted_perplexity", "bits_per_byte"),
    "loglikelihood": ("mean", "perplexity"),
}
"""How the values of documents become one number, by kind of task; `tenbin.statistics` computes it,
unless it is a function of the task."""

Function = TypeVar("Function", bound=Callable[..., Any])


@quick
@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of one document with their log-likelihoods: what a choice metric sees."""

    texts: tuple[str, ...]
    """Without the delimiter between prompt and choice."""
    logprobs: tuple[float, ...]
    """Summed over the tokens of each choice."""
    token_counts: tuple[int, ...]
    greedy: tuple[bool, ...]
    """Whether greedy decoding would have written exactly this choice."""
    unconditional: tuple[float, ...] | None = None
    """Log-likelihoods without the prompt, for metrics with `needs_unconditional`."""


Value = Callable[[int | None, int], float]
"""The value of a document from the index of the choice that was taken (None: the model named none)
and that of the right one."""


Tools = Callable[[str, Mapping[str, Any]], Mapping[str, str]]
"""From the task's language and the metric's options to the programs that it leaves a decision to:
what is decided → the program with its version. Raises a TaskError where one is not installed."""


def is_right(predicted: int | None, gold: int) -> float:
    """1 where the right choice was taken, else 0."""
    return float(predicted == gold)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its function, and what must be known of it before a model loads."""

    name: str
    kind: Kind
    """The kind of task it judges."""
    aggregation: str
    """How the values of documents become one number: a name that `tenbin.statistics` knows, or
    `function NAME` for a function of the task."""
    higher_is_better: bool
    function: Callable[..., Any]
    options: Mapping[str, Option] = field(default_factory=dict)
    """What a task may set, by name: keyword arguments of the function."""
    percent: bool = False
    """Whether values run from 0 to 100 instead of 0 to 1."""
    unread: float = 0.0
    """The value of a generated answer out of which nothing could be read."""
    value: Value = is_right
    """The value of a choice."""
    needs_unconditional: bool = False
    """Whether choices must also be scored without their prompt."""
    needs_likelihoods: bool = False
    """Whether it cannot judge a model that only names a choice."""
    plugin: Plugin | None = None
    """The package that it comes from; None for those of tenbin."""
    needs_golds: bool = False
    """Whether the function of a choice metric takes the right choices too and gives a value."""
    highest: float = 1.0
    """The highest value of a document, where values are not percentages; infinity: no bound."""
    item: Callable[..., Any] | None = None
    """What the aggregation takes of a document, from what `function` would take, which then takes
    the item. None: the value, or the classes for a metric over a confusion matrix."""
    aggregate: TaskFunction | None = None
    """The task's own aggregation."""
    tools: Tools | None = None
    """What it leaves to other programs; None: nothing."""
    check: Callable[[Sequence[str], str], None] | None = None
    """Refuses references that it cannot judge by, with the place to name; None: it takes all."""

    @property
    def top(self) -> float | None:
        """The highest value that a document can have; None where there is no such bound."""
        unbounded = self.aggregation == "perplexity" or math.isinf(self.highest)
        if self.kind == "perplexity" or unbounded:
            return None
        return 100.0 if self.percent else self.highest


def metric(
    name: str,
    kind: Kind,
    *,
    options: Mapping[str, Option | type] | None = None,
    aggregation: str | None = None,
    higher_is_better: bool | None = None,
    percent: bool = False,
    unread: float | None = None,
    value: Value = is_right,
    needs_likelihoods: bool | None = None,
    needs_unconditional: bool = False,
    needs_golds: bool = False,
    highest: float = 1.0,
    item: Callable[..., Any] | None = None,
    tools: Tools | None = None,
    check: Callable[[Sequence[str], str], None] | None = None,
) -> Callable[[Function], Function]:
    """Make a metric of a pure function, which stays as it is.

        @metric("contains", "generate")
        def contains(answer: str, references: Sequence[str]) -> float:
            return float(any(text in answer for text in references))

    Args:
        name: What task files call it.
        kind: The kind of task it judges, which decides what the function takes (see
            `tenbin.metrics.base`).
        options: Keyword-only arguments of the function that a task may set, each with its type:
            `bool`, `int`, `float`, `str`, or one of `tenbin.metrics.options`. For `generate`, one
            that is called `language` is the prompt's language unless the task sets it.
        aggregation: How values become one number: `mean` by default; for `choice` also
            `balanced_acc`, `mcc`, `macro_f1` and `f1`; for `generate` these too, over an option
            `classes` that lists what can be answered, and `bleu`, `chrf`, `chrf++`, `ter`, and
            `pooled` over the parts that `item` gives as (name, value) pairs;
            for `perplexity` `weighted_perplexity` by default, or `bits_per_byte`.
        higher_is_better: By default true, except for `perplexity`.
        percent: Whether values run from 0 to 100.
        unread: For `generate`: the value of an answer out of which nothing could be read. By
            default 0 where higher is better; to be given where lower is better.
        value: For `choice`: the value of the choice that was taken, by default 1 if it is right.
        needs_likelihoods: Whether it cannot judge a model that only names a choice; by default true
            for `perplexity`.
        needs_unconditional: For `choice`: whether choices must also be scored without the prompt.
        needs_golds: For `choice`: whether the function takes the indices of the right choices too,
            and gives the value instead of an index.
        highest: The highest value of a document where values are not percentages; `math.inf` where
            there is none.
        item: What the aggregation takes of a document where that is not the value, from what the
            function would take, options included; the function then takes the item.
        tools: What the metric leaves to other programs, by language and options; results name them,
            and one that is not installed is refused before a model loads.
        check: For `generate`: raises a DataError for references that it cannot judge by; called for
            each document before a model loads, with the place to name in the message.

    Raises:
        PluginError: The arguments contradict each other or the function.
    """
    is_perplexity = kind == "perplexity"
    better = not is_perplexity if higher_is_better is None else higher_is_better

    def declare(function: Function) -> Function:
        declared = Metric(
            name=name,
            kind=kind,
            aggregation=aggregation or ("weighted_perplexity" if is_perplexity else "mean"),
            higher_is_better=better,
            function=function,
            options={key: option_of(one) for key, one in (options or {}).items()},
            percent=percent,
            unread=unread or 0.0,
            value=value,
            needs_unconditional=needs_unconditional,
            needs_likelihoods=is_perplexity if needs_likelihoods is None else needs_likelihoods,
            needs_golds=needs_golds,
            highest=highest,
            item=item,
            tools=tools,
            check=check,
        )
        _check(declared)
        if kind == "generate" and not better and unread is None:
            raise _wrong(name, "lower is better: say what an unread answer is worth, unread=…")
        function.__tenbin_metric__ = declared  # type: ignore[attr-defined]
        return function

    return declare


def declared_metric(function: object) -> Metric | None:
    """What `metric` has declared of a function; None where it is no metric."""
    found = getattr(function, "__tenbin_metric__", None)
    return found if isinstance(found, Metric) else None


def _check(declared: Metric) -> None:
    """Refuse a declaration that would only fail once answers arrive."""
    if declared.kind not in get_args(Kind):
        raise _wrong(declared.name, f"kind must be one of {', '.join(get_args(Kind))}")
    known = _AGGREGATIONS[declared.kind]
    if declared.aggregation not in known:
        raise _wrong(
            declared.name,
            f"aggregation {declared.aggregation!r} does not suit a {declared.kind} task"
            f" ({', '.join(known)})",
        )
    over_answers = declared.kind == "generate" and declared.aggregation in OVER_CLASSES
    if over_answers and CLASSES not in declared.options:
        reason = f"{declared.aggregation} of a generate task needs an option {CLASSES!r}"
        raise _wrong(declared.name, reason)
    parameters = inspect.signature(declared.function).parameters.values()
    taken = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
    if taken != set(declared.options):
        named = ", ".join(sorted(taken ^ set(declared.options)))
        raise _wrong(
            declared.name, f"options and keyword-only arguments of the function differ: {named}"
        )


def _wrong(name: str, reason: str) -> PluginError:
    return PluginError(f"metric {name!r}: {reason}", "change the arguments of @metric")


def unscored(prompt: Prompt, name: str, failure: Failure | None = None) -> Outcome:
    """The outcome of a document that has no value under a metric.

    Args:
        prompt: The document.
        name: The name that the metric is reported under.
        failure: Why an answer that came could not be judged; None where no answer came.
    """
    return Outcome(
        cell=prompt.cell,
        document=prompt.document,
        metric=name,
        value=None,
        gold=prompt.gold,
        group=prompt.group,
        failure=failure,
    )
