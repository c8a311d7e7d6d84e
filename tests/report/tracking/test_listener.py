"""A tracker that breaks, hangs or lags leaves the run as it is."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.config import build_config
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.report.tracking import listener as tracking
from tenbin.report.tracking.settings import TrackingSettings


class Told:
    """A tracker that notes what it is told, and fails where it is to."""

    def __init__(self, fails_at: str = "") -> None:
        self.calls: list[str] = []
        self.values: list[Mapping[str, float]] = []
        self._fails_at = fails_at
        self.result: Any = None

    def _note(self, name: str) -> None:
        self.calls.append(name)
        if name == self._fails_at:
            raise SystemExit("a client that ends the process")

    def begin(self, run: Any) -> None:
        self._note("begin")

    def progress(self, values: Mapping[str, float], answered: int) -> None:
        self.values.append(values)
        self._note("progress")

    def complete(self, result: Any) -> None:
        self.result = result
        self._note("complete")

    def abort(self, ending: str, reason: str) -> None:
        self._note(f"abort {ending}: {reason}")


class Messages(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)


def run_with(tracker: Told, monkeypatch: pytest.MonkeyPatch, place: Path) -> tuple[Any, Messages]:
    monkeypatch.setattr(tracking, "open_tracker", lambda *given: tracker)
    messages = Messages()
    config = build_config({
        "model": "scripted", "tasks": "jnli", "sample_data": True, "no_cache": True,
        "output_path": str(place / "r.json"),
    })  # fmt: skip
    listener = tracking.TrackingListener(messages, ("wandb",), TrackingSettings())
    return execute(config, listener), messages


def test_a_run_begins_goes_on_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = Told()
    finished, messages = run_with(tracker, monkeypatch, tmp_path)
    assert tracker.calls[0] == "begin" and tracker.calls[-1] == "complete"
    assert tracker.result.run.id == finished.result.run_id
    acc = finished.result.results["jnli-1.3-0.2"]["acc"]
    assert tracker.values[-1]["partial/jnli-1.3-0.2/0-shot/acc"] == acc
    assert tracker.values[-1]["progress/answered"] == 18
    assert not any("failed" in line for line in messages.lines)


@pytest.mark.parametrize("where", ["begin", "progress", "complete"])
def test_a_failure_is_one_warning(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = Told(fails_at=where)
    finished, messages = run_with(tracker, monkeypatch, tmp_path)
    assert tracker.calls[-1] == where
    assert sum("--export wandb failed" in line for line in messages.lines) == 1
    assert tenbin.load_run(tmp_path / "r.json").scores["jnli-1.3-0.2"]
    assert finished.result.samples is not None


def test_a_tracker_that_lags_gets_the_last_state_only() -> None:
    free, tracker = threading.Event(), Told()
    thread = tracking.TrackerThread.__new__(tracking.TrackerThread)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tracking, "open_tracker", lambda *given: tracker)
        thread.__init__("wandb", TrackingSettings())  # type: ignore[misc]
        thread.give(lambda _: free.wait(30) and None, False)
        for number in range(20):
            values = {"at": float(number)}
            thread.give(lambda one, values=values: one.progress(values, 0), True)  # type: ignore[misc]
        free.set()
        assert thread.end(30)
    assert tracker.values[-1] == {"at": 19.0} and len(tracker.values) <= 2


def test_a_run_that_breaks_is_said_to_be_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tenbin.pipeline import run as pipeline

    def broken(*given: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(pipeline, "ask", broken)
    tracker = Told()
    with pytest.raises(OSError):
        run_with(tracker, monkeypatch, tmp_path)
    assert tracker.calls[-1] == "abort failed: OSError: no space"
