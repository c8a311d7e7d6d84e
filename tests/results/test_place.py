"""Where a run goes: no result is replaced unasked, and no two runs write into one place."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.errors import ConfigError
from tenbin.results.folder import choose_folder, leave_folder

pytestmark = pytest.mark.usefixtures("cache")


def evaluate(path: Path, backend: ScriptedBackend | None = None, **options: Any) -> tenbin.Run:
    given = {"tasks": ["jnli-1.3-0.2"], "limit": 4, "sample_data": True, **options}
    return tenbin.evaluate(backend or ScriptedBackend(), output_path=str(path), **given)


def contents(path: Path) -> dict[str, bytes]:
    files = [path, *(path.with_suffix(".run")).iterdir()]
    return {str(file): file.read_bytes() for file in files}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 3}, "documents: 4 → 3 (jnli-1.3-0.2)"),
        ({"tasks": ["jnli-1.3-0.3"]}, "tasks: jnli-1.3-0.2 → jnli-1.3-0.3"),
        ({"num_fewshot": 2}, "num_fewshot: 0 → 2 (jnli-1.3-0.2)"),
        ({"seed": 7}, "seed: 1234 → 7 (jnli-1.3-0.2)"),
        ({"split": "train"}, "split: validation → train (jnli-1.3-0.2)"),
        ({"extra_metrics": "acc_pmi"}, "metrics: ["),
        ({"system_instruction": "Be brief."}, "system_instruction: null → Be brief."),
        ({"backend": ScriptedBackend(fingerprint="other")}, "fingerprint scripted-joint-4096 → "),
    ],
)
def test_other_settings_are_refused_by_name(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    path = tmp_path / "result.json"
    evaluate(path)
    before = contents(path)
    backend = options.pop("backend", None) or ScriptedBackend()
    with pytest.raises(ConfigError) as error:
        evaluate(path, backend, **options)
    assert said in error.value.message and "--overwrite" in error.value.hint
    assert not backend.asked, "nothing was asked"
    assert contents(path) == before
    run = evaluate(path, backend, **options, overwrite=True)
    assert json.loads(path.read_text())["results"] == run.document["results"]


def test_the_model_is_named_by_what_the_user_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "--model", "scripted", "--tasks", "jnli", "--limit", "2", "--sample_data"]
    command += ["--output_path", str(tmp_path / "r.json"), "--model_args"]
    assert main([*command, "text=a"]) == 0
    assert main([*command, "text=b"]) == 1
    assert 'model_args: {"text": "a"} → {"text": "b"}' in capsys.readouterr().err
    assert main([*command, "text=b", "--overwrite"]) == 0


def test_data_of_other_bytes_is_another_run(tmp_path: Path) -> None:
    place = tmp_path / "data" / "jglue_v1.1" / "jnli"
    place.mkdir(parents=True)
    row = {"sentence_pair_id": "1", "sentence1": "猫がいる。", "sentence2": "犬がいる。"}
    line = json.dumps({**row, "label": "neutral"}, ensure_ascii=False)
    (place / "validation.jsonl").write_text(line + "\n", encoding="utf-8")
    options = {"sample_data": False, "data_dir": str(tmp_path / "data"), "limit": 1}
    evaluate(tmp_path / "r.json", **options)
    (place / "validation.jsonl").write_text(line.replace("犬", "鳥") + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"data: sha256 \w{12} → \w{12} \(jnli-1.3-0.2 valid"):
        evaluate(tmp_path / "r.json", **options)


def test_how_it_was_worked_out_is_no_other_run(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    first = evaluate(path)
    again = evaluate(
        path, batch_size=7, device="cpu", cache_dir=str(tmp_path / "elsewhere"), offline=True
    )
    assert again.document["run_id"] == first.document["run_id"]
    assert again.document["samples"] == first.document["samples"], "the same bytes"
    whole = evaluate(path, tasks=["jnli"], overwrite=False)
    assert whole.document["run_id"] == first.document["run_id"], "a bare name of the same task"


def test_a_chosen_template_is_the_same_run_and_another_selection_is_not(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    auto = {"tasks": ["jnli"], "template": "auto"}
    first = evaluate(path, **auto, select_on="train:4")
    evaluate(path, **auto, select_on="train:4")
    backend = ScriptedBackend()
    with pytest.raises(ConfigError, match="select_on: train:4 → train:5"):
        evaluate(path, backend, **auto, select_on="train:5")
    with pytest.raises(ConfigError, match=r"tasks: jnli-1.3 → jcommonsenseqa-1.1, jnli-1.3"):
        evaluate(path, backend, tasks=["jnli", "jcommonsenseqa"], template="auto",
                 select_on="train:4")  # fmt: skip
    with pytest.raises(ConfigError, match="template: auto → null"):
        evaluate(path, backend, tasks=list(first.scores))
    assert not backend.asked


def test_sweeps_are_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    given = {"tasks": "jnli", "sample_data": True, "output_path": str(path), "limit": 3}
    tenbin.sweep(ScriptedBackend(), templates=["0.2", "0.3"], **given)
    with pytest.raises(ConfigError, match=r"tasks: jnli-1\.3-0\.2, jnli-1\.3-0\.3 → "):
        tenbin.sweep(ScriptedBackend(), templates=["0.2", "0.4"], **given)
    tenbin.sweep(ScriptedBackend(), templates=["0.2", "0.4"], overwrite=True, **given)


def test_what_was_made_of_the_replaced_run_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    evaluate(path)
    report = tmp_path / "result.run" / "report.html"
    report.write_text("of the first run")
    evaluate(path)
    assert report.exists(), "the same run"
    evaluate(path, limit=2, overwrite=True)
    assert not report.exists()


def test_a_file_that_is_no_result_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "package.json"
    path.write_text('{"name": "mine"}')
    with pytest.raises(ConfigError, match="is no result of a run"):
        evaluate(path)
    assert path.read_text() == '{"name": "mine"}' and not (tmp_path / "package.run").exists()
    evaluate(path, overwrite=True)
    assert tenbin.load_run(path).scores


def test_overwrite_is_not_kept_in_the_run_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    run = evaluate(path, overwrite=True)
    assert "overwrite" not in run.document["config"]
    assert "overwrite" not in (tmp_path / "result.run" / "run.yaml").read_text()


HOLD = textwrap.dedent("""
    import sys, time
    from tenbin.results.folder import choose_folder
    folder = choose_folder(sys.argv[1], "m", "now")
    print("held", flush=True)
    time.sleep(60)
