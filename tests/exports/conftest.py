"""Runs that real clients of trackers are told of. The clients have an environment of their own:
`make test-exports`."""

from __future__ import annotations

from pathlib import Path

import pytest

import tenbin
from tests.exports.reading import in_folder


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting, and no file, of the user's own."""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_DIR", "WANDB_PROJECT", "WANDB_ENTITY",
                 "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "NETRC"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def stored(tmp_path: Path) -> tenbin.Run:
    """A run of two languages and their group, with a file of its own name for a model."""
    with in_folder(tmp_path):
        return tenbin.evaluate(
            "scripted",
            "mlogiqa_mcq_ja,mlogiqa_mcq_en,jnli",
            sample_data=True,
            no_cache=True,
            output_path=str(tmp_path / "result.json"),
        )
