"""Stop on SIGINT, SIGTERM or SIGHUP: within five seconds, and with what there is written down.

A signal raises `Stopped` in the main thread. That is not heard while a library computes, so a
second thread listens too: where the main thread has not begun to save what there is after a
second, it does so itself, and it ends the process when the time is over. `rescuing` says what
is worth saving.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

PREPARE_SECONDS = 10.0
"""Work that goes on for so long is worth preparing for its end; shorter work is over by then."""
TAKE_OVER_SECONDS = 1.0
"""After so long whoever listens saves what the main thread has not begun to save."""
SECONDS_TO_SAVE = 3.0
"""After so long no further document is looked at; what is there is written."""
LIMIT_SECONDS = 4.5
"""After so long the process ends, whatever it does."""
_ECHO_SECONDS = 0.25
"""Programs around this one pass Ctrl-C on: what comes so soon is the same keystroke."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PARK = signal.SIGURG
"""Sent by the listening thread to the main one, so that it waits for the end."""
_SHOW_CURSOR = b"\x1b[?25h"


class Stopped(KeyboardInterrupt):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def stopped_by(error: KeyboardInterrupt) -> int:
    """The number of the signal; Python's own interrupt is SIGINT's.

    A library may put an interrupt of its own in place of ours, as Ray does while it waits.
    """
    if isinstance(error, Stopped):
        return error.number
    return _guard.number if _guard is not None and _guard.number else int(signal.SIGINT)


def stop_message(number: int, more: str = "") -> str:
    """What is said at the end."""
    word = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    return f"{word}{f'; {more}' if more else ''}"


class _Rescue:
    """Something to save, by whichever thread comes first."""

    def __init__(self, save: Callable[[], None], prepare: Callable[[], None] | None) -> None:
        self._save, self.prepare = save, prepare
        self._begun = threading.Lock()

    def begin(self) -> bool:
        """Whether the caller is to save; the first one is."""
        return self._begun.acquire(blocking=False)

    def save(self) -> None:
        self._save()


_rescue: _Rescue | None = None
_began = 0.0
"""When the signal came, on the monotonic clock; 0: none did."""


@contextmanager
def rescuing(save: Callable[[], None], prepare: Callable[[], None] | None = None) -> Iterator[None]:
    """While inside, a stop first saves what there is.

    Args:
        save: Called once, by this thread or by another one while this one is stuck.
        prepare: Makes ready what saving needs; called by another thread when the work has gone on
            for some seconds, or as soon as the signal comes.
    """
    global _rescue
    mine = _rescue = _Rescue(save, prepare)
    timer = threading.Timer(PREPARE_SECONDS, prepare or (lambda: None))
    timer.daemon, timer.name = True, "tenbin-prepare"
    timer.start()
    try:
        yield
    except KeyboardInterrupt:
        if not mine.begin():
            _park()
        mine.save()
        raise
    finally:
        timer.cancel()
        _rescue = None


_saved = ""


def note_saved(text: str) -> None:
    """Have said at the end what was saved."""
    global _saved
    _saved = text


def what_was_saved() -> str:
    """What was saved by the time of the end; empty: nothing was."""
    return _saved


def seconds_to_save() -> float:
    """How long saving may still look at documents."""
    if _began == 0.0:
        return SECONDS_TO_SAVE
    return max(0.0, _began + SECONDS_TO_SAVE - time.monotonic())


@contextmanager
def finishing() -> Iterator[None]:
    """While inside, a stop waits for the end of the block, as long as its time lasts."""
    guard = _guard
    if guard is None:
        yield
        return
    guard.deferred = True
    try:
        yield
    finally:
        guard.deferred = False
    if guard.number:
        raise Stopped(guard.number)


def _park() -> None:
    """Wait until another thread ends the process."""
    while True:
        time.sleep(60)


