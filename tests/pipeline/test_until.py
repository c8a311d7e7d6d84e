"""Runs that stop early: blocks of the plan, widths, decisions, the journal, and what is refused."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tenbin.analysis.compare import Side, Wanted, compare_runs
from tenbin.backends.base import NONE_KNOWN
from tenbin.backends.scripted import ScriptedBackend
from tenbin.config import build_config
from tenbin.errors import ConfigError, ResultError, TenbinError
from tenbin.pipeline.blocks import blocks_in_random_order, looks_in_random_order
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.pipeline.sweep import execute_sweep
from tenbin.records import Request, Response
from tenbin.report.terminal.run_notes import stopping_lines
from tenbin.results.read import read_run
from tenbin.results.schema import RunResult
from tests.metrics.samples import CELL, make_choice_prompt

pytestmark = pytest.mark.usefixtures("cache")

ID = "jcommonsenseqa-1.1-0.2"
ROWS = 700


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows whose question names the right answer: models are as good as a test wants them."""
    folder = tmp_path_factory.mktemp("data")
    place = folder / "jglue_v1.1" / "jcommonsenseqa"
    place.mkdir(parents=True)
    rows = []
    for at in range(ROWS):
        row = {"q_id": at, "question": f"問い{at}（{at % 5}）"}
        row |= {f"choice{one}": f"答え{at}-{one}" for one in range(5)}
        rows.append(json.dumps({**row, "label": at % 5}, ensure_ascii=False))
    for split in ("train", "validation"):
        (place / f"{split}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return folder


def interrupt() -> None:
    raise KeyboardInterrupt


class Model(ScriptedBackend):
    """Right on a share of the documents, always the same ones; may break off after some answers."""

    def __init__(self, share: float, name: str = "model", stop_after: int = 10**9) -> None:
        super().__init__(score=self._of, fingerprint=name)
        self.capabilities = replace(self.capabilities, request_order="prefix", resumable=True)
        self._share, self._stop_after = share, stop_after
        self.rounds: list[int] = []
        self.stop: Callable[[], None] = interrupt

    def _of(self, prompt: str, continuation: str) -> float:
        question = prompt.split("問い")[1].split("）")[0]
        number, right = question.split("（")
        luck = int(hashlib.sha256(number.encode()).hexdigest()[:8], 16) / 16**8
        wanted = right if luck < self._share else str((int(right) + 1) % 5)
        return -1.0 if continuation.strip() == wanted else -2.0

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        given = list(requests)
        self.rounds.append(len(given))
        for key, response in super().run(one for one in given if one.key not in known):
            if self._stop_after == 0:
                self.stop()
            self._stop_after -= 1
            yield key, response


class Heard(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)


def evaluated(data: Path, model: Model, heard: Listener | None = None, **options: Any) -> RunResult:
    given = {"model": "scripted", "tasks": "jcommonsenseqa", "data_dir": str(data), **options}
    finished = execute(
        build_config(given), heard or Heard(), model, bool(options.get("output_path"))
    )
    return finished.result


def without_clock(result: RunResult) -> dict[str, Any]:
    left_out = ("date", "total_evaluation_time_seconds", "timing", "answers_from_journal", "config")
    return {name: value for name, value in result.to_json().items() if name not in left_out}


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


def test_ordinary_runs_ask_all_at_once_and_say_nothing(data: Path) -> None:
    model = Model(0.9)
    result = evaluated(data, model)
    assert model.rounds == [ROWS]
    assert result.stopping is None and "stopping" not in result.to_json()
    assert "until" not in result.config and stopping_lines(result) == []


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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"until": "0"}, "takes half a width"),
        ({"until": "±60"}, "takes half a width"),
        ({"until": "soon"}, "takes half a width"),
        ({"until": "decided"}, "none is named"),
        ({"until": "2", "against": "r.json"}, "no effect without --until decided"),
        ({"against": "r.json"}, "no effect without --until decided"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build_config({"tasks": "jnli", **options})


def test_sweeps_do_not_stop_early() -> None:
    config = build_config({"model": "scripted", "tasks": "jnli", "sample_data": True, "until": 9})
    with pytest.raises(ConfigError, match="a sweep compares them on the same"):
        execute_sweep(config, Listener())


def clustered_plan(sizes: list[int]) -> Plan:
    plan = Plan()
    prompts = [
        replace(
            make_choice_prompt("a", "b"), document=f"d{at}-{one}", text=f"{at} {one}", group=group
        )
        for at, size in enumerate(sizes)
        for group in [f"p{at}" if size > 1 else None]
        for one in range(size)
    ]
    plan.add(CELL, prompts, False)
    return plan


def test_clusters_stay_together_in_blocks_and_looks() -> None:
    plan = clustered_plan([1, 3, 5, 2] * 25)
    clusters = {
        one.number: one.prompt.group or one.prompt.document
        for chunk in plan.planned(CELL)
        for one in chunk
    }
    names = {one.prompt.document: 1.0 for chunk in plan.planned(CELL) for one in chunk}
    blocks = blocks_in_random_order(plan, CELL, 1, 40)
    looks = looks_in_random_order(plan, CELL, 1, names)
    for parts in (blocks, looks):
        assert sorted(number for part in parts for number in part) == list(range(len(plan)))
        of_parts = [{clusters[number] for number in part} for part in parts]
        assert sum(map(len, of_parts)) == len(set(clusters.values())), "no cluster is in two"
    assert all(40 <= len(block) < 45 for block in blocks[:-1])
    assert len(looks) == 5 and all(abs(len(look) - 55) <= 5 for look in looks)


def test_held_prompts_are_neither_asked_nor_complete() -> None:
    plan = clustered_plan([1, 1, 1])
    plan.hold_back()
    assert plan.queue.left()[0] == len(plan.queue) == 0 and plan.held == 3
    plan.release([1])
    (request,) = plan.queue.open()
    assert request.place[1] == "1 0" and plan.held == 2
    assert [plan.holds(number) for number in range(3)] == [True, False, True]
    plan.queue.settle([request.key])
    assert [one.number for one in plan.completed_by([request.key])] == [1]
    plan.release([0, 1])
    assert plan.queue.left()[0] == 1, "what is answered is not asked again"


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
