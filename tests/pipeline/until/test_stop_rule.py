"""Which runs stop early, and which do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.config import build_config
from tenbin.errors import ConfigError
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.sweep import execute_sweep
from tenbin.report.terminal.run_notes import stopping_lines
from tests.pipeline.until.early_stops import ROWS, Model, evaluated

pytestmark = pytest.mark.usefixtures("cache")


def test_ordinary_runs_ask_all_at_once_and_say_nothing(data: Path) -> None:
    model = Model(0.9)
    result = evaluated(data, model)
    assert model.rounds == [ROWS]
    assert result.stopping is None and "stopping" not in result.to_json()
    assert "until" not in result.config and stopping_lines(result) == []


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
