"""A stored run as one line: its model, what it was asked, and its first score."""

from __future__ import annotations

from rich.console import Console

from tenbin.report.terminal.console import made_visible, print_note
from tenbin.report.terminal.numbers import headline_name, value_with_error
from tenbin.report.terminal.run_notes import is_unscored, partial_counts
from tenbin.report.terminal.score_lines import nested_groups
from tenbin.results.schema import MetricScore, RunResult


def print_run_line(place: str, result: RunResult, console: Console) -> None:
    """Print where a run stands, its model, its tasks and its first score.

    Args:
        place: Its folder or file, as the user wrote it.
        result: The run.
        console: Where to.
    """
    result = made_visible(result)
    tasks = len(result.details)
    documents = sum(one.effective for one in result.n_samples.values())
    parts = [
        result.model_name,
        "1 task" if tasks == 1 else f"{tasks:,} tasks",
        f"n = {documents:,}",
        _first_score(result),
    ]
    if failed := sum(sum(reasons.values()) for reasons in result.failures.values()):
        parts.append(f"{failed:,} failed")
    if (found := partial_counts(result)) is not None:
        parts.append(f"PARTIAL: {found[0]:,} of {found[1]:,} answered")
    print_note(console, f"run      {place}: {', '.join(parts)}", "yellow" if result.partial else "")


def _first_score(result: RunResult) -> str:
    """Return the score of the widest group, else of the first task that has one."""
    groups = [id for id, one in result.group_details.items() if not is_unscored(one.values())]
    if groups:
        first = nested_groups(result.group_subtasks, groups)[0].id
        return _shown(first, result.group_scores(first)[0])
    for id, details in result.details.items():
        if result.configs[id].role != "part" and not is_unscored(details.values()):
            return _shown(id, result.scores(id)[0])
    if all(result.configs[id].role == "part" for id in result.details):
        return "a sweep on a budget: no score of a single prompt"
    return "nothing scored"


def _shown(id: str, score: MetricScore) -> str:
    return f"{id} {headline_name(score)} {value_with_error(score)}"
