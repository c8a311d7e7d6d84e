"""Runs that stop when their difference to a stored run is decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.analysis.compare import Side, Wanted, compare_runs
from tenbin.errors import ConfigError, ResultError, TenbinError
from tenbin.report.terminal.run_notes import stopping_lines
from tenbin.results.read import read_run
from tests.pipeline.until.early_stops import ID, ROWS, Model, evaluated, without_clock

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture(scope="module")
def baseline(data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = str(tmp_path_factory.mktemp("stored") / "baseline.json")
    evaluated(data, Model(0.6, "baseline"), output_path=out, no_cache=True)
    return out


@pytest.mark.parametrize(("share", "decision"), [(0.9, "better"), (0.3, "worse")])
def test_a_clear_difference_stops_the_run(
    data: Path, baseline: str, share: float, decision: str
) -> None:
    model = Model(share)
    result = evaluated(data, model, until="decided", against=baseline)
    assert result.stopping is not None
    stop = result.stopping.decisions[ID]
    assert (stop.decision, stop.metric, stop.documents) == (decision, "acc", ROWS)
    assert result.stopping.against == baseline
    assert result.stopping.against_run_id == read_run(baseline).result.run_id
    assert model.rounds == [140] * len(stop.looks) and stop.stopped_at < ROWS
    last = stop.looks[-1]
    assert abs(last.z) >= last.boundary and last.low * last.high > 0
    assert last.n == stop.stopped_at == result.n_samples[ID].effective
    assert any("stopped by its value" in warning for warning in result.warnings)
    assert stopping_lines(result)[0].startswith(f"until: {ID}: {decision} than {baseline}: acc ")


def test_no_difference_takes_all_looks(data: Path, baseline: str) -> None:
    result = evaluated(data, Model(0.6), until="decided", against=baseline)
    assert result.stopping is not None
    stop = result.stopping.decisions[ID]
    assert stop.decision == "undecided" and len(stop.looks) == 5
    assert [look.documents for look in stop.looks] == [140, 280, 420, 560, 700]
    assert "undecided against" in stopping_lines(result)[0]
    assert not any("stopped by its value" in warning for warning in result.warnings)


def test_a_killed_comparison_makes_the_same_looks(
    data: Path, baseline: str, tmp_path: Path
) -> None:
    options = {"until": "decided", "against": baseline}
    undisturbed = evaluated(data, Model(0.75), **options, cache_dir=str(tmp_path / "other"))
    with pytest.raises(KeyboardInterrupt):
        evaluated(data, Model(0.75, stop_after=200), **options)
    assert without_clock(evaluated(data, Model(0.75), **options)) == without_clock(undisturbed)


def test_a_stored_run_with_fewer_documents_is_the_most_that_is_asked(
    data: Path, tmp_path: Path
) -> None:
    few, out = str(tmp_path / "few.json"), str(tmp_path / "out.json")
    evaluated(data, Model(0.6, "baseline"), until="±5", output_path=few)
    shared = read_run(few).result.n_samples[ID].effective
    for _ in range(2):  # the same command again is the same run
        result = evaluated(data, Model(0.6), until="decided", against=few, output_path=out)
    assert result.stopping is not None
    stop = result.stopping.decisions[ID]
    assert (stop.stopped_at, stop.shared, stop.documents) == (shared, shared, ROWS)


def test_several_comparisons_share_the_level(data: Path, tmp_path: Path) -> None:
    tasks = "jcommonsenseqa-1.1-0.2,jcommonsenseqa-1.1-0.3"
    out = str(tmp_path / "both.json")
    evaluated(data, Model(0.6, "baseline"), tasks=tasks, output_path=out)
    result = evaluated(data, Model(0.9), tasks=tasks, until="decided", against=out)
    assert result.stopping is not None
    assert [one.level for one in result.stopping.decisions.values()] == [0.025, 0.025]
    assert result.stopping.decisions[ID].looks[0].boundary > 4.9


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"num_fewshot": 2}, ResultError, "shots: 2 here, 0 there"),
        ({"tasks": "jcommonsenseqa-1.1-0.3"}, ConfigError, "no task 'jcommonsenseqa-1.1-0.3'"),
        ({"limit": 40}, ConfigError, "shares 40 independent documents"),
        ({"split": "train"}, ResultError, "split train here, validation there"),
        ({"against": "nowhere.json"}, ResultError, "nowhere"),
    ],
)
def test_runs_that_are_not_comparable_are_refused(
    data: Path, baseline: str, options: dict[str, Any], error: type[TenbinError], words: str
) -> None:
    model = Model(0.9)
    with pytest.raises(error, match=words):
        evaluated(data, model, **{"until": "decided", "against": baseline, **options})
    assert not model.rounds


def test_a_comparison_says_that_a_run_was_stopped_by_its_value(
    data: Path, baseline: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "decided.json")
    evaluated(data, Model(0.9), until="decided", against=baseline, output_path=out)
    sides = [
        Side(path, (run := read_run(path)).result, list(run.samples())) for path in (baseline, out)
    ]
    (row,) = compare_runs(sides, Wanted()).comparisons
    assert [one.kind for one in row.differences] == ["stopping"]
    assert row.n < ROWS and "do not count its looks" in row.differences[0].text
    again = {"until": "decided", "against": baseline, "output_path": out, "overwrite": True}
    evaluated(data, Model(0.6, "another model"), **again)
    undecided = read_run(out)
    sides[1] = Side(out, undecided.result, list(undecided.samples()))
    (row,) = compare_runs(sides, Wanted()).comparisons
    assert row.n == ROWS and not row.differences, "it made all its looks"
