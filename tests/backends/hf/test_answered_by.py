"""A second run of a real model: all answers are known, and result.json says the same of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.hf import backend
from tests.backends.tiny import make_model, make_tokenizer


def test_a_run_that_loads_no_weights_describes_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(tmp_path / "model")
    make_model("llama", len(tokenizer)).save_pretrained(tmp_path / "model")
    given: dict[str, Any] = {
        "model_args": {"pretrained": str(tmp_path / "model"), "max_length": 2048},
        "tasks": ["jnli", "jsquad"],
        "sample_data": True,
        "limit": 2,
        "cache_dir": str(tmp_path / "cache"),
    }
    first = tenbin.evaluate("hf", **given).document
    assert first["engine"]["mode"] == "packed tree" and first["model"]["parameters"] > 1000
    assert first["engine"]["generation"] != "not run"

    def load(*_: Any, **__: Any) -> None:
        raise AssertionError("weights were loaded")

    monkeypatch.setattr(backend.HfBackend, "_loaded", load)
    again = tenbin.evaluate("hf", **given).document
    assert again["answers_from_journal"] > 0
    for name in ("model", "engine", "answered_by", "results", "warnings"):
        assert json.loads(json.dumps(again[name])) == json.loads(json.dumps(first[name])), name
