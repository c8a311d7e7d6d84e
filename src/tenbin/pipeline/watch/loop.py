"""The loop: look, choose, evaluate, until it is stopped.

A signal ends it at any moment: a run that is under way writes what it has, and the next start goes
on from there.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenbin.errors import TenbinError
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.watch.book import Book, Entry
from tenbin.pipeline.watch.evaluation import Evaluated, Evaluator
from tenbin.pipeline.watch.order import Order, choose_next
from tenbin.pipeline.watch.training import STILL_WRITTEN, Checkpoint, Look, Training

_LONGEST_PAUSE = 600.0
"""Seconds between two attempts, at most."""
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """How checkpoints are waited for and chosen."""

    order: Order = "newest"
    backlog: int = 4
    """Checkpoints that wait at a time; others are put off."""
    poll: float = 30.0
    """Seconds between two looks."""
    retries: int = 2
    """Attempts after the first that failed."""
    once: bool = False
    """End as soon as nothing is left that is complete."""
    until_idle: float | None = None
    """End after so many seconds without anything new; None: go on for ever."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, which tests make pass."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


OnEvaluated = Callable[[Checkpoint, Evaluated], None]


class Watch:
    """Evaluates the checkpoints of a training as they appear."""

    def __init__(
        self,
        training: Training,
        evaluator: Evaluator,
        settings: WatchSettings,
        listener: Listener,
        folder: Path,
        on_evaluated: OnEvaluated = lambda checkpoint, found: None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare; nothing is looked at yet.

        Args:
            training: Where checkpoints appear.
            evaluator: Runs one of them.
            settings: How they are waited for and chosen.
            listener: Receives what happens.
            folder: Where watch.json goes.
            on_evaluated: Called after each checkpoint that has a new run.
            clock: Time.
        """
        self._training, self._evaluator, self._settings = training, evaluator, settings
        self._listener, self._folder, self._on_evaluated = listener, folder, on_evaluated
        self._clock = clock or Clock()
        self._book = Book()
        self._ready: dict[str, Checkpoint] = {}
        self._prints: dict[str, str] = {}
        """Fingerprint → name of the checkpoint that was evaluated under it."""
        self._seconds: list[float] = []
        """That evaluations took."""
        self._told: set[str] = set()

    def run(self) -> Book:
        """Go on until it is stopped, and give what became of each checkpoint."""
        active = self._clock.now()
        while True:
            if self._take_note(self._training.look()):
                active = self._clock.now()
            due = self._due()
            if due:
                self._evaluate(self._next(due))
                active = self._clock.now()
                continue
            if self._ends(active):
                self._book.write(self._folder, self._training.name)
                return self._book
            self._clock.sleep(self._pause(active))

    def _take_note(self, look: Look) -> bool:
        """Enter what was seen, say what is new, and return whether anything is."""
        before = {name: (one.state, one.reason) for name, one in self._book.entries.items()}
        for checkpoint in look.ready:
            self._note_ready(checkpoint)
        for name, lacks in look.waiting.items():
            self._note_waiting(name, lacks)
        for name in look.without_step:
            self._tell(f"{name}: its name tells no step, and no trainer_state.json does: left out")
        there = {one.name for one in look.ready} | set(look.waiting)
        for entry in self._book.of("waiting", "ready", "put off", "failed"):
            if entry.name not in there:
                self._note_removed(entry, "before it was evaluated")
        after = {name: (one.state, one.reason) for name, one in self._book.entries.items()}
        if after != before:
            self._book.write(self._folder, self._training.name)
        if not after:
            self._tell(f"no checkpoint yet in {self._training.name}")
        return after != before

    def _note_ready(self, checkpoint: Checkpoint) -> None:
        entry = self._book.entries.get(checkpoint.name)
        self._ready[checkpoint.name] = checkpoint
        if entry is None or entry.state == "removed":
            self._book.entries[checkpoint.name] = Entry(checkpoint.name, checkpoint.step, "ready")
        elif entry.state == "waiting":
            entry.state, entry.step, entry.reason = "ready", checkpoint.step, ""
        elif not entry.is_open and entry.listing != checkpoint.listing:
            # Another model of the same name, or files that were mended.
            entry.state, entry.reason, entry.attempts, entry.again = "ready", "", 0, 0.0
            entry.step = checkpoint.step

    def _note_waiting(self, name: str, lacks: str) -> None:
        entry = self._book.entries.setdefault(name, Entry(name, None, "waiting"))
        if entry.state in ("evaluated", "same", "failed"):
            return  # looked at again once it is whole
        entry.state, entry.reason = "waiting", lacks
        self._ready.pop(name, None)
        if lacks != STILL_WRITTEN:
            self._tell(f"{name} is not complete: {lacks}")

    def _note_removed(self, entry: Entry, when: str) -> None:
        entry.state, entry.reason = "removed", f"removed {when}"
        self._ready.pop(entry.name, None)
        self._listener.message(f"{entry.name} was removed {when}: skipped")

    def _due(self) -> list[Entry]:
        """Checkpoints that can be evaluated now."""
        now = self._clock.now()
        return [one for one in self._book.of("ready", "put off") if one.again <= now]

    def _next(self, due: Sequence[Entry]) -> Checkpoint:
        steps = [one.step for one in due if one.step is not None]
        chosen, late = choose_next(
            steps, self._book.done_steps(), self._settings.order, self._settings.backlog
        )
        newly = [one for one in due if one.step in late and one.state == "ready"]
        for one in due:
            one.state = "put off" if one.step in late else "ready"
        if newly:
            self._listener.message(
                f"{len(due)} checkpoints wait, more than --backlog {self._settings.backlog}: put "
                f"off until there is time: {_listed([one.name for one in newly])}"
            )
        entry = next(one for one in due if one.step == chosen)
        self._announce(entry, len(due))
        return self._ready[entry.name]

    def _announce(self, entry: Entry, waiting: int) -> None:
        done = len(self._book.of("evaluated", "same"))
        said = f"{entry.name} (step {entry.step:,}): {done} of {done + waiting} done"
        if self._seconds:
            left = waiting * sum(self._seconds) / len(self._seconds)
            said += f", about {_clock_text(left)} left for those that wait"
        self._listener.message(said)

    def _evaluate(self, checkpoint: Checkpoint) -> None:
        entry = self._book.entries[checkpoint.name]
        entry.listing = checkpoint.listing
        began = self._clock.now()
        try:
            found = self._evaluator.evaluate(checkpoint)
        except TenbinError as error:
            self._failed(entry, checkpoint, str(error))
        except Exception as error:
            # Whatever it is, the other checkpoints can be run.
            self._failed(entry, checkpoint, f"{type(error).__name__}: {error}", error)
        else:
            entry.run, entry.reason = found.file.name, ""
            first = self._prints.setdefault(found.fingerprint, checkpoint.name)
            if found.result is None:
                self._note_known(entry, first, found)
            else:
                entry.state = "evaluated"
                self._seconds.append(self._clock.now() - began)
                self._on_evaluated(checkpoint, found)
        self._book.write(self._folder, self._training.name)

    def _note_known(self, entry: Entry, first: str, found: Evaluated) -> None:
        entry.state = "evaluated" if first == entry.name else "same"
        if entry.state == "same":
            entry.reason = f"the same weights as {first}"
        why = entry.reason or f"it was evaluated before ({found.file.name})"
        self._listener.message(f"{entry.name}: {why}: not run again")

    def _failed(
        self, entry: Entry, checkpoint: Checkpoint, reason: str, error: Exception | None = None
    ) -> None:
        same = self._training.unchanged(checkpoint)
        if same is None:
            self._note_removed(entry, "while it was read")
            return
        if not same:
            entry.state, entry.reason = "waiting", "it changed while it was read"
            self._listener.message(f"{entry.name} changed while it was read: it waits")
            return
        if error is not None:
            self._listener.message("".join(traceback.format_exception(error)).rstrip())
        entry.attempts += 1
        entry.reason = reason
        if entry.attempts > self._settings.retries:
            entry.state = "failed"
            self._listener.message(f"{entry.name} failed {_times(entry.attempts)}: {reason}")
            return
        pause = min(_LONGEST_PAUSE, max(1.0, self._settings.poll) * 2 ** (entry.attempts - 1))
        entry.again = self._clock.now() + pause
        self._listener.message(
            f"{entry.name} failed, attempt {entry.attempts} of {self._settings.retries + 1}: "
            f"{reason}; tried again in {_clock_text(pause)}"
        )

    def _ends(self, active: float) -> bool:
        if self._book.of("ready", "put off"):
            return False  # one is to be tried again
        if self._settings.once:
            waiting = self._book.of("waiting")
            if any(one.reason == STILL_WRITTEN for one in waiting):
                return False
            if waiting:
                named = _listed([f"{one.name} ({one.reason})" for one in waiting])
                self._listener.message(f"not complete, and not waited for: {named}")
            return True
        idle = self._settings.until_idle
        return idle is not None and self._clock.now() - active >= idle

    def _pause(self, active: float) -> float:
        """Seconds until something can be due."""
        now = self._clock.now()
        until = [now + self._settings.poll]
        until += [one.again for one in self._book.of("ready", "put off")]
        if self._settings.until_idle is not None:
            until.append(active + self._settings.until_idle)
        if self._settings.once:
            until.append(now + 1.0)
        return max(0.05, min(until) - now)

    def _tell(self, text: str) -> None:
        """Say something once."""
        if text not in self._told:
            self._told.add(text)
            self._listener.message(text)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _clock_text(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
