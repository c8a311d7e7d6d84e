"""Suites, profiles and tasks without data, through the whole pipeline with scripted answers."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.config import build_config
from tenbin.errors import ConfigError, DataError
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.prepare import load_data
from tenbin.report.html.summary import run_summary
from tenbin.report.terminal.console import make_console
from tenbin.report.terminal.scores import print_results

pytestmark = pytest.mark.usefixtures("cache")

SAMPLES = Path(tenbin.__file__).parent / "catalog" / "sample_data"


def evaluate(**options: object) -> tenbin.Run:
    return tenbin.evaluate(ScriptedBackend(), **{"sample_data": True, "limit": 4, **options})


def shots(**options: object) -> dict[str, int]:
    config = build_config({"sample_data": True, **options})
    return {setup.cell.id: setup.cell.shots for setup in choose_cells(config)}


def test_a_suite_is_its_tasks_with_their_mean() -> None:
    run = evaluate(suite="jp_stable")
    assert run.document["n-shot"] == {
        "jsquad-1.1-0.2": 2,
        "jcommonsenseqa-1.1-0.2": 3,
        "jnli-1.1-0.2": 3,
        "marc_ja-1.1-0.2": 3,
    }
    found = run.document["results"]
    acc = [found[id]["acc"] for id in found if "acc" in found[id]]
    mean = run.document["groups"]["jp_stable_4"]
    assert mean["mean"] == pytest.approx(
        (sum(100 * one for one in acc) + found["jsquad-1.1-0.2"]["exact_match"]) / 4
    )
    detail = run.document["group_details"]["jp_stable_4"]["mean"]
    assert detail["unit"] == "%" and detail["low"] <= mean["mean"] <= detail["high"]
    definition = run.document["group_definitions"]["jp_stable_4"]
    assert definition["metrics"]["jsquad-1.1-0.2"] == "exact_match"
    assert set(definition["weights"].values()) == {0.25}
    assert run.document["chosen_by"]["jnli-1.1-0.2"] == {"num_fewshot": "group jp_stable_4"}
    assert run.document["config"]["suite"] == ["jp_stable"]


def test_the_mean_is_in_the_table_with_its_weighting(capsys: pytest.CaptureFixture[str]) -> None:
    print_results(evaluate(suite="jp_stable").result, make_console())
    shown = capsys.readouterr().out
    assert "jp_stable_4: plain mean of its tasks: exact_match of 1, acc of 3 tasks" in shown
    assert "group jp_stable_4 chose: 2 examples, 3 examples" in shown


def test_results_without_suites_have_no_new_keys() -> None:
    document = evaluate(tasks="jnli").document
    assert not {"group_definitions", "chosen_by", "skipped"} & set(document)
    assert not {"suite", "skip_missing"} & set(document["config"])


def test_what_the_user_names_wins() -> None:
    run = evaluate(suite="jp_stable", num_fewshot=1, template="0.3", limit=3)
    assert set(run.document["n-shot"].values()) == {1}
    assert all(id.endswith("-0.3") for id in run.document["results"])
    assert "chosen_by" not in run.document
    assert any("defined with other numbers of examples" in w for w in run.document["warnings"])


def test_a_suite_is_one_entry_after_the_tasks() -> None:
    found = shots(tasks="jaquad", suite="jp_stable", num_fewshot="1,0")
    assert found == {
        "jaquad-0.1-0.2": 1,
        "jsquad-1.1-0.2": 0,
        "jcommonsenseqa-1.1-0.2": 0,
        "jnli-1.1-0.2": 0,
        "marc_ja-1.1-0.2": 0,
    }
    with pytest.raises(ConfigError, match="suite jp_stable"):
        shots(tasks="jaquad", suite="jp_stable", num_fewshot="1,0,2")


def test_a_run_needs_tasks_or_a_suite() -> None:
    with pytest.raises(ConfigError, match="no tasks were named"):
        build_config({"sample_data": True})


def test_chat_profile_asks_without_examples_in_a_chat() -> None:
    config = build_config({"tasks": "mlogiqa_gen_ja", "profile": "zero-shot-chat"})
    assert config.apply_chat_template
    (setup,) = choose_cells(config)
    assert (setup.cell.template, setup.cell.shots) == ("native", 0)
    assert dict(setup.chosen_by) == {
        "template": "profile zero-shot-chat",
        "num_fewshot": "profile zero-shot-chat",
    }


def test_chat_profile_yields_to_the_user() -> None:
    given = {"tasks": "mlogiqa_gen_ja-1.0-paper,mlogiqa_mcq_ja", "profile": "zero-shot-chat"}
    config = build_config({**given, "apply_chat_template": False, "template": "default"})
    assert not config.apply_chat_template
    assert {setup.cell.template for setup in choose_cells(config)} == {"paper", "default"}


def test_likelihood_profile_shows_four_examples_where_nobody_says_otherwise() -> None:
    profile = "few-shot-likelihood"
    assert shots(tasks="jnli", profile=profile) == {"jnli-1.3-0.2": 4}
    assert shots(tasks="jnli", profile=profile, num_fewshot=1) == {"jnli-1.3-0.2": 1}
    assert set(shots(suite="jp_stable", profile=profile).values()) == {2, 3}
    assert shots(tasks="plain_text_ja", profile=profile) == {"plain_text_ja": 0}


@pytest.fixture
def without_marc_ja(tmp_path: Path) -> Path:
    for name in ("jsquad", "jcommonsenseqa", "jnli"):
        shutil.copytree(SAMPLES / "jglue_v1.1" / name, tmp_path / "jglue_v1.1" / name)
    return tmp_path


def test_missing_data_is_an_error_that_names_the_task_and_the_flag(without_marc_ja: Path) -> None:
    with pytest.raises(DataError, match=r"marc_ja-1\.1-0\.2: MARC-ja") as caught:
        evaluate(suite="jp_stable", sample_data=False, data_dir=str(without_marc_ja))
    assert "--skip_missing" in caught.value.hint


def test_skip_missing_leaves_the_task_out_and_records_it(without_marc_ja: Path) -> None:
    run = evaluate(
        suite="jp_stable", sample_data=False, data_dir=str(without_marc_ja), skip_missing=True
    )
    assert "marc_ja-1.1-0.2" not in run.document["results"]
    assert "MARC-ja" in run.document["skipped"]["marc_ja-1.1-0.2"]
    assert run.document["groups"] == {}, "a mean of some members is another mean"
    warnings = "\n".join(run.document["warnings"])
    assert "left out, since the data cannot be had: marc_ja" in warnings
    assert "jp_stable_4: no mean: marc_ja is not in this run" in warnings


def test_skip_missing_does_not_hide_that_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="MARC-ja"):
        evaluate(tasks="marc_ja", sample_data=False, data_dir=str(tmp_path), skip_missing=True)


def test_sample_rows_may_be_too_few_for_the_examples_of_a_definition() -> None:
    config = build_config({"tasks": "jnli", "sample_data": True})
    (setup,) = choose_cells(config)
    many = replace(setup, cell=replace(setup.cell, shots=900))
    data = load_data(config, [many])
    assert data.kept([many]) == [many], "the user's own number is an error later on"
    (fitted,) = data.kept([replace(many, chosen_by=(("num_fewshot", "suite x"),))])
    assert 0 < fitted.cell.shots < 30
    assert any("too few for all examples: jnli-1.3-0.2" in line for line in data.notices())


def test_a_report_says_how_an_average_is_weighted() -> None:
    summary = run_summary("run", "run", evaluate(suite="jp_stable").result, {}, 0)
    assert [(group.id, group.weighting) for group in summary.groups] == [
        ("jp_stable_4", "plain mean of its tasks")
    ]


def test_a_task_is_shown_by_the_metric_that_enters_the_mean() -> None:
    run = evaluate(suite="japanese", profile="zero-shot-chat", limit=1)
    entering = run.document["group_definitions"]["japanese"]["metrics"]
    first = {id: next(iter(metrics)) for id, metrics in run.document["details"].items()}
    assert {id: first[id] for id in entering} == entering
    assert first["jnli_gen-1.0-chat"] == "exact_match,flexible-extract"
    of_fields = run.document["group_details"]["jmmlu_gen_stem-1.1-chat"]
    assert next(iter(of_fields)) == "exact_match,flexible-extract"
    assert next(iter(run.document["groups"])) == "japanese"
    alone = evaluate(tasks="jnli_gen", limit=1)
    assert next(iter(alone.document["details"]["jnli_gen-1.0-chat"])) == "exact_match,strict-match"
