"""Tasks that a plan can be made for, from their names: no data are read."""

from __future__ import annotations

from tenbin.analysis.plan import Candidate
from tenbin.config import RunConfig
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.tasks.summary import summary_of


def candidates_of_tasks(config: RunConfig) -> tuple[list[Candidate], dict[str, str]]:
    """The tasks that the config names with the published sizes of their data sets, and why others
    are left out.

    Where a task is chosen under several templates, each has its own comparison.
    """
    found, left_out = [], {}
    for setup in choose_cells(config):
        if setup.task.kind == "perplexity":
            left_out[setup.cell.id] = "a perplexity has no points"
        else:
            found.append(Candidate(setup.cell.id, summary_of(setup.task).documents))
    return found, left_out
