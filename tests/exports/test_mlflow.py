"""Runs in a real MLflow store, read back with MLflow's own client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.cli import main

mlflow = pytest.importorskip(
    "mlflow", reason="needs mlflow: `make test-exports` makes an environment with it"
)
pytest.importorskip("mlflow.store.tracking.sqlalchemy_store", reason="mlflow-skinny has no store")


def _client(place: Path) -> Any:
    return mlflow.MlflowClient(f"sqlite:///{place}/mlflow.db")


def _runs(place: Path, experiment: str = "tenbin") -> list[Any]:
    client = _client(place)
    found = client.get_experiment_by_name(experiment)
    return list(client.search_runs([found.experiment_id]))


def _files(client: Any, run: Any, folder: str | None = None) -> list[str]:
    found = []
    for one in client.list_artifacts(run.info.run_id, folder):
        found += _files(client, run, one.path) if one.is_dir else [one.path]
    return found


def test_a_stored_run_has_every_number_in_the_store(stored: tenbin.Run, tmp_path: Path) -> None:
    tenbin.track(stored, to="mlflow", tracking_uri=f"sqlite:///{tmp_path}/mlflow.db")
    (run,) = _runs(tmp_path)
    assert run.info.status == "FINISHED" and run.info.run_name == "scripted"
    result = tenbin.load_run(stored.path or "").result
    for id, name in (("jnli-1.3-0.2", "jnli-1.3-0.2"), ("mlogiqa_mcq_ja", "mlogiqa_mcq_ja")):
        for score in result.scores(id):
            metrics = run.data.metrics
            place = f"{name}/0-shot/{score.metric}"
            assert metrics[place] == score.value
            assert metrics[f"{place}_stderr"] == score.stderr
            assert metrics[f"{place}_low"] == score.detail.low
            assert metrics[f"{place}_high"] == score.detail.high
            assert metrics[f"{place}_n"] == score.detail.n
    (group,) = result.groups
    assert run.data.metrics[f"{group}/0-shot/acc"] == result.groups[group]["acc"]
    assert run.data.tags["tenbin.run_id"] == result.run_id
    assert run.data.tags["tenbin.marks"] == "sample rows"
    assert run.data.params["tasks"] == "mlogiqa_mcq_ja,mlogiqa_mcq_en,jnli"
    assert "jnli-1.3-0.2" in run.data.tags["mlflow.note.content"]
    assert str(tmp_path) not in json.dumps([run.data.params, run.data.tags])


def test_tables_hold_the_first_documents_and_the_report_is_there(
    stored: tenbin.Run, tmp_path: Path
) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    tenbin.track(stored, to="mlflow", tracking_uri=uri, samples=5, experiment="天秤")
    (run,) = _runs(tmp_path, "天秤")
    client = _client(tmp_path)
    assert sorted(_files(client, run)) == [
        "report.html", "samples/jnli-1.3-0.2.json", "samples/mlogiqa_mcq_en.json",
        "samples/mlogiqa_mcq_ja.json",
    ]  # fmt: skip
    page = client.download_artifacts(run.info.run_id, "report.html", str(tmp_path))
    assert "<html" in Path(page).read_text(encoding="utf-8")[:500]
    table = client.load_table(
        run.info.experiment_id, "samples/jnli-1.3-0.2.json", [run.info.run_id]
    )
    samples = [one for one in stored.samples if one["id"] == "jnli-1.3-0.2"]
    assert len(table) == 5 < len(samples)
    assert list(table["prompt"]) == [one["prompt"] for one in samples[:5]]
    assert list(table["acc"]) == [one["outcomes"][0]["value"] for one in samples[:5]]


def test_a_second_export_updates_the_first(stored: tenbin.Run, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    tenbin.track(stored, to="mlflow", tracking_uri=uri)
    (said,) = tenbin.track(stored, to="mlflow", tracking_uri=uri, samples=2)
    assert "is there already and is updated" in said
    (run,) = _runs(tmp_path)
    client = _client(tmp_path)
    assert len(client.get_metric_history(run.info.run_id, "jnli-1.3-0.2/0-shot/acc")) == 1
    table = client.load_table(
        run.info.experiment_id, "samples/jnli-1.3-0.2.json", [run.info.run_id]
    )
    assert len(table) == 2


def test_a_run_is_there_while_it_goes_on_and_ends_with_its_scores(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    run = tenbin.evaluate(
        "scripted",
        "jnli",
        sample_data=True,
        no_cache=True,
        output_path=str(tmp_path / "r.json"),
        export="mlflow",
        export_args={"tracking_uri": uri},
    )
    (found,) = _runs(tmp_path)
    metrics, client = found.data.metrics, _client(tmp_path)
    assert metrics["jnli-1.3-0.2/0-shot/acc"] == run.scores["jnli-1.3-0.2"]["acc"]
    assert metrics["partial/jnli-1.3-0.2/0-shot/acc"] == run.scores["jnli-1.3-0.2"]["acc"]
    (point,) = client.get_metric_history(found.info.run_id, "progress/answered")[-1:]
    assert point.step == point.value == 18
    assert found.info.status == "FINISHED"


def test_all_models_of_a_run_file_are_there(tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_text(
        "tasks: jnli\nsample_data: true\nno_cache: true\nexport: mlflow\n"
        f"export_args: {{tracking_uri: 'sqlite:///{tmp_path}/mlflow.db'}}\n"
        "models:\n- {name: a, model: scripted}\n- {name: b, model: scripted, seed: 2}\n"
    )
    assert main(["run", "--config", "models.yaml", "--output_path", "many"]) == 0
    assert [run.info.status for run in _runs(tmp_path)] == ["FINISHED"] * 2


def test_a_run_that_breaks_is_shown_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tenbin.backends import scripted

    def broken(*args: object, **options: object) -> None:
        raise RuntimeError("the machine is gone")

    monkeypatch.setattr(scripted.ScriptedBackend, "run", broken)
    options = {"tracking_uri": f"sqlite:///{tmp_path}/mlflow.db"}
    with pytest.raises(RuntimeError):
        tenbin.evaluate(
            "scripted", "jnli", sample_data=True, no_cache=True, export="mlflow",
            export_args=options,
        )  # fmt: skip
    (run,) = _runs(tmp_path)
    assert run.info.status == "FAILED"
    assert "the machine is gone" in run.data.tags["tenbin.reason"]


def test_a_server_that_is_gone_loses_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://name:passw0rd@127.0.0.1:9")
    given = "run --model scripted --tasks jnli --sample_data --no_cache --output_path r.json"
    assert main([*given.split(), "--export", "mlflow"]) == 0
    said = capsys.readouterr()
    assert said.err.count("--export mlflow failed") == 1
    assert "passw0rd" not in said.err + said.out
    assert json.loads(Path("r.json").read_text())["partial"] is False
    assert main(["export", "r.json", "--to", "mlflow"]) == 1
    said = capsys.readouterr()
    assert "mlflow did not take it" in said.err and "passw0rd" not in said.err
