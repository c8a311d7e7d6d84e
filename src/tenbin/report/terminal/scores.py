"""Scores of a run as tables, or stacked lines where the tables are wider than the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tenbin.report.terminal.console import made_visible, make_console
from tenbin.report.terminal.run_notes import (
    budget_lines,
    choice_lines,
    chosen_lines,
    definition_lines,
    engine_mode,
    is_unscored,
    origin_lines,
    part_lines,
    partial_lines,
    sampling_lines,
    stopping_lines,
    thinking_lines,
    tool_lines,
    unscored_lines,
    usage_lines,
    without_parts,
)
from tenbin.results.schema import Detectable, MetricDetail, MetricScore, RunResult

_WIDE = 0.05
"""Half-width of an interval, as a share of the scale, from which its imprecision is noted."""
_HUGE = 1e6
"""Values from which on numbers are printed in scientific notation."""
_Justify = Literal["left", "right"]


def print_results(result: RunResult, console: Console | None = None) -> None:
    """Print the scores of a run, one line per metric, then groups, failures and notes."""
    console = console or make_console()
    result = made_visible(result)
    for line in partial_lines(result):
        console.print(Text(line, style="bold yellow"), soft_wrap=True)
    for line in budget_lines(result):
        console.print(Text(line), soft_wrap=True)
    result = without_parts(result)
    _print_scores(result, console)
    for line in stopping_lines(result):
        console.print(Text(line), soft_wrap=True)
    for line in unscored_lines(result):
        console.print(Text(line, style="red"), soft_wrap=True)
    _print_precision(result, console)
    for line in [
        *definition_lines(result),
        *chosen_lines(result),
        *part_lines(result),
        *tool_lines(result),
        *sampling_lines(result),
        *thinking_lines(result),
        *choice_lines(result),
        *origin_lines(result),
        *usage_lines(result.usage),
    ]:
        console.print(Text(line, style="dim"), soft_wrap=True)
    for cell, reasons in result.failures.items():
        for reason, count in reasons.items():
            line = f"failed: {cell}: {count:,} × {reason}"
            console.print(Text(line, style="red"), soft_wrap=True)
    # The first warning of a partial run says so, which the first line has said already.
    for warning in result.warnings[bool(result.partial) :]:
        console.print(Text(f"note: {warning}", style="yellow"), soft_wrap=True)


def _print_scores(result: RunResult, console: Console) -> None:
    """Print tables of the tasks and groups that have scores."""
    tables = []
    if _scored(result.details):
        tables.append(_score_table(result))
    if _scored(result.group_details):
        tables.append(_group_table(result))
    # A table that is too wide would be folded beyond recognition.
    if all(natural_width(table, console) <= console.width for table in tables):
        for table in tables:
            console.print(table)
    else:
        _print_stacked(result, console)


def _scored(details: Mapping[str, Mapping[str, MetricDetail]]) -> list[str]:
    """Return the ids with at least one scored document."""
    return [id for id, found in details.items() if not is_unscored(found.values())]


def natural_width(table: Table, console: Console) -> int:
    """Return the width that a table takes when nothing is folded."""
    return Measurement.get(console, console.options.update(width=10_000), table).maximum


def _print_precision(result: RunResult, console: Console) -> None:
    """Print what the least precise of the first metrics can show, if its interval is wide."""
    known = [
        (half, id, score)
        for id in result.details
        for score in result.scores(id)[:1]
        if (half := _half_width(score.detail)) is not None
    ]
    if not known:
        return
    half, id, score = max(known, key=lambda one: one[0])
    if half < _WIDE:
        return
    scale = 1 if score.detail.unit == "%" else 100
    detectable = score.detail.detectable
    unpaired = None if detectable is None else detectable.unpaired
    paired = None if detectable is None else _paired_range(detectable, scale)
    text = f"precision: {id} {score.metric}, n = {score.detail.n:,}: "
    if unpaired is None or paired is None or scale * unpaired >= 100:
        text += "too few documents to detect any difference reliably."
    else:
        text += (
            f"±{100 * half:.0f} points. Differences detectable with 80% power: "
            f"{scale * unpaired:.0f} points on other documents, "
            f"{paired} on the same ones."
        )
    console.print(Text(text, style="dim"))


def _paired_range(detectable: Detectable, scale: int) -> str | None:
    """Return the differences found on the same documents, over how alike two runs may answer."""
    known = {of: step for of, step in detectable.by_correlation.items() if step is not None}
    if not known:
        # Runs of earlier versions have one correlation only.
        return None if detectable.paired is None else f"about {scale * detectable.paired:.0f}"
    steps = sorted(known.items(), key=lambda one: one[1])
    if len(steps) == 1:
        return f"about {scale * steps[0][1]:.0f}"
    (most, least), (some, largest) = steps[0], steps[-1]
    return f"{scale * least:.0f} to {scale * largest:.0f} (correlation {most} to {some})"


def _half_width(detail: MetricDetail) -> float | None:
    """Return half the interval's width as a share of the scale; None without interval or scale."""
    if detail.states("weight") or detail.low is None or detail.high is None:
        return None
    return float(detail.high - detail.low) / (200 if detail.unit == "%" else 2)


