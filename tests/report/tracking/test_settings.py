"""`--export_args`: what it takes, and that it takes no secrets."""

from __future__ import annotations

import pytest

from tenbin.cli import main
from tenbin.errors import ConfigError
from tenbin.report.tracking.settings import tracking_settings
from tenbin.report.tracking.stored import failure_text


def test_numbers_may_be_written_as_text() -> None:
    assert tracking_settings({"samples": "20", "project": "p"}).samples == 20
    assert tracking_settings({}).samples == 1_000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"api_key": "s3cret"}, "keys are not taken"),
        ({"MLFLOW_TRACKING_TOKEN": "k"}, "keys are not taken"),
        ({"tracking_uri": "http://me:s3cret@host/"}, "holds a password"),
        ({"projct": "p"}, "did you mean 'project'"),
        ({"mode": "disabled"}, "online, offline"),
        ({"samples": "-1"}, "0 or more"),
        ({"samples": "all"}, "0 or more"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        tracking_settings(given)
    assert said in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_failures_are_told_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0123abcd")
    said = failure_text(ValueError("0123abcd was refused at https://me:word@host/x"))
    assert said == "ValueError: … was refused at https://host/x"


def test_a_client_that_is_missing_is_said_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    given = "run --model scripted --tasks jnli --sample_data --export mlflow"
    assert main(given.split()) == 1
    assert "pip install 'tenbin[mlflow]'" in capsys.readouterr().err


def test_texts_take_no_arguments_of_trackers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "r.json", "--to", "csv", "--export_args", "samples=3"]) == 1
    assert "is for wandb and mlflow" in capsys.readouterr().err