class _Guard:
    """Listens to signals, in the main thread and beside it."""

    def __init__(self, signals: tuple[signal.Signals, ...], more: Callable[[], str]) -> None:
        self.number = 0
        """Of the signal that came; 0: none did."""
        self.deferred = False
        self._more = more
        self._taken = False
        self._first = 0
        """The same as `number`, by what the listening thread has heard."""
        self._steps: list[tuple[float, Callable[[int], None]]] = []
        # Here: `--help` needs no socket, and should be instant.
        import socket

        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        # A signal that was ignored stays ignored: nohup does that to SIGHUP.
        heard = [one for one in signals if signal.getsignal(one) is not signal.SIG_IGN]
        self._before = {one: signal.signal(one, self._handle) for one in (*heard, _PARK)}
        self._fd_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._heard = {int(one) for one in heard}
        threading.Thread(target=self._listen, name="tenbin-stop", daemon=True).start()

    def close(self) -> None:
        """Listen no longer; once a signal came, the time goes on to run."""
        if self.number:
            return
        signal.set_wakeup_fd(self._fd_before)
        for one, before in self._before.items():
            signal.signal(one, before)
        self._writer.close()  # which the listening thread sees

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == _PARK:
            if self._taken:
                _park()
            return
        if self.number:
            return
        self.number = number
        if not self.deferred:
            raise Stopped(number)

    def _listen(self) -> None:
        """Beside the main thread: note signals, and see to it that time is kept."""
        while True:
            ready, _, _ = select.select([self._reader], [], [], self._wait())
            if not ready:
                continue
            received = self._reader.recv(64)
            if not received:
                self._reader.close()
                return
            for byte in received:
                if byte in self._heard:
                    self._note(byte)

    def _wait(self) -> float | None:
        """Do what is due; how long it is until the next step, None where there is none."""
        while self._steps and self._steps[0][0] <= time.monotonic():
            self._steps.pop(0)[1](self._first)
        return max(0.0, self._steps[0][0] - time.monotonic()) if self._steps else None

    def _note(self, number: int) -> None:
        global _began
        now = time.monotonic()
        if not self._first:
            self._first, _began = number, now
            self._steps = [
                (now + TAKE_OVER_SECONDS, self._take_over),
                (now + LIMIT_SECONDS, self._end),
            ]
            if _rescue is not None and _rescue.prepare is not None:
                threading.Thread(target=_rescue.prepare, name="tenbin-ready", daemon=True).start()
        elif number == signal.SIGINT and now - _began > _ECHO_SECONDS:
            self._end(self._first)

    def _take_over(self, number: int) -> None:
        rescue = _rescue
        if rescue is None or not rescue.begin():
            return
        self._taken = True
        signal.pthread_kill(threading.main_thread().ident or 0, _PARK)

        def save() -> None:
            try:
                rescue.save()
            except Exception as error:
                note_saved(f"no partial result could be written: {type(error).__name__}: {error}")
            self._end(number)

        threading.Thread(target=save, name="tenbin-save", daemon=True).start()

    def _end(self, number: int) -> None:
        """End at once: whatever holds the interpreter's locks, no cleaning up waits for them."""
        for process in _children():
            with suppress(OSError):
                process.kill()
        said = f"\ntenbin: {stop_message(number, self._more())}\n".encode()
        with suppress(OSError):
            os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + said)
        os._exit(128 + number)


def _children() -> list[Any]:
    """Processes that this one has started through multiprocessing, where it has."""
    module = sys.modules.get("multiprocessing")
    return list(module.active_children()) if module is not None else []


_guard: _Guard | None = None


@contextmanager
def stopping_on_signals(
    more: Callable[[], str] = str, signals: tuple[signal.Signals, ...] = _SIGNALS
) -> Iterator[None]:
    """Listen to signals while inside; for the main thread of a program of our own.

    Args:
        more: Gives what to say beside that it was stopped.
        signals: Those that stop.
    """
    global _guard
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _guard = _Guard(signals, more)
    try:
        yield
    finally:
        _guard.close()
        if not _guard.number:
            _guard = None
