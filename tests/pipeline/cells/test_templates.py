"""Which templates and prompt formats a task is asked under."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.config import build_config
from tenbin.errors import ConfigError, TaskError
from tenbin.pipeline.cells.choose import choose_cells
from tests.pipeline.cells.chosen import cells


def test_all_templates_of_every_task() -> None:
    found = cells(tasks="jnli,jcommonsenseqa", templates="all")
    assert found[:2] == ["jnli-1.3-0.2", "jnli-1.3-0.3"]
    assert {id.rsplit("-", 1)[1] for id in found if id.startswith("jcom")} >= {
        "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"
    }  # fmt: skip


def test_named_templates_and_a_named_version() -> None:
    assert cells(tasks="jnli-1.1", templates="0.2,0.4") == ["jnli-1.1-0.2", "jnli-1.1-0.4"]


def test_patterns_of_templates() -> None:
    assert cells(tasks="mlogiqa_mcq_ja", templates="native*") == [
        "mlogiqa_mcq_ja-1.0-native",
        "mlogiqa_mcq_ja-1.0-native+letter",
        "mlogiqa_mcq_ja-1.0-native+text",
    ]
    assert cells(tasks="jnli", templates="0.[34],0.3") == ["jnli-1.3-0.3", "jnli-1.3-0.4"]


def test_every_template_unless_the_user_names_some() -> None:
    def chosen(**given: Any) -> list[str]:
        config = build_config({"sample_data": True, **given})
        return [setup.cell.id for setup in choose_cells(config, every_template=True)]

    assert len(chosen(tasks="jnli")) == 5
    assert chosen(tasks="jnli-1.1-0.3,marc_ja-1.1-0.2") == ["jnli-1.1-0.3", "marc_ja-1.1-0.2"]
    assert chosen(tasks="jnli", template="0.3") == ["jnli-1.3-0.3"]
    assert chosen(tasks="jnli", templates="0.3,0.2") == ["jnli-1.3-0.3", "jnli-1.3-0.2"]


def test_formats_stand_in_place_of_the_template_or_beside_those_named() -> None:
    found = cells(tasks="jnli-1.1,jcommonsenseqa", formats=3, seed=5)
    assert len(found) == 6
    assert all("-f-" in id for id in found)
    beside = cells(tasks="jnli-1.1", formats=3, seed=5, templates="0.2,0.3~1")
    assert set(beside) == {*found[:3], "jnli-1.1-0.2", "jnli-1.1-0.3~1"}
    vetoed = cells(tasks="jnli-1.1", formats=3, seed=5, exclude_formats=found[0])
    assert vetoed[:2] == found[1:3]
    assert len(vetoed) == 3


def test_formats_know_whether_examples_are_shown() -> None:
    for options in ({"num_fewshot": 3}, {"num_fewshot_sweep": "0,3"}):
        setups = choose_cells(
            build_config({"tasks": "jnli", "formats": 8, "sample_data": True, **options})
        )
        assert {bool(setup.template.reverses_examples) for setup in setups} == {True, False}


def test_formats_that_cannot_be_asked() -> None:
    with pytest.raises(ConfigError, match="names its template, and --formats"):
        cells(tasks="jnli-1.1-0.2", formats=3)
    with pytest.raises(ConfigError, match="--template names one"):
        cells(tasks="jnli", formats=3, template="0.2")
    for option in ({"exclude_formats": "scored=text"}, {"chat_formats": True}):
        with pytest.raises(ConfigError, match="none were asked for"):
            cells(tasks="jnli", **option)
    with pytest.raises(ConfigError, match="--chat_formats some"):
        cells(tasks="jnli", formats=3, chat_formats=True, apply_chat_template=True)
    with pytest.raises(ConfigError, match="among its dimensions"):
        cells(tasks="jnli", formats=3, rotations=True)
    with pytest.raises(TaskError, match="no level 'bold'"):
        cells(
            tasks="jnli,jcommonsenseqa", formats=3, exclude_formats="label_words=truth,marks=bold"
        )
    with pytest.raises(TaskError, match=r"jsquad .* declares no prompt formats"):
        cells(tasks="jsquad", formats=3)
