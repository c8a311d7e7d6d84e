"""Whether a sweep can report by the metric that it is asked for, before anything is run."""

from __future__ import annotations

from collections.abc import Sequence

from tenbin.errors import ConfigError
from tenbin.metrics.registry import metric_names
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.statistics.measured import LINEAR


def check_metric(metric: str | None, setups: Sequence[CellSetup]) -> None:
    """Refuse a metric that no task has, and one that a budget cannot estimate.

    Args:
        metric: As `--metric` names it; None: each task's first.
        setups: The cells of the sweep; those on a budget have a share.

    Raises:
        ConfigError: Naming the metrics there are.
    """
    known: dict[str, None] = {}
    for setup in {(one.task.name, one.task.version): one for one in setups}.values():
        names = metric_names(setup.task)
        known |= dict.fromkeys(name for name, _ in names)
        if setup.share is None:
            continue
        means = [name for name, found in names if found.aggregation in LINEAR]
        if not means:
            raise ConfigError(
                f"{setup.task.name}: no metric is a mean over documents, which --budget needs",
                f"metrics: {', '.join(name for name, _ in names)}; sweep without --budget",
            )
        if metric in dict(names) and metric not in means:
            raise ConfigError(
                f"--metric {metric} is no mean over documents, and a sweep on a budget estimates "
                "means",
                f"means are: {', '.join(means)}; or sweep without --budget",
            )
    if metric is not None and metric not in known:
        raise ConfigError(
            f"--metric {metric}: no task of the sweep has it", f"metrics: {', '.join(known)}"
        )
