"""Runs of many models: faults first, failures alone, complete ones skipped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenbin.cli import main
from tenbin.errors import TenbinError
from tenbin.pipeline.many_models.entries import check_entries, known_result, read_entries

_URL = "http://127.0.0.1:9/v1"
"""Where nobody listens: whoever asked would say so."""


@pytest.fixture
def file(tmp_path: Path, cache: Path) -> Path:
    path = tmp_path / "models.yaml"
    content = {
        "tasks": "jnli,jcommonsenseqa",
        "sample_data": True,
        "model": "scripted",
        "output_path": str(tmp_path / "out"),
        "cache_dir": str(cache),
        "models": [
            {"name": "first", "model_args": {"fingerprint": "a"}},
            {"name": "broken", "model_args": {"fingerprint": "b", "raise_after": 5}},
            {"name": "third", "model_args": {"fingerprint": "c"}, "template": "0.3"},
        ],
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def _change(file: Path, **changed: Any) -> None:
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    file.write_text(yaml.safe_dump({**content, **changed}), encoding="utf-8")


def _written(file: Path) -> dict[str, dict[str, Any]]:
    found = (file.parent / "out").glob("*.json")
    return {one.stem: json.loads(one.read_text(encoding="utf-8")) for one in found}


def test_a_failed_model_stops_no_other_and_is_told(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--config", str(file)]) == 4
    written = _written(file)
    assert set(written) == {"first", "third"}
    assert set(written["first"]["results"]) == {"jnli-1.3-0.2", "jcommonsenseqa-1.1-0.2"}
    assert set(written["third"]["results"]) == {"jnli-1.3-0.3", "jcommonsenseqa-1.1-0.3"}
    shown = capsys.readouterr()
    assert "failed: broken: the script ends after 5 answers" in shown.out
    accuracy = written["first"]["results"]["jnli-1.3-0.2"]["acc"]
    assert f"{accuracy:.4f} ±" in shown.out

    # The same command again: what is complete is left alone, the other goes on where it stopped.
    before = {name: document["date"] for name, document in written.items()}
    stamps = {path: path.stat().st_mtime_ns for path in (file.parent / "out").glob("*.json")}
    main(["run", "--config", str(file)])
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert {name: d["date"] for name, d in _written(file).items()} == before
    shown = capsys.readouterr()
    assert "first: complete already" in shown.err
    assert "5 of 38 answers are in the journal already" in shown.err


def test_another_setting_is_another_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "--config", str(file)])
    before = _written(file)
    capsys.readouterr()
    assert main(["run", "--config", str(file), "--limit", "3"]) == 1
    said = capsys.readouterr().err
    assert "first: --output_path" in said and "documents: 18 → 3 (jnli-1.3-0.2)" in said
    assert "--overwrite" in said and "asking" not in said
    assert _written(file) == before

    main(["run", "--config", str(file), "--limit", "3", "--overwrite"])
    assert _written(file)["first"]["n-samples"]["jnli-1.3-0.2"]["effective"] == 3


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([{"model": "scripted"}, {"model": "scripted"}], "entry 2: another entry is called"),
        ([{"model": "scriptd"}], "scriptd: unknown model backend 'scriptd'"),
        ([{"model_args": "no_such=1", "name": "x"}], "x: unknown model argument 'no_such'"),
        ([{"modle": "scripted"}], "entry 1: modle: unknown key"),
        ([{"cache_dir": "x"}], "entry 1: cache_dir is said once"),
        ([{"name": "x", "tasks": "no_such_task"}], "x: .*no_such_task"),
        ([{"name": "x", "seeds": 0}], "entry 1: seeds takes a whole number above 0"),
        ([{"model": "openai", "name": "x"}], "x: the server's address is not known"),
        (
            [{"model": "openai-chat", "name": "x", "model_args": {"base_url": "localhost:80"}}],
            "x: model argument base_url='localhost:80' is not an address",
        ),
        (
            [{"model": "openai-chat", "name": "x", "model_args": f"base_url={_URL},choices=b"}],
            "x: model argument choices='b' is none of likelihoods, letters",
        ),
        (
            [{"model": "openai", "name": "x", "model_args": f"base_url={_URL},api_key_env=NO_KEY"}],
            "x: api_key_env=NO_KEY: the environment has no such variable",
        ),
        (
            [{"model": "openai", "name": "x", "model_args": f"base_url={_URL},model=m,prices=/no"}],
            "x: prices=/no: cannot be read: No such file",
        ),
        ([], "models is a list"),
    ],
)
def test_faults_of_any_model_are_found_before_the_first_loads(
    file: Path, models: list[dict[str, Any]], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = [{"name": "good", "model_args": {"fingerprint": "a"}}] if models else []
    _change(file, models=models + first)
    assert main(["run", "--config", str(file)]) == 1
    assert re.search(said, capsys.readouterr().err)
    assert _written(file) == {}


def test_a_server_is_not_asked_before_its_turn(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = {"model": "openai", "model_args": {"base_url": _URL, "model": "m", "retries": 0}}
    _change(file, models=[{"name": "away", **server}, {"name": "good", "model": "scripted"}])
    assert main(["run", "--config", str(file)]) == 4
    assert set(_written(file)) == {"good"}
    assert "failed: away: no server answers at " in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "hf", "model_args": "pretrained=/no/such/model"},
        {"model": "openai", "model_args": f"base_url={_URL},tokenizer=/no/such/model"},
    ],
)
def test_a_wrong_path_fails_its_model_before_others_start(
    file: Path, wrong: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"name": "gone", **wrong}
    _change(file, models=[{"name": "good", "model": "scripted"}, wrong])
    assert main(["run", "--config", str(file)]) == 4
    out, err = capsys.readouterr()
    assert set(_written(file)) == {"good"}
    assert re.search("failed: gone: .*/no/such/model", out)
    assert err.index("models: gone: ") < err.index("model good")
    _change(file, models=[wrong])
    assert main(["run", "--config", str(file)]) == 1


def test_rows_are_looked_at_once_for_all_models(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tenbin.pipeline.many_models import entries as module
    from tenbin.pipeline.progress import Listener

    asked: list[str] = []
    choose = module.choose_cells
    monkeypatch.setattr(module, "choose_cells", lambda c: asked.append("") or choose(c))
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    models = [{"name": f"m{n}", "model_args": {"fingerprint": str(n)}} for n in range(50)]
    shared = {key: value for key, value in content.items() if key != "models"}
    found = read_entries(shared, models, {}, "file")
    check_entries(found, Listener())
    assert len(found) == 50 and len(asked) == 1
    assert known_result(found[0]) is None


def test_other_commands_refuse_a_list(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--config", str(file)]) == 1
    assert "a list of models is for `tenbin run`" in capsys.readouterr().err


def test_a_single_file_is_no_place_for_many(file: Path) -> None:
    with pytest.raises(TenbinError, match="need a folder"):
        read_entries({"output_path": "r.json"}, [{"model": "scripted"}], {}, "file")


def test_a_model_whose_process_dies_stops_no_other(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Side by side each model has a process of its own; here one kills its own."""
    models = [
        {"name": "first", "model_args": {"fingerprint": "a"}},
        {"name": "deadly", "model_args": {"fingerprint": "b", "poison": "前提"}},
    ]
    _change(file, models=models, models_at_once=2, tasks="jnli-1.3-0.2")
    assert main(["run", "--config", str(file)]) == 4
    assert set(_written(file)) == {"first"}
    assert "failed: deadly: its process ended, code -9" in capsys.readouterr().out
