"""Many models from Python: the same runs as one by one, failures by name, nothing twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.errors import ConfigError, TenbinError
from tenbin.pipeline.progress import Listener

_MODELS = [
    {"name": "first", "model_args": {"fingerprint": "a"}},
    {"name": "broken", "model_args": {"fingerprint": "b", "raise_after": 5}},
    {"name": "third", "model_args": {"fingerprint": "c"}, "template": "0.3"},
]


class _Heard(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def options(tmp_path: Path, cache: Path) -> dict[str, Any]:
    return {
        "tasks": ["jnli", "jcommonsenseqa"],
        "model": "scripted",
        "sample_data": True,
        "cache_dir": str(cache),
        "output_path": str(tmp_path / "out"),
    }


def test_each_model_is_as_it_would_be_alone(options: dict[str, Any], tmp_path: Path) -> None:
    heard = _Heard()
    found = tenbin.evaluate_models(_MODELS, **options, listener=heard)
    assert list(found.scores) == ["first", "third"]
    assert set(found.scores["third"]) == {"jnli-1.3-0.3", "jcommonsenseqa-1.1-0.3"}
    options["output_path"] = str(tmp_path / "alone.json")
    alone = tenbin.evaluate(**options, model_args={"fingerprint": "a"})
    assert found.scores["first"] == alone.scores
    assert found.load("first").samples == alone.samples
    assert [row for row in found if row["model"] == "first"] == [
        {"model": "first", **row} for row in alone.table()
    ]
    assert list(found.failed) == ["broken"]
    assert "the script ends after 5 answers" in found.failed["broken"]
    with pytest.raises(ConfigError, match="'broken' was evaluated: the script ends"):
        found.load("broken")
    assert "first: finished" in heard.lines


def test_what_is_complete_is_not_run_again(options: dict[str, Any]) -> None:
    first = tenbin.evaluate_models(_MODELS[:1], **options)
    stamp = first.paths["first"].stat().st_mtime_ns
    heard = _Heard()
    again = tenbin.evaluate_models(_MODELS[:1], **options, listener=heard)
    assert heard.lines[-1] == "first: known"
    assert again.scores == first.scores
    assert again.paths["first"].stat().st_mtime_ns == stamp


def test_side_by_side(options: dict[str, Any]) -> None:
    options["tasks"] = "jnli-1.3-0.2"
    found = tenbin.evaluate_models([_MODELS[0], _MODELS[1]], **options, models_at_once=2)
    assert set(found.scores) == {"first"} and set(found.failed) == {"broken"}


def test_faults_are_found_before_the_first_model(options: dict[str, Any], tmp_path: Path) -> None:
    wrong = {"name": "wrong", "model_args": {"no_such": 1}}
    with pytest.raises(TenbinError, match="wrong: unknown model argument 'no_such'"):
        tenbin.evaluate_models([_MODELS[0], wrong], **options)
    with pytest.raises(ConfigError, match="evaluate_models: models is a list"):
        tenbin.evaluate_models([], **options)
    with pytest.raises(ConfigError, match="models_at_once takes a whole number above 0"):
        tenbin.evaluate_models(_MODELS, **options, models_at_once=0)
    assert not (tmp_path / "out").exists()
