"""Learning curves of stored runs: steps, points, changes, chance and agreement of wordings."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

import tenbin
from tenbin.analysis.curve.build import build_curve
from tenbin.analysis.curve.checkpoints import step_of
from tenbin.analysis.curve.report import Curve, CurveReport
from tenbin.analysis.leaderboard.models import Source
from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import ResultError
from tenbin.report.terminal.console import PlainConsole
from tenbin.report.terminal.curve import print_curve

STEPS = (100, 200, 400, 800)
TASKS = "jnli-1.3-0.2,jnli-1.3-0.3,japanese_nli,mlogiqa_mcq_ja"


@pytest.fixture(scope="module")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENBIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def evaluate(name: str, tasks: str = TASKS, **options: Any) -> tenbin.Run:
    """A model that prefers choices at random, but always the same ones."""

    def score(prompt: str, text: str) -> float:
        return -float(hashlib.sha256(f"{name}{prompt}{text}".encode()).digest()[0]) / 40 - 0.1

    given = {"num_fewshot": 0, "sample_data": True, "extra_metrics": "gold_bits_per_byte"}
    backend = ScriptedBackend(score=score, fingerprint=name)
    return tenbin.evaluate(backend, tasks=tasks, **{**given, **options})


def source(run: tenbin.Run, pretrained: str, name: str = "runs/one.run", **changed: Any) -> Source:
    arguments = changed.pop("model_args", {"pretrained": pretrained})
    changed["config"] = {**run.result.config, "model_args": arguments}
    return Source(name, run.result.model_copy(update=changed), run.sample_records)


@pytest.fixture(scope="module")
def runs(session_cache: None) -> dict[int, tenbin.Run]:
    return {step: evaluate(f"model {step}") for step in STEPS}


@pytest.fixture(scope="module")
def sources(runs: dict[int, tenbin.Run]) -> list[Source]:
    return [source(run, f"out/checkpoint-{step}") for step, run in runs.items()]


@pytest.fixture(scope="module")
def report(sources: list[Source]) -> CurveReport:
    return build_curve(sources)


def one(report: CurveReport, id: str, metric: str) -> Curve:
    (found,) = [curve for curve in report.curves if (curve.id, curve.metric) == (id, metric)]
    return found


@pytest.mark.parametrize(
    ("pretrained", "more", "name", "step"),
    [
        ("out/checkpoint-100", {}, "x", 100),
        ("out/iter_0000200", {}, "x", 200),
        ("out/global_step300", {}, "x", 300),
        ("owner/name", {"revision": "step143000"}, "x", 143_000),
        ("owner/name", {"revision": "stage1-step5k-tokens21B"}, "x", 5_000),
        ("out/base", {"peft": "out/checkpoint-7"}, "x", 7),
        ("out/final", {}, "runs/final-step-900.run", 900),
        ("out/final", {}, "runs/step_9/result.json", 9),
        ("out/footstep12", {}, "x", None),
    ],
)
def test_steps_are_read_from_names(
    runs: dict[int, tenbin.Run], pretrained: str, more: dict[str, str], name: str, step: int | None
) -> None:
    arguments = {"pretrained": pretrained, **more}
    assert step_of(source(runs[100], "", name, model_args=arguments)) == step


def test_the_trainers_state_counts_where_no_name_tells_a_step(
    runs: dict[int, tenbin.Run],
) -> None:
    told = {"model": {**runs[100].result.model, "training_step": 77}}
    assert step_of(source(runs[100], "out/final", **told)) == 77
    assert step_of(source(runs[100], "out/checkpoint-5", **told)) == 5


def test_points_are_the_scores_of_the_runs(
    report: CurveReport, runs: dict[int, tenbin.Run]
) -> None:
    assert [(c.step, c.name) for c in report.checkpoints] == [
        (step, f"checkpoint-{step}") for step in STEPS
    ]
    for id, metric in (("jnli-1.3-0.2", "acc"), ("jnli-1.3-0.2", "gold_bits_per_byte")):
        curve = one(report, id, metric)
        assert [point.value for point in curve.points] == pytest.approx(
            [runs[step].scores[id][metric] for step in STEPS]
        )
        assert all(point.band_low < point.value < point.band_high for point in curve.points)  # type: ignore[operator]
        assert curve.points[0].change is None and curve.points[-1].to_newest is None
        assert curve.points[1].change is not None and curve.points[1].change.since == 100
    group = one(report, "japanese_nli", "acc")
    assert [point.value for point in group.points] == pytest.approx(
        [runs[step].groups["japanese_nli"]["acc"] for step in STEPS]
    )
    assert group.kind == "group" and group.section == "groups"
    bits = one(report, "jnli-1.3-0.2", "gold_bits_per_byte")
    assert not bits.higher_is_better and bits.top is None and bits.signal.chance is None


def test_changes_agree_with_the_paired_comparison(
    report: CurveReport, runs: dict[int, tenbin.Run]
) -> None:
    curve = one(report, "jnli-1.3-0.2", "acc")
    p_values = []
    for before, after in pairwise(STEPS):
        row = tenbin.compare(runs[before], runs[after], cells=["jnli-1.3-0.2"]).table()[0]
        p_values.append(row["p_value"])
    found = [point.change.p_value for point in curve.points if point.change is not None]
    smallest = min(range(3), key=lambda at: p_values[at])
    assert found[smallest] == pytest.approx(min(1.0, 3 * p_values[smallest]))


def test_chance_is_guessing_or_one_answer(report: CurveReport) -> None:
    # 18 rows of jnli with three labels, of which one is the most frequent; four options otherwise.
    labels = one(report, "jnli-1.3-0.2", "acc").signal
    assert labels.chance_of in ("guessing", "one_answer") and labels.chance >= 1 / 3  # type: ignore[operator]
    options = next(
        curve for curve in report.curves if curve.task == "mlogiqa_mcq_ja" and curve.metric == "acc"
    )
    assert options.signal.chance == pytest.approx(0.25) and options.signal.chance_of == "guessing"
    assert options.signal.above_chance is False and "at_chance" in options.signal.reasons


def test_wordings_are_compared_by_the_order_of_steps(report: CurveReport) -> None:
    from scipy import stats

    first, second = (one(report, id, "acc") for id in ("jnli-1.3-0.2", "jnli-1.3-0.3"))
    assert first.signal.templates == second.signal.templates == 2
    expected = stats.kendalltau(
        [point.value for point in first.points], [point.value for point in second.points]
    ).statistic
    assert first.signal.template_agreement == pytest.approx(expected)
    alone = next(c for c in report.curves if c.task == "janli")
    assert alone.signal.templates == 1 and alone.signal.template_agreement is None


def test_a_step_without_a_task_and_one_of_fewer_documents_say_why(sources: list[Source]) -> None:
    fewer = source(evaluate("few", "jnli-1.3-0.2", limit=5), "out/checkpoint-1600")
    curve = one(build_curve([*sources, fewer]), "jnli-1.3-0.2", "acc")
    assert [point.step for point in curve.points] == list(STEPS)
    assert curve.missing == {"1600": "partial: 5 documents here, 18 there"} and curve.n == 18
    other = one(build_curve([*sources, fewer]), "jnli-1.3-0.3", "acc")
    assert "1600" in other.missing


def test_two_models_of_one_step_are_not_mixed(
    sources: list[Source], runs: dict[int, tenbin.Run]
) -> None:
    newer = source(
        evaluate("again", "jnli-1.3-0.2"), "other/checkpoint-100", date="2999-01-01T00:00:00+00:00"
    )
    found = build_curve([*sources, newer])
    (note,) = found.notes
    assert note.startswith("step 100: runs of 2 different models")
    assert found.checkpoints[0].fingerprint == newer.result.fingerprint
    # A later run of the same checkpoint adds its tasks.
    more = source(evaluate("model 100", "jcola"), "renamed/checkpoint-100")
    merged = build_curve([*sources, more])
    assert not merged.notes and len(merged.checkpoints[0].runs) == 2
    assert any(curve.task == "jcola" for curve in merged.curves)


def test_runs_without_a_step_or_an_end_are_left_out(
    sources: list[Source], runs: dict[int, tenbin.Run]
) -> None:
    lost = source(runs[100], "out/final", "runs/final.run")
    stopped = source(runs[200], "out/checkpoint-200", "runs/stopped.run", partial=True)
    found = build_curve([sources[0], lost, stopped])
    assert [c.step for c in found.checkpoints] == [100]
    assert found.unread["runs/stopped.run"] == "it was stopped before its end"
    assert "checkpoint-500" in found.unread["runs/final.run"]
    assert all(curve.signal.verdict == "unknown" for curve in found.curves)
    with pytest.raises(ResultError, match=r"no run of a checkpoint: runs/final\.run"):
        build_curve([lost])


def test_metrics_can_be_named(sources: list[Source]) -> None:
    found = build_curve(sources, ["mcc"])
    assert {curve.metric for curve in found.curves} == {"mcc"}
    every = build_curve(sources, ["all"])
    assert {"acc", "mcc", "balanced_acc"} <= {curve.metric for curve in every.curves}
    with pytest.raises(ResultError, match="no score to show"):
        build_curve(sources, ["bleu"])


def printed(report: CurveReport, width: int) -> list[str]:
    page = io.StringIO()
    print_curve(report, PlainConsole(file=page, width=width, color_system=None))
    return page.getvalue().splitlines()


def test_the_terminal_needs_80_columns(report: CurveReport) -> None:
    lines = printed(report, 80)
    assert max(map(len, lines)) <= 80
    assert lines[0] == "learning curves · 4 checkpoints, steps 100 to 800"
    text = "\n".join(lines)
    assert "signal at this size of model" in text and "…" not in text.replace("…:", "")
    row = next(line for line in lines if "acc ↑" in line and any(bar in line for bar in "▁█"))
    assert sum(row.count(bar) for bar in "▁▂▃▄▅▆▇█") == 4


def test_the_api_gives_rows_and_frames(sources: Sequence[Source], tmp_path: Any) -> None:
    evaluate("a", "jnli-1.3-0.2", output_path=str(tmp_path / "checkpoint-1.json"))
    evaluate("b", "jnli-1.3-0.2", output_path=str(tmp_path / "checkpoint-2.json"))
    found = tenbin.curve(tmp_path)
    frame = found.to_pandas()
    assert list(frame.columns) == list(found.columns) and len(frame) == 4
    assert frame["step"].tolist() == [1, 2, 1, 2]
    assert frame["change"].notna().tolist() == [False, True, False, True]
    signals = found.signals.to_pandas()
    assert signals["metric"].tolist() == ["acc", "gold_bits_per_byte"]
    assert "2 learning curves over 2 checkpoints, steps 1 to 2" in repr(found)
    assert found.document["schema_version"] == 1
