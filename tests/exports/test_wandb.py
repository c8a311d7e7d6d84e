"""Runs of the real W&B client in offline mode, read back from what it would upload."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tenbin
from tenbin.cli import main
from tests.exports.reading import offline_runs

pytest.importorskip("wandb", reason="needs wandb: `make test-exports` makes an environment with it")


def test_a_stored_run_has_every_number_offline(stored: tenbin.Run, tmp_path: Path) -> None:
    (said,) = tenbin.track(
        stored, to="wandb", mode="offline", dir=tmp_path, project="weights", entity="us"
    )
    assert "wandb sync" in said
    (found,) = offline_runs(tmp_path)
    result = tenbin.load_run(stored.path or "").result
    assert (found.run.run_id, found.run.project, found.run.entity) == (
        result.run_id, "weights", "us",
    )  # fmt: skip
    assert list(found.run.tags) == ["tenbin", "sample rows"]
    for id in result.configs:
        for score in result.scores(id):
            place = f"{id}/0-shot/{score.metric}"
            assert found.summary[place] == score.value
            assert found.summary[f"{place}_low"] == score.detail.low
            assert found.summary[f"{place}_high"] == score.detail.high
            assert found.summary[f"{place}_stderr"] == score.stderr
            assert found.summary[f"{place}_n"] == score.detail.n
    assert found.config["tasks"] == "mlogiqa_mcq_ja,mlogiqa_mcq_en,jnli"
    assert found.exit_code == 0
    (report,) = (one for one in found.artifacts if one.type == "report")
    assert [one.path for one in report.manifest.contents] == ["report.html"]


def test_nothing_of_the_machine_is_sent(stored: tenbin.Run, tmp_path: Path) -> None:
    import socket

    tenbin.track(stored, to="wandb", mode="offline", dir=tmp_path)
    (found,) = offline_runs(tmp_path)
    assert found.run.host == ""
    sent = [*tmp_path.glob("wandb/offline-run-*/files/*")]
    assert [one.name for one in sent] == ["media"]
    assert socket.gethostname() not in json.dumps(found.config)
    assert str(tmp_path) not in json.dumps([found.config, found.summary])


def test_tables_hold_the_first_documents(stored: tenbin.Run, tmp_path: Path) -> None:
    tenbin.track(stored, to="wandb", mode="offline", dir=tmp_path, samples=4)
    (file,) = tmp_path.glob("wandb/offline-run-*/files/media/table/samples/jnli-*.json")
    table = json.loads(file.read_text(encoding="utf-8"))
    samples = [one for one in stored.samples if one["id"] == "jnli-1.3-0.2"]
    at = table["columns"].index("prompt")
    assert [row[at] for row in table["data"]] == [one["prompt"] for one in samples[:4]]


def test_a_second_export_has_the_same_id_and_says_so(stored: tenbin.Run, tmp_path: Path) -> None:
    tenbin.track(stored, to="wandb", mode="offline", dir=tmp_path)
    (said,) = tenbin.track(stored, to="wandb", mode="offline", dir=tmp_path, samples=0)
    assert "has the same id" in said
    assert len({one.run.run_id for one in offline_runs(tmp_path)}) == 1


def test_a_run_is_there_while_it_goes_on_and_ends_with_its_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    given = "run --model scripted --tasks jnli --sample_data --no_cache --output_path r.json"
    assert main([*given.split(), "--export", "wandb"]) == 0
    (found,) = offline_runs(tmp_path)
    scores = tenbin.load_run("r.json").scores["jnli-1.3-0.2"]
    points = [one for one in found.history if "partial/jnli-1.3-0.2/0-shot/acc" in one]
    assert points[-1]["partial/jnli-1.3-0.2/0-shot/acc"] == scores["acc"]
    assert points[-1]["progress/answered"] == 18
    assert found.summary["jnli-1.3-0.2/0-shot/acc"] == scores["acc"]
    assert found.summary["state"] == "finished"


def test_no_key_is_said_before_anything_is_done(
    stored: tenbin.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(stored.path), "--to", "wandb"]) == 1
    assert "there is no key for it" in capsys.readouterr().err
