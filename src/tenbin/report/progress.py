"""How a run goes on, told to a person: a bar with an estimate, or plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from typing import Any

from tenbin.report.escaping import visible

_SECONDS_BETWEEN_LINES = 15.0
_SECONDS_OF_PACE = 2.0
"""Answers come in batches: what a shorter time shows is no pace."""


def open_progress() -> BarProgress | LineProgress:
    """A bar on a terminal, lines elsewhere. Everything goes to stderr: stdout is for results."""
    return BarProgress() if sys.stderr.isatty() else LineProgress()


class _Pace:
    """How long something that may be over at once has gone on, and what is left of it."""

    def __init__(self) -> None:
        self._what, self._began = "", 0.0
        self._first = self._last = 0

    def line(self, what: str, done: int, total: int) -> str | None:
        """What to say of it; None while it has not taken long."""
        now = time.monotonic()
        if what != self._what or done < self._last:
            # It is told of when a first part is done: the pace counts from there.
            self._what, self._began, self._first = what, now, done
        self._last = done
        elapsed = now - self._began
        if elapsed < _SECONDS_OF_PACE or done == self._first:
            return None
        if done >= total:
            return f"{what}: {total:,} documents in {_clock(elapsed)}"
        left = _clock(elapsed * (total - done) / (done - self._first))
        return f"{what}: {done:,} of {total:,} documents, about {left} left"


class LineProgress:
    """One line now and then, for logs."""

    def __init__(self) -> None:
        self._pace = _Pace()
        self._total = self._done = 0
        self._work = self._worked = self._worked_before = 0.0
        self._started = self._spoken = 0.0

    def message(self, text: str) -> None:
        """A line of its own."""
        print(f"tenbin: {visible(text)}", file=sys.stderr, flush=True)

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """Speak when the last line is long ago, and at the end."""
        now = time.monotonic()
        if done == total or now - self._spoken >= _SECONDS_BETWEEN_LINES:
            self._spoken = now
            self.message(f"fetching {name}: {_size(done, total)}")

    def prepare(self, what: str, done: int, total: int) -> None:
        """Speak when the last line is long ago, and at the end of what took long."""
        line, now = self._pace.line(what, done, total), time.monotonic()
        if line and (done >= total or now - self._spoken >= _SECONDS_BETWEEN_LINES):
            self._spoken = now
            self.message(line)

    def start(self, total: int, work: float) -> None:
        """Asking begins; a model that is loaded here comes first."""
        self._total, self._work = total, work
        self._done, self._worked, self._worked_before = 0, 0.0, 0.0
        self._started = self._spoken = time.monotonic()
        times = "once" if total == 1 else f"{total:,} times"
        self.message(f"asking {times}, as soon as the model is ready")

    def advance(self, work: float) -> None:
        """Speak when the last line is long ago."""
        self._done += 1
        self._worked += work
        now = time.monotonic()
        if self._done == 1:
            # Loading is over: estimates count from here, and from what is answered after it.
            self._started, self._worked_before = now, self._worked
        if now - self._spoken >= _SECONDS_BETWEEN_LINES:
            self._spoken = now
            self.message(f"{self._done:,} of {self._total:,} answered{self._estimate(now)}")

    def _estimate(self, now: float) -> str:
        """The time left at the pace so far; nothing where there is no pace yet."""
        elapsed, worked = now - self._started, self._worked - self._worked_before
        if elapsed < _SECONDS_OF_PACE or worked <= 0:
            return ""
        return f", about {_clock(elapsed * (self._work - self._worked) / worked)} left"

    def finish(self) -> None:
        """Say how it ended."""
        took = _clock(time.monotonic() - self._started)
        self.message(f"{self._done:,} of {self._total:,} answered in {took}")


class NamedProgress(LineProgress):
    """Lines of one run among several that go on side by side."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def message(self, text: str) -> None:
        """A line of its own, with the run's name."""
        super().message(f"{self._name}: {text}")


class BarProgress:
    """A bar on a terminal."""

    def __init__(self) -> None:
        from tenbin.report.console import make_error_console

        self._console = make_error_console()
        self._pace = _Pace()
        self._progress: Any = None
        self._task: Any = None
        self._total = self._done = 0

    def message(self, text: str) -> None:
        """A line above the bar."""
        from rich.text import Text

        line = Text("tenbin: ", style="dim", end="")
        self._console.print(line, Text(visible(text)), sep="")

    def transfer(self, name: str, done: int, total: int | None) -> None:
        """One line that is drawn over; it stays when the file is complete."""
        end = "\n" if done == total else "\r"
        self._console.print(f"fetching {name}: {_size(done, total)}", end=end)

    def prepare(self, what: str, done: int, total: int) -> None:
        """One line that is drawn over; it stays at the end of what took long."""
        line = self._pace.line(what, done, total)
        if line:
            end = "\n" if done >= total else "\r"
            # As wide as the terminal: a shorter line would leave the end of the one before.
            width = self._console.width - 1
            shown = f"tenbin: {line}"[:width].ljust(width)
            self._console.print(shown, end=end, highlight=False)

    def start(self, total: int, work: float) -> None:
        """Draw the bar."""
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._total, self._done = total, 0
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._progress.start()
        self._task = self._progress.add_task(
            "waiting for the model", total=work, count=f"0/{total:,}"
        )

    def advance(self, work: float) -> None:
        """Move the bar."""
        self._done += 1
        self._progress.update(
            self._task,
            advance=work,
            description="asking",
            count=f"{self._done:,}/{self._total:,}",
        )

    def finish(self) -> None:
        """Leave the bar as it stands."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _size(done: int, total: int | None) -> str:
    shown = f"{done / 1e6:.1f}"
    return f"{shown} of {total / 1e6:.1f} MB" if total is not None else f"{shown} MB"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