def _print_stacked(result: RunResult, console: Console) -> None:
    """Print a heading per task and a line per metric, for narrow terminals."""
    console.print(Text(_model_line(result), style="dim"))
    for id in _scored(result.details):
        config, scores = result.configs[id], result.scores(id)
        console.print(Text(id, style="bold"))
        facts = f"template {config.template}, {config.num_fewshot}-shot, {_counts(scores[0])}"
        console.print(Text(f"  {facts}", style="dim"))
        _print_lines(scores, console)
    for id in _scored(result.group_details):
        scores, members = result.group_scores(id), len(result.group_subtasks[id])
        title = f"{id}: {members} {'task' if members == 1 else 'tasks'}"
        console.print(Text(title, style="bold"))
        console.print(Text(f"  {_counts(scores[0])}", style="dim"))
        _print_lines(scores, console)


def _counts(score: MetricScore) -> str:
    n, clusters = score.detail.n, score.detail.clusters
    units = f" ({count_clusters(clusters)})" if clusters and clusters != n else ""
    return f"n = {n:,}{units}, {score.detail.failed:,} failed"


def count_clusters(count: int) -> str:
    """Return `1 cluster`, `51 clusters`."""
    return "1 cluster" if count == 1 else f"{count:,} clusters"


def _print_lines(scores: Sequence[MetricScore], console: Console) -> None:
    width = max((len(_metric_name(score)) for score in scores), default=0)
    for score in scores:
        value, error, interval = _numbers(score)
        line = f"  {_metric_name(score):<{width}}  {value} ± {error}  {interval}"
        console.print(Text(line), soft_wrap=len(line) > console.width)
        mean, mean_error = _unweighted(score.detail)
        if mean not in ("–", value):
            console.print(f"  {'':<{width}}  mean of tasks {mean} ± {mean_error}", highlight=False)


def _table(title: str, *columns: tuple[str, _Justify]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, justify in columns:
        # Ids may be folded on a narrow terminal; numbers never are.
        fixed = justify == "right" or name == "metric"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=fixed)
    return table


def _score_table(result: RunResult) -> Table:
    table = _table(
        _model_line(result),
        ("task", "left"),
        ("template", "left"),
        ("n", "right"),
        ("shots", "right"),
        ("metric", "left"),
        ("value", "right"),
        ("± error", "right"),
        ("95% interval", "right"),
        ("failed", "right"),
    )
    for id in _scored(result.details):
        config, scores = result.configs[id], result.scores(id)
        for position, score in enumerate(scores):
            first = position == 0
            table.add_row(
                f"{config.task} {config.version}" if first else "",
                config.template if first else "",
                f"{score.detail.n:,}" if first else "",
                str(config.num_fewshot) if first else "",
                _metric_name(score),
                *_numbers(score),
                _failed(score.detail) if first else "",
                end_section=position == len(scores) - 1,
            )
    return table


def _group_table(result: RunResult) -> Table:
    table = _table(
        "groups (value: mean weighted by number of documents, or as the group is defined)",
        ("group", "left"),
        ("tasks", "right"),
        ("n", "right"),
        ("items", "right"),
        ("metric", "left"),
        ("value", "right"),
        ("± error", "right"),
        ("95% interval", "right"),
        ("mean of tasks", "right"),
        ("failed", "right"),
    )
    for id in _scored(result.group_details):
        for position, score in enumerate(result.group_scores(id)):
            first, clusters = position == 0, score.detail.clusters
            table.add_row(
                id if first else "",
                str(len(result.group_subtasks[id])) if first else "",
                f"{score.detail.n:,}" if first else "",
                f"{clusters:,}" if first and clusters is not None else "",
                _metric_name(score),
                *_numbers(score),
                _unweighted(score.detail)[0],
                _failed(score.detail) if first else "",
            )
    return table


def _model_line(result: RunResult) -> str:
    engine = result.engine or {}
    parts = [
        str(result.model.get("model")),
        str(result.model.get("dtype")),
        str(result.model.get("device")),
        f"{engine.get('name')} engine, {engine_mode(engine)}",
    ]
    return " · ".join(part for part in parts if part not in ("None", "none"))


def _metric_name(score: MetricScore) -> str:
    return f"{score.metric} {'↑' if score.detail.higher_is_better else '↓'}"


def _numbers(score: MetricScore) -> tuple[str, str, str]:
    """Return value, standard error and interval as printed."""
    detail = score.detail
    return _written(score.value, score.stderr, detail.low, detail.high, detail.unit)


def _unweighted(detail: MetricDetail) -> tuple[str, str]:
    """Return the unweighted mean of a group's tasks and its standard error as printed."""
    mean = detail.unweighted
    if mean is None:
        return "–", "–"
    return _written(mean.value, mean.stderr, None, None, detail.unit)[:2]


def _written(
    value: float | None, stderr: float | None, low: float | None, high: float | None, unit: str
) -> tuple[str, str, str]:
    # Two decimals of a percentage are four of a fraction; perplexities have no upper bound.
    form = ".2f" if unit else ".4e" if value is not None and value >= _HUGE else ".4f"
    return (
        "–" if value is None else f"{value:{form}}{unit}",
        "–" if stderr is None else f"{stderr:{form}}{unit}",
        "–" if low is None or high is None else f"[{low:{form}}, {high:{form}}]",
    )


def _failed(detail: MetricDetail) -> Text:
    return Text(f"{detail.failed:,}", style="red bold" if detail.failed else "dim")
