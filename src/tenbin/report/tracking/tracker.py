"""The protocol of a tracker: a program that keeps runs beside each other."""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

from tenbin.errors import ConfigError, TenbinError
from tenbin.report.tracking.content import TrackedResult, TrackedRun
from tenbin.report.tracking.settings import TrackingSettings

Notify = Callable[[str], None]
Ending = Literal["failed", "stopped"]


class Tracker(Protocol):
    """One run in one such program. Its methods may block and raise whatever its client raises."""

    def begin(self, run: TrackedRun) -> None:
        """Show the run as one that goes on; one that is there already is updated."""

    def progress(self, values: Mapping[str, float], answered: int) -> None:
        """Add a point to curves, at this number of answers."""

    def complete(self, result: TrackedResult) -> None:
        """Write scores, tables and the report, and show the run as finished."""

    def abort(self, ending: Ending, reason: str) -> None:
        """Show the run as one without a result."""


def check_trackers(names: Sequence[str], settings: TrackingSettings) -> None:
    """See that the clients are there, and that W&B has a key, before anything is done.

    Raises:
        ConfigError: Something is missing, with a hint.
    """
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise ConfigError(
                f"export to {name} needs its client, which is not installed",
                f"pip install 'tenbin[{name}]', or python -m pip install {name}",
            )
        if name == "wandb":
            from tenbin.report.tracking.wandb_tracker import check_key

            check_key(settings)


def open_tracker(name: str, settings: TrackingSettings, notify: Notify) -> Tracker:
    """The tracker of this name.

    Args:
        name: `wandb` or `mlflow`.
        settings: Where runs go.
        notify: Called with a line that says where a run is to be seen, and what was there before.
    """
    if name == "wandb":
        from tenbin.report.tracking.wandb_tracker import WandbTracker

        return WandbTracker(settings, notify)
    from tenbin.report.tracking.mlflow_tracker import MlflowTracker

    return MlflowTracker(settings, notify)


def import_client(name: str) -> Any:
    """The client library.

    Raises:
        ConfigError: It cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(
            f"export to {name}: its client cannot be imported: {error}",
            f"pip install 'tenbin[{name}]'",
        ) from error


@contextmanager
def report_files(result: TrackedResult, notify: Notify) -> Iterator[list[Path]]:
    """The HTML report in a temporary folder: the page and, of very large runs, its blocks.

    No files where the run was not stored, or charts cannot be drawn here.
    """
    if result.stored is None:
        yield []
        return
    from tenbin.report.html.build import build_page
    from tenbin.report.html.write import write_page

    with tempfile.TemporaryDirectory(prefix="tenbin-") as folder:
        page = Path(folder) / "report.html"
        try:
            blocks = write_page(build_page([replace(result.stored, result=result.result)]), page)
        except TenbinError as error:
            notify(f"without the report: {error.message}")
            yield []
            return
        yield [page, *([blocks] if blocks else [])]
