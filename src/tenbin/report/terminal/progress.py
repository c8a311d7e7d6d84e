"""Progress of a run: a bar with an estimate on a terminal, lines of the log elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from tenbin.pipeline.progress import Listener
from tenbin.report.terminal.log import (
    LOG,
    LogSettings,
    log_progress,
    start_logging,
    terminal_handler,
)

_SECONDS_BETWEEN_LINES = 15.0
_SECONDS_OF_RATE = 2.0
"""Answers come in batches, so a shorter time gives no reliable rate."""
_SECONDS_OF_BURST, _SHARE_OF_BURST = 0.5, 0.02
"""Answers within this time, or this share of the time so far, count as one burst."""
_FIRST = "loading the model and computing the first batch"


def open_progress() -> LineProgress:
    """Return a bar on a terminal, else lines; both on stderr, since stdout is for results.

    No bar where messages are not wanted, or the program around tenbin handles them itself.
    """
    handler = terminal_handler()
    bar = handler is not None and handler.level <= logging.INFO and sys.stderr.isatty()
    return BarProgress() if bar else LineProgress()


class _StepTimer:
    """Elapsed and remaining time of a preparation step, reported only once it takes long."""

    def __init__(self) -> None:
        self._what, self._began = "", 0.0
        self._first = self._last = 0

    def line(self, what: str, done: int, total: int, unit: str) -> str | None:
        """Return the line to show; None while the step has not taken long."""
        now = time.monotonic()
        if what != self._what or done < self._last:
            # The first call comes when a first part is done: the rate counts from there.
            self._what, self._began, self._first = what, now, done
        self._last = done
        elapsed = now - self._began
        if elapsed < _SECONDS_OF_RATE or done == self._first:
            return None
        if done >= total:
            return f"{what}: {total:,} {unit} in {clock(elapsed)}"
        left = clock(elapsed * (total - done) / (done - self._first))
        return f"{what}: {done:,} of {total:,} {unit}, about {left} left"


class _Estimate:
    """Estimates the remaining time from the work done since the first answer.

    Answers come in bursts, one batch at a time. The rate is updated at the first answer of each
    burst: the work of all bursts before it, over the time from the first burst to this one. It
    stays the same within a burst and while the next batch is computed.
    """

    def __init__(self, work: float) -> None:
        self._work = work
        self._worked = self._worked_before = 0.0
        self._began = self._taken = 0.0
        self._rate: float | None = None
        """Seconds per unit of work."""

    def advance(self, work: float, now: float) -> None:
        """Record one answer; the rate counts from the first, when loading is over."""
        self._worked += work
        if not self._began:
            self._began, self._worked_before = now, self._worked
            self._taken = now
        elapsed, worked = now - self._began, self._worked - self._worked_before
        burst = max(_SECONDS_OF_BURST, _SHARE_OF_BURST * elapsed)
        if now - self._taken < burst:
            return
        self._taken = now
        if elapsed >= _SECONDS_OF_RATE and worked > 0:
            self._rate = elapsed / worked

    def left(self) -> float | None:
        """Return the remaining seconds at the current rate; None before there is one."""
        return None if self._rate is None else self._rate * max(0.0, self._work - self._worked)


class LineProgress(Listener):
    """One line every 15 seconds, for logs."""

    on_bar = False
    """Whether a bar shows the same."""

    def __init__(self) -> None:
        terminal_handler()
        self._step = _StepTimer()
        self._total = self._done = 0
        self._estimate = _Estimate(0.0)
        self._started = self._printed = 0.0
        self._until_first: float | None = None
        """Seconds until the first answer: the model is loaded, and a first batch computed."""
        self._announced = False

    def message(self, text: str) -> None:
        """Log a line."""
        LOG.info(text)

    def warning(self, text: str) -> None:
        """Log a line that scores depend on."""
        LOG.warning(text)

    def _line(self, text: str) -> None:
        """Log a line about progress."""
        log_progress(text, self.on_bar)

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """Log a download's progress every 15 seconds and at its end."""
        now = time.monotonic()
        if done == total or now - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = now
            self._line(f"fetching {name}: {_size(done, total)}")

    def prepare(self, what: str, done: int, total: int, unit: str = "documents") -> None:
        """Log a preparation step's progress every 15 seconds, and its end if it took long."""
        line, now = self._step.line(what, done, total, unit), time.monotonic()
        if line and (done >= total or now - self._printed >= _SECONDS_BETWEEN_LINES):
            self._printed = now
            self._line(line)

    def start(self, total: int, work: float) -> None:
        """Announce the first requests, for which the model may have to be loaded."""
        self._total, self._done = total, 0
        self._estimate = _Estimate(work)
        self._started = self._printed = time.monotonic()
        self._until_first = None
        if not self._announced:
            self._announced = True
            requests = "1 request" if total == 1 else f"{total:,} requests"
            self._line(f"{requests}; waiting for the model to load")

    def advance(self, work: float) -> None:
        """Record an answer; log progress every 15 seconds."""
        self._done += 1
        now = time.monotonic()
        self._estimate.advance(work, now)
        if self._until_first is None:
            self._until_first = now - self._started
        if now - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = now
            left = self._estimate.left()
            shown = "" if left is None else f", about {clock(left)} left"
            self._line(f"{self._done:,} of {self._total:,} answered{shown}")

    def finish(self) -> None:
        """Log the number of answers and the time they took, loading included."""
        took = clock(time.monotonic() - self._started)
        first = self._until_first or 0.0
        slow = self._done > 1 and first >= _SECONDS_OF_RATE
        after = f", the first after {clock(first)}" if slow else ""
        self._line(f"{self._done:,} of {self._total:,} answered in {took}{after}")


