"""A clock that is set while a run goes on: no duration, estimate or stamp may break."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta, timezone
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.report.serve.index import list_runs
from tenbin.report.terminal.progress import LineProgress
from tenbin.results.progress import write_progress
from tests.pipeline.test_run import evaluate

pytestmark = pytest.mark.usefixtures("cache")
HOURS = (0, -30, 5, -2_000, 400)


class Jumping(datetime):
    """Tells another time whenever it is asked."""

    jumps = cycle(HOURS)

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + timedelta(hours=next(cls.jumps))


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wall clock jumps by hours and months, back and forth; the monotonic one goes on."""
    plain, hours = time.time, cycle(HOURS)
    monkeypatch.setattr(time, "time", lambda: plain() + 3600 * next(hours))
    monkeypatch.setattr(time, "time_ns", lambda: int(time.time() * 1e9))
    for module in ("run", "partial_scores", "finish"):
        monkeypatch.setattr(f"tenbin.pipeline.{module}.datetime", Jumping)


@pytest.mark.usefixtures("jumping")
def test_a_run_on_a_clock_that_jumps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tenbin.pipeline.partial_scores._SECONDS_BETWEEN", 0.0)
    for name in ("BETWEEN_LINES", "OF_RATE", "OF_BURST"):
        monkeypatch.setattr(f"tenbin.report.terminal.progress._SECONDS_{name}", 0.0)
    written: list[dict[str, Any]] = []

    def keep(folder: Path, progress: Any) -> None:
        written.append(json.loads(json.dumps(progress)))
        write_progress(folder, progress)

    monkeypatch.setattr("tenbin.pipeline.partial_scores.write_progress", keep)
    run = evaluate(limit=3, output_path=str(tmp_path / "r.json"), listener=LineProgress())
    assert 0 <= run.document["total_evaluation_time_seconds"] < 60
    datetime.fromisoformat(run.document["date"])
    assert len({one["updated"] for one in written}) > 3
    assert all(datetime.fromisoformat(one["updated"]).tzinfo for one in written)
    said = capsys.readouterr().err
    assert "left" in said and "-" not in said.replace("jcommonsenseqa-1.1-0.3", "")
    assert run.scores == evaluate(limit=3, no_cache=True).scores


@pytest.mark.usefixtures("jumping")
def test_runs_that_begin_in_one_second_get_folders_of_their_own(tmp_path: Path) -> None:
    paths = set()
    for number in range(len(HOURS) + 1):
        backend = ScriptedBackend(fingerprint=f"model {number}")
        paths.add(tenbin.evaluate(backend, tasks=["jnli"], sample_data=True, limit=1,
                                  output_path=str(tmp_path)).path)  # fmt: skip
    assert len(paths) == len(HOURS) + 1


@pytest.mark.parametrize(("hours", "state"), [(0, "asking"), (-2, "silent"), (2, "silent")])
def test_a_run_whose_last_word_is_far_from_now_is_silent(
    tmp_path: Path, hours: int, state: str
) -> None:
    """Also in the future: the clock was set back after it had died."""
    moment = (datetime.now(timezone.utc) + timedelta(hours=hours)).isoformat(timespec="seconds")
    folder = tmp_path / "run"
    folder.mkdir()
    write_progress(folder, {"state": "asking", "updated": moment, "started": moment, "cells": []})
    assert [row["state"] for row in list_runs(tmp_path)] == [state]
