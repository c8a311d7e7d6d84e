"""The progress that a run from Python shows unless it is given a listener."""

from __future__ import annotations

import html
import sys
import time
from typing import TYPE_CHECKING, Any

from tenbin.pipeline.progress import Listener
from tenbin.sandbox.printable import visible

if TYPE_CHECKING:
    from tenbin.config import RunConfig

_SECONDS_BETWEEN = 0.25


def choose_listener(listener: Listener | None, progress: bool | None) -> Listener:
    """The listener of a run.

    Args:
        listener: The caller's own, which is taken as it is.
        progress: Whether to show a progress bar; None shows one in a notebook, and in a script
            whose standard error is a terminal.
    """
    if listener is not None:
        return listener
    if progress is False:
        return Listener()
    if in_notebook():
        return NotebookProgress()
    if progress or sys.stderr.isatty():
        from tenbin.report.terminal.progress import open_progress

        return open_progress()
    return Listener()


def listener_of(config: RunConfig, listener: Listener) -> Listener:
    """The listener of a run, and where its `export` names trackers one that informs them too.

    Raises:
        ConfigError: A tracker lacks its client or a key.
    """
    if not config.export:
        return listener
    from tenbin.report.tracking.listener import tracked

    return tracked(config, listener)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return type(found).__name__ == "ZMQInteractiveShell"


class NotebookProgress(Listener):
    """A bar in the output of a notebook's cell, drawn over as answers come."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._handle: Any = display(HTML(""), display_id=True)
        self._messages: list[str] = []
        self._total = self._done = 0
        self._began = self._drawn = 0.0

    def message(self, text: str) -> None:
        """A line above the bar."""
        self._messages.append(text)
        self._draw()

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """A file is being downloaded."""
        if done == total:
            self.message(f"downloaded {name}: {done / 1e6:.1f} MB")
        else:
            self._draw(f"downloading {name}: {done / 1e6:.1f} MB", seldom=True)

    def prepare(self, what: str, done: int, total: int, unit: str = "documents") -> None:
        """Work on documents without the model."""
        self._draw(f"{what}: {done:,} of {total:,} {unit}", seldom=done < total)

    def start(self, total: int, work: float) -> None:
        """The model is about to be asked."""
        self._total, self._done, self._began = total, 0, time.monotonic()
        self._draw()

    def advance(self, work: float) -> None:
        """One more answer."""
        self._done += 1
        self._draw(seldom=self._done < self._total)

    def finish(self) -> None:
        """Leave the bar as it stands."""
        self._draw()

    def _draw(self, line: str = "", seldom: bool = False) -> None:
        now = time.monotonic()
        if seldom and now - self._drawn < _SECONDS_BETWEEN:
            return
        self._drawn = now
        lines = [*self._messages, *([line] if line else [])]
        parts = [f"<div>{html.escape(visible(one))}</div>" for one in lines]
        if self._total:
            seconds = now - self._began
            parts.append(
                f'<div><progress value="{self._done}" max="{self._total}"></progress> '
                f"{self._done:,} of {self._total:,} answered, {seconds:,.0f} s</div>"
            )
        self._handle.update(self._html("".join(parts)))
