"""Which tasks of several runs belong together, so that they can stand side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tenbin.report.html.model import AlignedTask
from tenbin.results.schema import RunResult


def align_tasks(results: Sequence[RunResult]) -> list[AlignedTask]:
    """Return one row for every task that is shown side by side, in the order of the runs.

    Cells of the same id belong together. Runs of a task under different templates or shots have
    different ids: they belong together too if no run has several of them.
    """
    rows: list[AlignedTask] = []
    for task in dict.fromkeys(task for result in results for task, _ in _scored(result)):
        own = [[id for name, id in _scored(result) if name == task] for result in results]
        ids = list(dict.fromkeys(id for found in own for id in found))
        if len(ids) > 1 and all(len(found) < 2 for found in own):
            rows.append(AlignedTask(task, tuple(found[0] if found else None for found in own)))
            continue
        rows += [AlignedTask(id, tuple(id if id in found else None for found in own)) for id in ids]
    return rows


def _scored(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield task and id of each cell that has a score of its own."""
    for id, config in result.configs.items():
        if (config.role or "score") == "score":
            yield config.task, id
