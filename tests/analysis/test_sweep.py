"""What a sweep says, on tables small enough to check by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.analysis.sweep.report import Chosen, run_command, sweep_report
from tenbin.errors import ResultError
from tenbin.records import Cell, Outcome
from tenbin.results.schema import CellConfig, RunResult
from tests.results.made_result import cell_config, made_result

Values = dict[tuple[str, int, int], list[float | None]]
"""(template, shots, seed) → a value a document."""


def stored(values: Values, select: Values | None = None) -> tuple[RunResult, dict[Any, Any]]:
    """The result and the outcomes of one task."""
    configs: dict[str, CellConfig] = {}
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    for role, table in (("score", values), ("select", select or {})):
        for (template, shots, seed), row in table.items():
            mark = f"@{shots}shot@seed{seed}" + ("@train" if role == "select" else "")
            cell = Cell("jnli", "1.1", template, shots, seed, mark)
            configs[cell.id] = cell_config(
                template=template,
                num_fewshot=shots,
                role=role,
                split="train" if role == "select" else "validation",
            )
            outcomes[cell.id, "acc"] = [
                Outcome(cell, f"{role}{at:03}", "acc", value) for at, value in enumerate(row)
            ]
    return made_result(configs), outcomes


def report(values: Values, select: Values | None = None) -> dict[str, Any]:
    found: dict[str, Any] = sweep_report(*stored(values, select)).to_json()["tasks"][0]
    return found


A, B, C = ("0.1", 0, 1), ("0.2", 0, 1), ("0.3", 0, 1)


def test_options_spread_and_best() -> None:
    found = report({A: [1, 1, 0, 0] * 5, B: [1, 1, 1, 0] * 5, C: [0, 0, 0, 0] * 5})
    assert [option["value"] for option in found["options"]] == [0.5, 0.75, 0.0]
    assert found["best"] == 1
    assert found["spread"]["range"] == 0.75
    assert found["spread"]["mean"] == pytest.approx(1.25 / 3)
    assert found["documents"] == 20


def test_differences_are_seen_from_the_best() -> None:
    found = report({A: [1, 1, 0, 0] * 5, B: [1, 1, 1, 0] * 5, C: [0, 0, 0, 0] * 5})
    first, last = found["differences"]
    assert (first["option"], last["option"]) == (0, 2)
    assert first["difference"] == pytest.approx(0.25)
    assert (first["wins"], first["losses"], first["ties"]) == (5, 0, 15)
    assert first["low"] < 0.25 < first["high"]
    assert last["difference"] == pytest.approx(0.75)
    # McNemar's exact p-values are 2·2⁻⁵ (B over A), 2·2⁻¹⁵ (B over C) and 2·2⁻¹⁰ (A over C);
    # Holm multiplies them by 1, 3 and 2 in their order.
    assert first["p_value"] == pytest.approx(2 * 0.5**5)
    assert first["p_holm"] == pytest.approx(2 * 0.5**5)
    assert last["p_holm"] == pytest.approx(3 * 2 * 0.5**15)


def test_only_documents_that_all_options_scored_count() -> None:
    found = report({A: [1, None, 0, 1] * 3, B: [1, 1, 0, 0] * 3})
    assert found["documents"] == 9
    assert [option["failed"] for option in found["options"]] == [3, 0]
    assert found["options"][1]["value"] == pytest.approx(1 / 3)


def test_a_choice_on_held_out_documents_is_scored_apart() -> None:
    scored: Values = {A: [1, 1, 0, 0] * 5, B: [1, 1, 1, 0] * 5}
    select: Values = {A: [1] * 8, B: [1] * 7 + [0]}
    choice = report(scored, select)["choice"]
    assert choice["template"] == "0.1"
    assert choice["id"] == "jnli-1.1-0.1"
    assert choice["held_out_scores"] == [1.0, 0.875]
    assert choice["honest"]["value"] == 0.5
    assert choice["naive"] == 0.75
    assert choice["optimism"] == pytest.approx(0.25)
    assert "8 documents of 'train'" in choice["on"]


def test_a_cross_fitted_choice_says_how_often_it_was_made() -> None:
    choice = report({A: [1, 1, 1, 0] * 10, B: [0, 0, 1, 0] * 10})["choice"]
    assert choice["template"] == "0.1"
    assert choice["shares"] == [1.0, 0.0]
    assert choice["optimism"] == pytest.approx(0)


def test_draws_are_repetitions_of_an_option() -> None:
    found = report(
        {
            ("0.1", 2, 1): [1, 0, 1, 0], ("0.1", 2, 2): [1, 1, 1, 0],
            ("0.2", 2, 1): [0, 0, 1, 0], ("0.2", 2, 2): [0, 0, 0, 0],
        }
    )  # fmt: skip
    first = found["options"][0]
    assert first["value"] == pytest.approx(0.625)
    assert [draw["value"] for draw in first["draws"]] == [0.5, 0.75]
    assert first["draws_spread"]["range"] == 0.25
    shares = found["variance"]
    sources = ("prompt", "examples", "items", "chance")
    assert sum(shares[name] for name in sources) == pytest.approx(1)
    assert shares["shots"] == 2
    assert shares["varied"] == ["prompt", "examples", "items", "chance"]


def test_shots_are_options_too() -> None:
    found = report({("0.1", 0, 1): [0, 0, 1, 0] * 4, ("0.1", 3, 1): [1, 1, 1, 0] * 4})
    assert found["choice"]["shots"] == 3
    assert "variance" not in found  # one template, one draw at three shots


def test_an_unknown_metric_is_refused() -> None:
    result, outcomes = stored({A: [1.0, 0.0]})
    with pytest.raises(ResultError, match="metric 'f1'"):
        sweep_report(result, outcomes, "f1")


def test_options_without_a_common_document_are_refused() -> None:
    result, outcomes = stored({A: [1.0, None], B: [None, 1.0]})
    with pytest.raises(ResultError, match="share no scored document"):
        sweep_report(result, outcomes)


def test_the_command_repeats_what_was_told_and_quotes_it() -> None:
    config = {
        "tasks": ["jnli"], "model": "hf", "model_args": {"pretrained": "my model"},
        "templates": ["all"], "seeds": 1, "seed": 1234, "batch_size": "auto", "device": "cuda",
        "sample_data": True, "data_dir": None, "encoding": "joint", "extra_metrics": ["acc_pmi"],
        "limit": [50], "output_path": "x.json",
    }  # fmt: skip
    assert run_command(config, [Chosen("jnli-1.1-0.3", 3), Chosen("mlogiqa_mcq_ja", 0)]) == (
        "tenbin run --model hf --model_args 'pretrained=my model' --device cuda --sample_data "
        "--extra_metrics acc_pmi --tasks jnli-1.1-0.3,mlogiqa_mcq_ja --num_fewshot 3,0"
    )
    assert run_command(config, [Chosen("a", 2), Chosen("b", 2)]).endswith("--num_fewshot 2")


def test_the_command_includes_the_files_that_tasks_were_given_as() -> None:
    config = {"tasks": ["jnli", "mine/quiz.yaml"], "model": "hf", "include_path": ["more"]}
    command = run_command(config, [Chosen("jnli-1.1-0.3", 0), Chosen("quiz-1.0-b", 0)])
    assert "--include_path more,mine/quiz.yaml" in command
    alone = run_command({**config, "include_path": []}, [Chosen("quiz-1.0-b", 0)])
    assert "--include_path mine/quiz.yaml --tasks quiz-1.0-b" in alone
