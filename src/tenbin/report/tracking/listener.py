"""A run that is tracked while it goes on: `--export wandb,mlflow`.

A tracker has a thread of its own: a server that is slow, or gone, holds nothing up. Its first
failure ends the tracking, with one warning; the run and its files do not depend on it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tenbin.pipeline.progress import Listener, Relay, RunStart
from tenbin.report.export.names import short_name
from tenbin.report.tracking.content import tracked_result, tracked_run
from tenbin.report.tracking.names import cell_place, part_name
from tenbin.report.tracking.settings import TrackingSettings, tracking_settings
from tenbin.report.tracking.stored import failure_text
from tenbin.report.tracking.tracker import Tracker, check_trackers, open_tracker
from tenbin.results.read import read_run

if TYPE_CHECKING:
    from tenbin.config import RunConfig
    from tenbin.pipeline.finish import CompletedRun

_SECONDS_BETWEEN = 10.0
_SECONDS_TO_COMPLETE = 600.0
_SECONDS_TO_FAIL, _SECONDS_TO_STOP = 60.0, 1.0
"""A run that is stopped ends within five seconds."""
_SECONDS_OF_SILENCE = 3.0
_Job = Callable[[Tracker], None]


def tracked(config: RunConfig, listener: Listener) -> Listener:
    """The listener of a run: itself, or one that informs trackers too where `--export` names some.

    Raises:
        ConfigError: As `check_tracking` does.
    """
    if not config.export:
        return listener
    return TrackingListener(listener, config.export, check_tracking(config))


def check_tracking(config: RunConfig) -> TrackingSettings:
    """Where a run is to be tracked, once it is clear that it can be.

    Raises:
        ConfigError: A client or its key is missing, or `--export_args` are wrong.
    """
    settings = tracking_settings(config.export_args)
    check_trackers(config.export, settings)
    return settings


class TrackingListener(Relay):
    """Passes everything on to another listener, and sends trackers what concerns them."""

    watches_scores = True

    def __init__(
        self, listener: Listener, names: tuple[str, ...], settings: TrackingSettings
    ) -> None:
        """Nothing is tracked yet."""
        super().__init__(listener)
        self._names, self._settings = names, settings
        self._threads: list[TrackerThread] = []
        self._places: Mapping[str, str] = {}
        self._sent, self._state = 0.0, ""

    def begin(self, start: RunStart) -> None:
        """Show the run as one that goes on."""
        super().begin(start)
        self._places = {cell.id: cell_place(cell) for cell in start.cells}
        self._threads = [TrackerThread(name, self._settings) for name in self._names]
        run = tracked_run(
            start.run_id,
            short_name(start.model),
            start.config.recorded(),
            profile=start.config.profile_settings.name,
            fingerprint=start.fingerprint,
        )
        self._give(lambda tracker: tracker.begin(run))

    def partial(self, document: Mapping[str, Any]) -> None:
        """Send how far the run is, every few seconds."""
        super().partial(document)
        self._speak()
        now, state = time.monotonic(), str(document["state"])
        if state == self._state and now - self._sent < _SECONDS_BETWEEN:
            return
        self._sent, self._state = now, state
        values, answered = _points(document, self._places), int(document["answered"])
        self._give(lambda tracker: tracker.progress(values, answered), replaceable=True)

    def complete(self, run: CompletedRun) -> None:
        """Send scores, samples and report, and wait until they are there."""
        super().complete(run)
        stored = read_run(run.folder.path) if run.folder is not None else None
        result = tracked_result(run.result, run.samples, stored)
        self._give(lambda tracker: tracker.complete(result))
        self._wait(_SECONDS_TO_COMPLETE)

    def abort(self, error: BaseException) -> None:
        """Show the run as one without a result, if that takes no time."""
        super().abort(error)
        if isinstance(error, Exception):
            reason = failure_text(error)
            self._give(lambda tracker: tracker.abort("failed", reason))
            self._wait(_SECONDS_TO_FAIL)
        else:
            self._give(lambda tracker: tracker.abort("stopped", "it was stopped"))
            self._wait(_SECONDS_TO_STOP)

    def _give(self, job: _Job, replaceable: bool = False) -> None:
        for thread in self._threads:
            thread.give(job, replaceable)

    def _wait(self, seconds: float) -> None:
        began, notified = time.monotonic(), False
        for thread in self._threads:
            while not thread.end(0.2) and time.monotonic() - began < seconds:
                if not notified and time.monotonic() - began > _SECONDS_OF_SILENCE:
                    notified = True
                    self.message(f"sending the run to {' and '.join(self._names)}")
            if thread.is_alive():
                thread.failure = thread.failure or f"no answer within {seconds:g} seconds"
        self._speak()
        self._threads = []

    def _speak(self) -> None:
        """Say what trackers have said, in this thread: a progress bar is for one."""
        for thread in self._threads:
            for line in thread.lines():
                self.message(line)


class TrackerThread(threading.Thread):
    """A tracker in a thread of its own, which works jobs off until one of them fails."""

    def __init__(self, name: str, settings: TrackingSettings) -> None:
        """Started, with nothing to do."""
        super().__init__(name=f"tenbin-{name}", daemon=True)
        self._tracker_name, self._settings = name, settings
        self._jobs: deque[tuple[_Job, bool]] = deque()
        """What waits, and whether a later one of its kind replaces it."""
        self._changed = threading.Condition()
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ending = False
        self.failure = ""
        """Why it tracks nothing any more; empty: nothing failed."""
        self._warned = False
        self.start()

    def give(self, job: _Job, replaceable: bool) -> None:
        """One more job, in place of the last one if both are replaceable and it still waits."""
        with self._changed:
            if replaceable and self._jobs and self._jobs[-1][1]:
                self._jobs.pop()
            self._jobs.append((job, replaceable))
            self._changed.notify()

    def _next(self) -> _Job | None:
        """The next job; None once there will be no more."""
        with self._changed:
            while not self._jobs and not self._ending:
                self._changed.wait()
            return self._jobs.popleft()[0] if self._jobs else None

    def end(self, seconds: float) -> bool:
        """Whether all jobs are done within so many seconds; none may be given any more."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self.join(seconds)
        return not self.is_alive()

    def lines(self) -> list[str]:
        """What the user should know, each line once."""
        found = []
        while not self._said.empty():
            found.append(self._said.get())
        if self.failure and not self._warned:
            self._warned = True
            found.append(
                f"--export {self._tracker_name} failed and is left out, the run goes on: "
                f"{self.failure}; `tenbin export --to {self._tracker_name}` sends a stored run"
            )
        return found

    def run(self) -> None:
        """Work jobs off."""
        try:
            tracker = open_tracker(self._tracker_name, self._settings, self._said.put)
            while (job := self._next()) is not None:
                job(tracker)
        except BaseException as error:
            # A client may even raise SystemExit: nothing of it concerns the run.
            self.failure = failure_text(error)


def _points(document: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, float]:
    """The points of curves in what progress.json says."""
    found = {
        "progress/answered": float(document["answered"]),
        "progress/requests": float(document["requests"]),
    }
    for row in document["cells"]:
        place = places.get(row["id"])
        if place is None:
            continue  # all prompts of a sweep on a budget together
        found[f"partial/{place}/documents"] = float(row["answered"])
        for metric, entry in row["scores"].items():
            for end, key in (("", "value"), ("_stderr", "stderr"), ("_n", "n")):
                if entry[key] is not None:
                    found[f"partial/{place}/{part_name(metric)}{end}"] = float(entry[key])
    return found
