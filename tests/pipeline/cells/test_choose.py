"""Which cells a run or a sweep has."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.errors import ConfigError
from tests.pipeline.cells.chosen import cells


def test_shots_and_draws_are_marked_in_ids() -> None:
    found = cells(tasks="jnli-1.1-0.2", num_fewshot_sweep="0,2", seeds=2)
    assert found == [
        "jnli-1.1-0.2@0shot",
        "jnli-1.1-0.2@2shot@seed1234",
        "jnli-1.1-0.2@2shot@seed1235",
    ]


def test_a_run_without_a_sweep_keeps_its_ids() -> None:
    assert cells(tasks="jnli-1.1-0.2", num_fewshot=2) == ["jnli-1.1-0.2"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tasks": "jnli-1.1-0.2", "templates": "all"}, "names its template"),
        ({"tasks": "jnli", "templates": "0.2,9.9"}, "no template '9.9'"),
        ({"tasks": "jnli", "templates": "0.2,0.2"}, "twice"),
        ({"tasks": "jnli", "templates": "all", "template": "0.2"}, "names one template"),
        ({"tasks": "jnli", "num_fewshot": 1, "num_fewshot_sweep": "1,2"}, "both set the shots"),
        ({"tasks": "jnli", "seeds": 2, "num_fewshot": 0}, "no task has shots"),
        ({"tasks": "jnli", "seeds": 0}, "above 0"),
        ({"tasks": "jnli", "select_on": "train:10"}, "nothing to choose from"),
        ({"tasks": "jnli", "templates": "all", "select_on": "train"}, "SPLIT:N"),
        ({"tasks": "jnli", "templates": "all", "select_on": "train:0"}, "SPLIT:N"),
    ],
)
def test_contradictions_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        cells(**given)
