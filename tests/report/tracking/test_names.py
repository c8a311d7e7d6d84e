"""Names of scores: equal for what was asked alike, and such as every tracker takes."""

from __future__ import annotations

import re

import pytest

from tenbin.records import Cell
from tenbin.report.tracking.names import cell_place, part_name, score_places
from tests.report.export.made_runs import ACC, HOSTILE, run
from tests.results.made_result import cell_config


def test_a_sweep_and_a_run_give_one_name_and_other_shots_another() -> None:
    plain = Cell("jnli", "1.3", "0.2", 3, 1234)
    swept = Cell("jnli", "1.3", "0.2", 3, 1234, "@3shot")
    seeded = Cell("jnli", "1.3", "0.2", 3, 1235, "@3shot@seed1235")
    assert cell_place(plain) == cell_place(swept) == "jnli-1.3-0.2/3-shot"
    assert cell_place(seeded) == "jnli-1.3-0.2.seed1235/3-shot"
    assert cell_place(Cell("jnli", "1.3", "0.2", 0, 1234)) == "jnli-1.3-0.2/0-shot"


def test_a_group_has_the_shots_of_its_tasks() -> None:
    configs = {"a": cell_config(task="a"), "b": cell_config(task="b")}
    shots = configs["a"].num_fewshot
    made = run("m", {"a": ACC, "b": ACC}, configs=configs, groups={"g": (ACC, ["a", "b"])})
    assert score_places(made.result)["g"] == f"g/{shots}-shot"
    other = configs["b"].model_copy(update={"num_fewshot": shots + 1})
    made = run(
        "m", {"a": ACC, "b": ACC}, configs={**configs, "b": other},
        groups={"g": (ACC, ["a", "b"])},
    )  # fmt: skip
    assert score_places(made.result)["g"] == "g/several-shots"


@pytest.mark.parametrize("text", [HOSTILE, "../..", "a/b", "", ".", "x" * 400, "a:b", "=1+1", " a"])
def test_any_text_becomes_one_part_of_a_name(text: str) -> None:
    found = part_name(text)
    assert re.fullmatch(r"[\w.\- ]{1,80}", found) and found.strip(". ") == found
    assert part_name(text) == found


def test_texts_that_differ_in_odd_characters_keep_different_names() -> None:
    names = ["a/b", "a:b", "a b", "a_b", "a&b", "天秤", "天/秤", "x" * 100, "x" * 101]
    assert len({part_name(one) for one in names}) == len(names)
    assert part_name("exact_match,strict") == "exact_match.strict"
    assert part_name("天秤") == "天秤"
