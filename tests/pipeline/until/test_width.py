"""Runs that stop on the width of an interval: blocks, the journal, and what is refused."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tenbin.config import build_config
from tenbin.errors import ConfigError
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.report.terminal.run_notes import stopping_lines
from tenbin.results.read import read_run
from tests.pipeline.until.early_stops import ID, ROWS, Heard, Model, evaluated, without_clock

pytestmark = pytest.mark.usefixtures("cache")


def test_a_run_stops_on_the_width_of_its_interval(data: Path) -> None:
    heard, model = Heard(), Model(0.9)
    result = evaluated(data, model, heard, until="±5")
    assert result.stopping is not None and result.stopping.seed == 1234
    stop = result.stopping.widths[ID]
    detail = result.details[ID]["acc"]
    assert detail.low is not None and detail.high is not None
    assert (stop.metric, stop.target, stop.reached, stop.documents) == ("acc", 5.0, True, ROWS)
    assert stop.half_width == pytest.approx(50 * (detail.high - detail.low))
    assert stop.half_width <= 5 < 50 * (stop.blocks[-2].high - stop.blocks[-2].low)  # type: ignore[operator]
    assert [block.documents for block in stop.blocks] == [50, 100, 150][: len(stop.blocks)]
    assert stop.stopped_at == detail.n == result.n_samples[ID].effective < ROWS
    assert not result.partial and not result.n_samples[ID].states("asked")
    assert model.rounds == [50] * len(stop.blocks), "a block is a round of its own"
    assert heard.lines[-1].endswith("documents: stopped at ±5")
    assert stopping_lines(result) == [
        f"until: {ID}: stopped at ±5: acc ±{stop.half_width:.2f} points after {stop.stopped_at} of "
        f"700 documents in {len(stop.blocks)} blocks, in random order"
    ]


@pytest.mark.parametrize("stop_after", [0, 50, 73])
def test_a_run_that_was_killed_stops_where_it_would_have_stopped(
    data: Path, tmp_path: Path, stop_after: int
) -> None:
    undisturbed = evaluated(data, Model(0.9), until="5", cache_dir=str(tmp_path / "other"))
    with pytest.raises(KeyboardInterrupt):
        evaluated(data, Model(0.9, stop_after=stop_after), until="5")
    model = Model(0.9)
    result = evaluated(data, model, until="5")
    assert without_clock(result) == without_clock(undisturbed)
    assert model.answered == undisturbed.n_samples[ID].effective - stop_after
    again = Model(0.9)
    assert without_clock(evaluated(data, again, until="5")) == without_clock(undisturbed)
    assert again.answered == 0


def killed_in_its_second_block(data: Path, out: str) -> None:
    model = Model(0.9, stop_after=73)
    model.stop = lambda: os.kill(os.getpid(), signal.SIGKILL)
    evaluated(data, model, until="5", output_path=out)


def test_a_process_that_was_killed_goes_on(data: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "r.json")
    context = multiprocessing.get_context("fork")
    process = context.Process(target=killed_in_its_second_block, args=(data, out))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    model = Model(0.9)
    result = evaluated(data, model, until="5", output_path=out)
    assert result.stopping is not None and result.stopping.widths[ID].reached
    assert model.answered == result.n_samples[ID].effective - 73
    other = str(tmp_path / "other")
    assert without_clock(evaluated(data, Model(0.9), until="5", cache_dir=other)) == {
        name: value for name, value in without_clock(result).items() if name != "samples"
    }


def test_a_longer_run_continues(data: Path) -> None:
    first = evaluated(data, Model(0.9), until="+-5")
    model = Model(0.9)
    second = evaluated(data, model, until="±3.5")
    assert second.stopping is not None and second.stopping.widths[ID].reached
    asked = [one.n_samples[ID].effective for one in (first, second)]
    assert asked[0] < asked[1] == asked[0] + model.answered
    whole = Model(0.9)
    evaluated(data, whole)
    assert whole.answered == ROWS - asked[1]


def test_a_full_journal_changes_nothing(data: Path, tmp_path: Path) -> None:
    fresh = evaluated(data, Model(0.9), until="±5", cache_dir=str(tmp_path / "other"))
    evaluated(data, Model(0.9))
    known = evaluated(data, Model(0.9), until="±5")
    assert without_clock(known) == without_clock(fresh)


def test_the_order_is_random_and_the_seed_s(data: Path, tmp_path: Path) -> None:
    def asked(seed: int, limit: float | None = None) -> set[str]:
        out = str(tmp_path / f"{seed}-{limit}.json")
        evaluated(data, Model(0.9), until="±9", seed=seed, limit=limit, output_path=out)
        return {sample.document for sample in read_run(out).samples()}

    first = asked(1)
    assert first == asked(1) != asked(2)
    assert len({int(document) // 100 for document in first}) == 7, "from all parts of the file"


def test_several_tasks_stop_each_by_itself(data: Path) -> None:
    model = Model(0.9)
    result = evaluated(
        data, model, tasks="jcommonsenseqa-1.1-0.2,jcommonsenseqa-1.1-0.3", until="±5,±4"
    )
    assert result.stopping is not None
    first, second = result.stopping.widths.values()
    assert (first.target, second.target) == (5.0, 4.0)
    assert first.reached and second.reached and first.stopped_at < second.stopped_at
    assert model.rounds[0] == 50 + second.blocks[0].documents, "both in one portion"
    assert result.details[ID]["acc"].n == first.stopped_at


def test_a_target_that_is_not_reached_asks_all(data: Path) -> None:
    heard = Heard()
    result = evaluated(data, Model(0.5), heard, until="±3")
    assert result.stopping is not None
    stop = result.stopping.widths[ID]
    assert not stop.reached and stop.stopped_at == ROWS and stop.half_width > 3  # type: ignore[operator]
    assert any("takes 1,067 documents at a score of 50 %" in line for line in heard.lines)
    assert "±3 was not reached" in stopping_lines(result)[0]


def test_a_target_out_of_reach_is_refused_before_a_model_loads(data: Path) -> None:
    model = Model(0.5)
    with pytest.raises(ConfigError, match=r"takes 9,604 documents .* and 1,\d+ at 95 %.* has 700"):
        evaluated(data, model, until="±1")
    assert not model.rounds


def test_metrics_without_a_scale_are_refused(cache: Path) -> None:
    config = build_config(
        {"model": "scripted", "tasks": "plain_text_ja", "sample_data": True, "until": 2}
    )
    with pytest.raises(ConfigError, match="no highest value"):
        execute(config, Listener(), None, False)


def test_a_run_that_is_stopped_by_the_user_is_partial_and_goes_on(
    data: Path, tmp_path: Path
) -> None:
    out = str(tmp_path / "r.json")
    with pytest.raises(KeyboardInterrupt):
        evaluated(data, Model(0.9, stop_after=70), until="±5", output_path=out)
    part = read_run(out).result
    assert part.partial and part.n_samples[ID].asked == ROWS and part.stopping is None
    result = evaluated(data, Model(0.9), until="±5", output_path=out)
    assert not result.partial and result.stopping is not None
    with pytest.raises(ConfigError, match=r"until: \[5.0\] → \[4.0\]"):
        evaluated(data, Model(0.9), until="±4", output_path=out)
    with pytest.raises(ConfigError, match=r"until: \[5.0\] → null"):
        evaluated(data, Model(0.9), output_path=out)
    assert read_run(out).result.run_id == result.run_id != evaluated(data, Model(0.9)).run_id


def test_scores_of_whole_blocks_have_a_confidence_sequence(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "tenbin.pipeline.partial_scores.write_progress",
        lambda folder, progress: written.append(progress),
    )
    evaluated(data, Model(0.9), until="±5", output_path=str(tmp_path / "r.json"))
    scores = [progress["cells"][0]["scores"]["acc"] for progress in written]
    assert "sequence" not in scores[0] and written[0]["requests"] == 0, "nothing is asked yet"
    last = scores[-1]["sequence"]
    assert last["n"] == scores[-1]["n"] and last["low"] < scores[-1]["value"] < last["high"]
    written.clear()
    evaluated(data, Model(0.9), output_path=str(tmp_path / "whole.json"))
    assert all("sequence" not in p["cells"][0]["scores"]["acc"] for p in written)
