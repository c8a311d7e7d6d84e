"""Partial scores: what they say while a run goes on, and that nothing of them stays."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tenbin.pipeline.judge
import tenbin.pipeline.partial_scores
from tenbin.backends.base import Backend, BackendSettings
from tenbin.backends.registry import open_backend
from tenbin.config import build_config
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.records import Failure, Request, Response
from tenbin.results.progress import PROGRESS

pytestmark = pytest.mark.usefixtures("cache")


def read_progress(folder: Path) -> dict[str, Any] | None:
    path = folder / PROGRESS
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


class Slow:
    """A backend that looks at progress.json after each answer, and may break off or fail."""

    def __init__(self, inner: Backend, folder: Path, stop_after: int | None = None) -> None:
        self._inner, self._folder, self._stop = inner, folder, stop_after
        self.seen: list[dict[str, object]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[str, Response]]:
        for number, (key, response) in enumerate(self._inner.run(requests)):
            if self._stop == number:
                raise KeyboardInterrupt
            yield key, Failure("test", "made to fail") if number == 1 else response
            found = read_progress(self._folder)
            assert found is not None
            self.seen.append(found)


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, stop_after: int | None = None) -> Slow:
    monkeypatch.setattr(tenbin.pipeline.partial_scores, "_SECONDS_BETWEEN", 0.0)
    config = build_config(
        {
            "model": "scripted",
            "tasks": "jnli,jsquad",
            "sample_data": True,
            "limit": 8,
            "extra_metrics": "jnli*:acc_pmi",
            "output_path": str(folder / "r.json"),
        }
    )
    slow = Slow(open_backend(BackendSettings(model="scripted")), folder / "r.run", stop_after)
    execute(config, Listener(), slow)  # type: ignore[arg-type]
    return slow


def test_partial_scores_end_at_the_run_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = run(tmp_path, monkeypatch)
    answered = [found["answered"] for found in slow.seen]
    assert answered == list(range(1, len(answered) + 1))
    assert {found["state"] for found in slow.seen} == {"asking"}
    last = {cell["id"]: cell for cell in slow.seen[-1]["cells"]}  # type: ignore[attr-defined]
    document = json.loads((tmp_path / "r.json").read_text())
    for id, entries in document["results"].items():
        assert last[id]["answered"] == last[id]["documents"] == 8
        for metric, entry in last[id]["scores"].items():
            assert entry["value"] == pytest.approx(entries[metric])
            assert entry["failed"] == document["details"][id][metric]["failed"]
    assert "mcc" not in last["jnli-1.3-0.2"]["scores"], "only means have a partial value"
    assert "acc_pmi" in last["jnli-1.3-0.2"]["scores"]
    failed = [entry["failed"] for cell in last.values() for entry in cell["scores"].values()]
    assert any(failed), "the failed answer is seen"
    assert read_progress(tmp_path / "r.run") is None, "the result says more now"


def test_a_run_is_loading_until_the_first_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[object] = []

    class Loads(Slow):
        def run(self, requests: Iterable[Request]) -> Iterator[tuple[str, Response]]:
            found = read_progress(self._folder)
            states.append(found and found["state"])
            yield from self._inner.run(list(requests))

    monkeypatch.setattr(f"{__name__}.Slow", Loads)
    run(tmp_path, monkeypatch)
    assert states == ["loading"]


def test_errors_are_those_of_independent_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = run(tmp_path, monkeypatch)
    scores = slow.seen[-1]["cells"][1]["scores"]["f1"]  # type: ignore[index]
    rows = tenbin.load_run(tmp_path / "r.json").samples
    values = [
        outcome["value"]
        for row in rows
        if row["task"] == "jsquad"
        for outcome in row["outcomes"]
        if outcome["metric"] == "f1" and outcome["value"] is not None
    ]
    assert scores["stderr"] == pytest.approx(statistics.stdev(values) / len(values) ** 0.5)


def test_a_run_that_breaks_off_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, monkeypatch, stop_after=5)
    left = read_progress(tmp_path / "r.run")
    assert left is not None
    assert left["state"] == "stopped" and left["answered"] == 5


def test_what_earlier_runs_answered_is_judged_behind_the_first_new_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    judge = tenbin.pipeline.judge.judge_planned

    def counted(task: object, planned: Any, answers: object) -> Any:
        judged.append(planned.key)
        return judge(task, planned, answers)  # type: ignore[arg-type]

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, monkeypatch, stop_after=9)
    monkeypatch.setattr(tenbin.pipeline.judge, "judge_planned", counted)

    class Asked(Slow):
        def run(self, requests: Iterable[Request]) -> Iterator[tuple[str, Response]]:
            assert judged == [], "a run goes on before it judges what it knows"
            yield from super().run(requests)

    monkeypatch.setattr(f"{__name__}.Slow", Asked)
    slow = run(tmp_path, monkeypatch)
    assert slow.seen[0]["answered"] == 9
    last = slow.seen[-1]["cells"]
    assert [cell["answered"] for cell in last] == [8, 8]  # type: ignore[attr-defined]
    assert len(judged) == len(set(judged)) == 16, "every document once"
