"""`tenbin consistency` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenbin.cli import main

pytestmark = pytest.mark.usefixtures("cache")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = tmp_path / "result.json"
    code, _, err = run(
        capsys, "run", "--model", "scripted", "--tasks", "mlogiqa_mcq,mlogiqa_gen",
        "--sample_data", "--output_path", str(path),
    )  # fmt: skip
    assert code == 0, err
    return str(path)


def test_text_json_and_file(
    stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "consistency", stored, "--tasks", "mlogiqa_mcq")
    assert code == 0 and "10 languages, 12 items" in out and "mlogiqa_gen" not in out
    written = tmp_path / "consistency.json"
    code, out, _ = run(
        capsys, "consistency", stored, "--format", "json", "-o", str(written), "--reference", "ja"
    )
    document = json.loads(out)
    assert code == 0 and document == json.loads(written.read_text(encoding="utf-8"))
    assert document["reference"] == "ja"
    assert "en" in document["sets"]["mlogiqa_mcq"]["gaps"]
    _, again, _ = run(capsys, "consistency", stored, "--format", "json", "--reference", "ja")
    assert again == out, "the same run gives the same document"


def test_faults_are_one_message(stored: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (("nowhere",), "no stored run there"),
        ((stored, "--reference", "de"), "--reference de: no such language in the runs"),
        ((stored, "--alignment", "nowhere.json"), "--alignment nowhere.json"),
        ((stored, "--tasks", "jnli"), "no task with a parallel key matches jnli"),
        ((stored, "-o", "/nowhere/x.json"), "/nowhere/x.json cannot be written"),
    ):
        code, _, err = run(capsys, "consistency", *arguments)
        assert code == 1 and err.startswith("tenbin: ") and words in err, err


@pytest.mark.real_data
def test_rows_that_disagree_are_shown(
    real_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "real.json")
    run(
        capsys, "run", "--model", "scripted", "--tasks", "mlogiqa_mcq_en,mlogiqa_mcq_ko",
        "--data_dir", str(real_data), "--output_path", path,
    )  # fmt: skip
    code, out, err = run(capsys, "consistency", path)
    assert code == 1 and out == ""
    assert "differ in 45 of 80 rows" in err and "row-19" in err and "--alignment FILE" in err
    code, out, _ = run(
        capsys, "consistency", path, "--alignment", str(real_data / "mlogiqa/alignment.json")
    )
    assert code == 0 and "80 items in 2 languages, aligned by the given file" in out
