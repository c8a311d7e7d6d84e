"""How a run goes on, told to a person: a bar with an estimate, or plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from typing import Any

from tenbin.report.terminal.escape import visible

_SECONDS_BETWEEN_LINES = 15.0
_SECONDS_OF_PACE = 2.0
"""Answers come in batches: what a shorter time shows is no pace."""
_SECONDS_OF_BURST, _SHARE_OF_BURST = 0.5, 0.02
"""Answers that come within so long, or within this share of the time so far, are one burst."""
_FIRST = "loading, computing the first batch"


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


class _Estimate:
    """The time that is left, from the work that was done since the first answer.

    Answers come in bursts, a batch at a time. The pace is taken at the first answer of a burst:
    the work of all bursts before it, in the time from the first burst to this one. Within a burst,
    and while nothing comes because the next batch is computed, it stays.
    """

    def __init__(self, work: float) -> None:
        self._work = work
        self._worked = self._worked_before = 0.0
        self._began = self._taken = 0.0
        self._pace: float | None = None
        """Seconds for a unit of work."""

    def advance(self, work: float, now: float) -> None:
        """One more answer; loading is over with the first, and the pace counts from there."""
        self._worked += work
        if not self._began:
            self._began, self._worked_before = now, self._worked
            self._taken = now
        elapsed, worked = now - self._began, self._worked - self._worked_before
        burst = max(_SECONDS_OF_BURST, _SHARE_OF_BURST * elapsed)
        if now - self._taken < burst:
            return
        self._taken = now
        if elapsed >= _SECONDS_OF_PACE and worked > 0:
            self._pace = elapsed / worked

    def left(self) -> float | None:
        """Seconds at the pace so far; None where there is none yet."""
        return None if self._pace is None else self._pace * max(0.0, self._work - self._worked)


class LineProgress:
    """One line now and then, for logs."""

    def __init__(self) -> None:
        self._pace = _Pace()
        self._total = self._done = 0
        self._estimate = _Estimate(0.0)
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
        self._total, self._done = total, 0
        self._estimate = _Estimate(work)
        self._started = self._spoken = time.monotonic()
        times = "once" if total == 1 else f"{total:,} times"
        self.message(f"asking {times}, as soon as the model is ready")

    def advance(self, work: float) -> None:
        """Speak when the last line is long ago."""
        self._done += 1
        now = time.monotonic()
        self._estimate.advance(work, now)
        if self._done == 1:
            self._started = now  # loading is over
        if now - self._spoken >= _SECONDS_BETWEEN_LINES:
            self._spoken = now
            left = self._estimate.left()
            shown = "" if left is None else f", about {_clock(left)} left"
            self.message(f"{self._done:,} of {self._total:,} answered{shown}")

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
        from tenbin.report.terminal.console import make_error_console

        self._console = make_error_console()
        self._pace = _Pace()
        self._progress: Any = None
        self._task: Any = None
        self._total = self._done = 0
        self._estimate = _Estimate(0.0)

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
        )
        from rich.table import Column

        self._total, self._done = total, 0
        self._estimate = _Estimate(work)
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
        """Move the bar."""
        self._done += 1
        self._estimate.advance(work, time.monotonic())
        left = self._estimate.left()
        self._progress.update(
            self._task,
            advance=work,
            description="asking",
            count=f"{self._done:,}/{self._total:,}",
            left="" if left is None else f"about {_clock(left)} left",
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
