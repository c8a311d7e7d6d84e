"""Scores with every metric: tables, or stacked lines where tables are wider than the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.report.terminal.console import natural_width
from tenbin.report.terminal.numbers import count_clusters, full_numbers, metric_name, unweighted
from tenbin.results.schema import MetricDetail, MetricScore, RunResult

_Justify = Literal["left", "right"]


def print_all_metrics(
    result: RunResult, tasks: Sequence[str], groups: Sequence[str], console: Console
) -> None:
    """Print one line per metric of these groups and tasks."""
    tables = []
    if groups:
        tables.append(_group_table(result, groups))
    if tasks:
        tables.append(_score_table(result, tasks))
    # A table that is too wide would be folded beyond recognition.
    if all(natural_width(table, console) <= console.width for table in tables):
        for table in tables:
            console.print(table)
    else:
        _print_stacked(result, tasks, groups, console)


def _print_stacked(
    result: RunResult, tasks: Sequence[str], groups: Sequence[str], console: Console
) -> None:
    """Print a heading per task and a line per metric, for narrow terminals."""
    for id in groups:
        scores, members = result.group_scores(id), len(result.group_subtasks[id])
        title = f"{id}: {members} {'task' if members == 1 else 'tasks'}"
        console.print(Text(title, style="bold"))
        console.print(Text(f"  {_counts(scores[0])}", style="dim"))
        _print_lines(scores, console)
    for id in tasks:
        config, scores = result.configs[id], result.scores(id)
        console.print(Text(id, style="bold"))
        facts = f"template {config.template}, {config.num_fewshot}-shot, {_counts(scores[0])}"
        console.print(Text(f"  {facts}", style="dim"))
        _print_lines(scores, console)


def _counts(score: MetricScore) -> str:
    n, clusters = score.detail.n, score.detail.clusters
    units = f" ({count_clusters(clusters)})" if clusters and clusters != n else ""
    return f"n = {n:,}{units}, {score.detail.failed:,} failed"


def _print_lines(scores: Sequence[MetricScore], console: Console) -> None:
    width = max((len(metric_name(score)) for score in scores), default=0)
    for score in scores:
        value, error, interval = full_numbers(score)
        line = f"  {metric_name(score):<{width}}  {value} ± {error}  {interval}"
        console.print(Text(line), soft_wrap=len(line) > console.width)
        mean, mean_error = unweighted(score.detail)
        if mean not in ("–", value):
            console.print(f"  {'':<{width}}  mean of tasks {mean} ± {mean_error}", highlight=False)


def _table(title: str, *columns: tuple[str, _Justify]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, justify in columns:
        # Ids may be folded on a narrow terminal; numbers never are.
        fixed = justify == "right" or name == "metric"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=fixed)
    return table


def _score_table(result: RunResult, tasks: Sequence[str]) -> Table:
    table = _table(
        "tasks",
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
    for id in tasks:
        config, scores = result.configs[id], result.scores(id)
        for position, score in enumerate(scores):
            first = position == 0
            table.add_row(
                f"{config.task} {config.version}" if first else "",
                config.template if first else "",
                f"{score.detail.n:,}" if first else "",
                str(config.num_fewshot) if first else "",
                metric_name(score),
                *full_numbers(score),
                _failed(score.detail) if first else "",
                end_section=position == len(scores) - 1,
            )
    return table


def _group_table(result: RunResult, groups: Sequence[str]) -> Table:
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
    for id in groups:
        for position, score in enumerate(result.group_scores(id)):
            first, clusters = position == 0, score.detail.clusters
            table.add_row(
                id if first else "",
                str(len(result.group_subtasks[id])) if first else "",
                f"{score.detail.n:,}" if first else "",
                f"{clusters:,}" if first and clusters is not None else "",
                metric_name(score),
                *full_numbers(score),
                unweighted(score.detail)[0],
                _failed(score.detail) if first else "",
            )
    return table


def _failed(detail: MetricDetail) -> Text:
    return Text(f"{detail.failed:,}", style="red bold" if detail.failed else "dim")
