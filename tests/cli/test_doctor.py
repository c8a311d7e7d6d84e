"""`tenbin doctor` as a user meets it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

import tenbin
from tenbin.cli import main
from tenbin.report.terminal.doctor import print_diagnosis

pytestmark = pytest.mark.usefixtures("cache")

SCRIPTED = ["doctor", "--model", "scripted", "--sample_data"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def printed(found: tenbin.Diagnosis, width: int) -> str:
    stream = io.StringIO()
    print_diagnosis(found.record, Console(file=stream, width=width))
    return stream.getvalue()


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *SCRIPTED, "--tasks", "jnli,jsquad")
    assert code == 0 and "\x1b" not in out
    rows = [line.split()[:3] for line in out.splitlines()]
    assert ["jnli-1.3-0.2", "likely", "ok"] in rows
    assert ["jnli-1.3-0.4", "unlikely", "warning"] in rows
    assert ["jsquad-1.2-0.4", "unlikely", "problem"] in rows
    # The summary comes first, then what fits, then what was found, the gravest first.
    places = [out.index(text) for text in (
        "task and template", "suit this model", "Findings", "problem   specials",
        "warning   specials", "Vocabulary coverage", "cost of all",
    )]  # fmt: skip
    assert places == sorted(places)


def test_a_finding_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *SCRIPTED, "--tasks", "jnli,jcommonsenseqa,marc_ja")
    assert out.count("writes special tokens that this model does not know") == 1
    assert "jnli-1.3, jcommonsenseqa-1.1, marc_ja-1.1: 0.4, 0.6" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, *SCRIPTED, "--tasks", "jnli", "--templates", "0.2", "--format", "json"
    )
    document = json.loads(out)
    assert code == 0 and list(document["cells"]) == ["jnli-1.3-0.2"]
    same = tenbin.doctor(model="scripted", tasks="jnli", templates="0.2", sample_data=True)
    assert document == json.loads(json.dumps(same))
    assert {"model", "settings", "severity", "cells", "languages", "cost"} <= set(document)
    measures = document["cells"]["jnli-1.3-0.2"]["measures"]
    assert {"boundary", "beginning", "markers", "injection", "overflow", "labels", "spelling",
            "cost"} <= set(measures)  # fmt: skip


@pytest.mark.parametrize("width", [80, 60, 40])
def test_narrow_terminals(width: int) -> None:
    found = tenbin.doctor(
        model="scripted", tasks="jnli,jsquad,mlogiqa_mcq_ja", sample_data=True,
        model_args={"max_length": 500}, num_fewshot=3,
    )  # fmt: skip
    out = printed(found, width)
    assert max(cell_len(line) for line in out.splitlines()) <= width
    if width == 80:
        assert "mlogiqa_mcq_ja-1.0-default+letter " in out, "ids stay whole"


def test_nothing_found(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *SCRIPTED, "--tasks", "jnli-1.3-0.2")
    assert "No findings." in out


def test_the_sample_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *SCRIPTED, "--tasks", "jnli", "--limit", "5")
    assert "documents: 5 per task, spread evenly" in " ".join(out.split())
    _, out, _ = run(capsys, *SCRIPTED, "--tasks", "jnli", "--limit", "all")
    assert "documents: all" in out


def test_strict_fails_on_problems_only(capsys: pytest.CaptureFixture[str]) -> None:
    problem = [*SCRIPTED, "--tasks", "jsquad-1.2-0.4"]
    assert run(capsys, *problem)[0] == 0
    assert run(capsys, *problem, "--strict")[0] == 1
    assert run(capsys, *SCRIPTED, "--tasks", "jnli-1.3-0.4", "--strict")[0] == 0


def test_a_run_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        "model: scripted\ntasks: [jnli]\nsample_data: true\nlimit: 3\noutput_path: result.json\n"
    )
    code, out, _ = run(capsys, "doctor", "--config", str(config), "--format", "json")
    document = json.loads(out)
    assert code == 0 and document["cells"]["jnli-1.3-0.2"]["documents"] == 3
    _, out, _ = run(capsys, "doctor", "--config", str(config), "--limit", "all", "--format", "json")
    assert json.loads(out)["settings"]["limit"] == "all"
    assert not Path("result.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tasks", "jnli", "--templates", "0.9"], "has no template '0.9'"),
        (["--tasks", "jnli", "--templates", "0.2", "--template", "0.3"], "give one of them"),
        (["--tasks", "jnl"], "unknown task 'jnl'"),
        (["--tasks", "jnli", "--limit", "some"], "--limit takes whole numbers"),
        (["--tasks", "jnli", "--model_args", "colour=red"], "unknown model argument"),
        ([], "no tasks were named"),
    ],
)
def test_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *SCRIPTED, *arguments)
    assert code == 1 and out == "" and message in err


def test_a_model_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(
        capsys, "doctor", "--model", "hf", "--model_args", "pretrained=./nowhere", "--tasks",
        "jnli", "--sample_data",
    )  # fmt: skip
    assert code == 1 and "no file or folder at ./nowhere" in err