class NamedProgress(LineProgress):
    """Lines prefixed with the run's name, for runs that are in progress at the same time."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def message(self, text: str) -> None:
        """Log a line after the run's name."""
        super().message(f"{self._name}: {text}")

    def warning(self, text: str) -> None:
        """The same of one that scores depend on."""
        super().warning(f"{self._name}: {text}")

    def _line(self, text: str) -> None:
        super()._line(f"{self._name}: {text}")


def open_named_progress(settings: LogSettings, name: str) -> NamedProgress:
    """Return the lines of a run in a process of its own, which logs as its parent does."""
    start_logging(settings)
    return NamedProgress(name)


class BarProgress(LineProgress):
    """A bar on a terminal; the lines go into the log's file, if there is one."""

    on_bar = True

    def __init__(self) -> None:
        from tenbin.report.terminal.console import make_error_console

        super().__init__()
        handler = terminal_handler()
        self._console = handler.console if handler is not None else make_error_console()
        self._drawn = _StepTimer()
        self._progress: Any = None
        self._task: Any = None

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """Overwrite one line with a download's progress; it stays when the file is complete."""
        super().transfer(name, done, total)
        end = "\n" if done == total else "\r"
        self._console.print(f"fetching {name}: {_size(done, total)}", end=end)

    def prepare(self, what: str, done: int, total: int, unit: str = "documents") -> None:
        """Overwrite one line with a step's progress; it stays at the end of a long step."""
        from rich.cells import set_cell_size

        super().prepare(what, done, total, unit)
        line = self._drawn.line(what, done, total, unit)
        if line:
            end = "\n" if done >= total else "\r"
            # Full width, so that no end of the previous, longer line remains.
            width = self._console.width - 1
            shown = set_cell_size(f"tenbin: {line}", width)
            self._console.print(shown, end=end, highlight=False)

    def start(self, total: int, work: float) -> None:
        """Show the bar."""
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.table import Column

        super().start(total, work)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[count]}", table_column=Column(no_wrap=True)),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True)),
            console=self._console,
        )
        self._progress.start()
        self._task = self._progress.add_task(_FIRST, total=work, count=f"0/{total:,}", left="")

    def advance(self, work: float) -> None:
        """Advance the bar by one answer."""
        super().advance(work)
        left = self._estimate.left()
        self._progress.update(
            self._task,
            advance=work,
            description="running",
            count=f"{self._done:,}/{self._total:,}",
            left="" if left is None else f"about {clock(left)} left",
        )

    def finish(self) -> None:
        """Stop the bar and leave it on the screen."""
        super().finish()
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _size(done: int, total: int | None) -> str:
    shown = f"{done / 1e6:.1f}"
    return f"{shown} of {total / 1e6:.1f} MB" if total is not None else f"{shown} MB"


def clock(seconds: float) -> str:
    """Return `2 h 05 min`, `1 min 30 s`, `12 s`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