""")


def test_two_runs_into_one_place_and_a_killed_one(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        backend = ScriptedBackend()
        with pytest.raises(ConfigError) as error:
            evaluate(path, backend)
        assert f"another run writes there: process {holder.pid} on " in error.value.message
        assert "wait until it is over" in error.value.hint
        assert not backend.asked
    finally:
        holder.kill()
        holder.communicate()
    evaluate(path)  # a killed process leaves no lock
    assert sorted(one.name for one in (tmp_path / "result.run").iterdir()) == [
        "result.json",
        "run.yaml",
        "samples.parquet",
    ]


def test_runs_of_one_second_get_a_folder_each(tmp_path: Path) -> None:
    folders = [choose_folder(str(tmp_path / "runs"), "m", "20260101-000000") for _ in range(3)]
    assert [one.path.name for one in folders] == [
        "20260101-000000-m",
        "20260101-000000-m-2",
        "20260101-000000-m-3",
    ]
    for one in folders:
        leave_folder(one)
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_dead_processes_left_half_written_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "result.run"
    folder.mkdir()
    stale = [folder / ".samples.parquet.4194305.partial", folder / ".result.json.77.partial"]
    stale.append(tmp_path / ".result.json.4194305.partial")
    other = tmp_path / ".other.json.1.partial"
    for file in (*stale, other):
        file.touch()
    evaluate(tmp_path / "result.json")
    assert not any(file.exists() for file in stale) and other.exists()

    dead = tmp_path / "runs" / "20260101-000000-m"
    dead.mkdir(parents=True)
    (dead / ".samples.parquet.4194305.partial").touch()
    evaluate(tmp_path / "runs")
    assert list(dead.iterdir()) == []
