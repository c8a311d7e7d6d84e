"""Messages of a command as Python logging, under the name `tenbin`: on standard error, and in a
file.

`tenbin` has the messages for the user, `tenbin.progress` lines about progress, which a bar replaces
on a terminal, `tenbin.output` what is printed as the result, which goes into the file alone.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenbin.files.disk_errors import unwritten
from tenbin.sandbox.printable import visible

if TYPE_CHECKING:
    from rich.console import Console

LOG = logging.getLogger("tenbin")
PROGRESS = logging.getLogger("tenbin.progress")
OUTPUT = logging.getLogger("tenbin.output")
_ON_BAR = "on_bar"
"""Marks records that a bar shows already."""
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_PAGE = 120
"""Columns of what is printed, in the file."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What is shown, and where it is kept."""

    level: str = "info"
    """The least that standard error shows: debug, info, warning or error."""
    file: str | None = None
    """Where everything goes, debug lines included."""

    @property
    def number(self) -> int:
        """The level as Python counts it."""
        return int(getattr(logging, self.level.upper()))


class _Unlocked(logging.Handler):
    """Does without a lock: each record is one write, and a thread that saves what there is before
    the process ends must not wait for one that was stopped while it wrote."""

    def createLock(self) -> None:
        """Create none."""
        self.lock = None


class TerminalHandler(_Unlocked):
    """Writes records to standard error: above the bar where there is one."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._console: Any = None

    @property
    def console(self) -> Console:
        """The console that a bar is drawn on, so that lines do not run into it."""
        if self._console is None:
            from tenbin.report.terminal.console import make_error_console

            self._console = make_error_console()
        return self._console  # type: ignore[no-any-return]

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        if record.name == OUTPUT.name or getattr(record, _ON_BAR, False):
            return
        text = visible(record.getMessage())
        if sys.stderr.isatty():
            from rich.text import Text

            line = Text("tenbin: ", style="dim").append_text(Text(text, style=_style(record)))
            self.console.print(line)
        else:
            print(f"tenbin: {text}", file=sys.stderr, flush=True)


def _style(record: logging.LogRecord) -> str:
    if record.levelno >= logging.ERROR:
        return "red"
    return {logging.WARNING: "yellow", logging.DEBUG: "dim"}.get(record.levelno, "not dim")


class _FileHandler(_Unlocked, logging.FileHandler):
    """Writes records to a file, each with its time."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one record as a line, or as several where its text has several."""
        return visible(super().format(record))

    def handleError(self, record: logging.LogRecord) -> None:
        """Say once that the file takes no more, and go on without it: the run matters more."""
        LOG.removeHandler(self)
        reason = sys.exc_info()[1]
        LOG.error("%s cannot be written any more: %s", self.baseFilename, reason)


@contextmanager
def logging_as(settings: LogSettings) -> Iterator[None]:
    """Show and keep messages as the user wants them, for the time of one command.

    Raises:
        StorageError: The file cannot be written.
    """
    before = LOG.handlers, LOG.level, LOG.propagate
    handlers = start_logging(settings)
    try:
        yield
    finally:
        LOG.handlers, LOG.propagate = before[0], before[2]
        LOG.setLevel(before[1])
        for one in handlers:
            one.close()


def start_logging(settings: LogSettings) -> list[logging.Handler]:
    """The same for the rest of the process; returns what messages go to.

    Raises:
        StorageError: The file cannot be written.
    """
    handlers: list[logging.Handler] = [TerminalHandler(settings.number)]
    if settings.file is not None:
        handlers.append(_open_file(Path(settings.file)))
    LOG.handlers, LOG.propagate = handlers, False
    LOG.setLevel(min(one.level for one in handlers))
    return handlers


def _open_file(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise unwritten(path, error) from error
    handler.setLevel(logging.DEBUG)
    handler.setFormatter(logging.Formatter(_FORMAT))
    return handler


def terminal_handler() -> TerminalHandler | None:
    """Return what shows messages on standard error.

    Where nobody has said what becomes of messages, as in a script that asks for progress, one is
    put up. None where the program around tenbin handles them itself.
    """
    found = next((one for one in LOG.handlers if isinstance(one, TerminalHandler)), None)
    if found is not None or (LOG.hasHandlers() and LOG.isEnabledFor(logging.INFO)):
        return found
    handler = TerminalHandler(logging.INFO)
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    return handler


def log_progress(text: str, on_bar: bool) -> None:
    """Log a line about progress; `on_bar`: a bar shows the same."""
    PROGRESS.info(text, extra={_ON_BAR: on_bar})


def log_output(show: Callable[[Console], None]) -> None:
    """Keep what is printed as a result in the log's file, if there is one.

    Args:
        show: Prints it on the console that it is given.
    """
    if not any(isinstance(one, logging.FileHandler) for one in LOG.handlers):
        return
    from tenbin.report.terminal.console import PlainConsole

    page = io.StringIO()
    show(PlainConsole(file=page, width=_PAGE, color_system=None))
    for line in page.getvalue().splitlines():
        OUTPUT.info(line.rstrip())
