"""`tenbin export` and `tenbin.export` on stored runs."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import tenbin
from tenbin.cli import main
from tests.report.made_run import choice_run


def two_runs(folder: Path) -> tuple[str, str]:
    first = choice_run(folder / "first", 30, model={"model": "org/small"})
    return str(first), str(choice_run(folder / "second", 30, model={"model": "org/large"}))


def test_it_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", *two_runs(tmp_path), "--to", "markdown", "--percent"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| model | made<br>2-shot<br>acc ↑ %<br>n = 29 |"
    assert lines[2].startswith("| org/small | 65.52 [")
    assert lines[3].startswith("| org/large | 65.52 [")


def test_it_prints_utf_8_whatever_the_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed, encoding="ascii"))
    assert main(["export", two_runs(tmp_path)[0], "--to", "markdown"]) == 0
    sys.stdout.flush()
    assert "acc ↑ share" in printed.getvalue().decode()


def test_it_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scores.csv"
    arguments = ["export", *two_runs(tmp_path), "--to", "csv", "--names", "a,b", "-o", str(file)]
    assert main(arguments) == 0
    assert [line.split(",")[0] for line in file.read_text().splitlines()] == ["model", "a", "b"]
    assert str(file) in capsys.readouterr().out


def test_every_eval_ever_writes_a_file_for_each_run(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    to = ["--to", "every-eval-ever", "-o", str(folder)]
    assert main(["export", *two_runs(tmp_path), *to]) == 0
    found = {file.name: json.loads(file.read_text()) for file in folder.iterdir()}
    assert {name: one["model_info"]["id"] for name, one in found.items()} == {
        "org_small.json": "org/small",
        "org_large.json": "org/large",
    }


def test_a_model_card_that_is_there_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = tmp_path / "README.md"
    card.write_text("my own words")
    arguments = ["export", two_runs(tmp_path)[0], "--to", "model-card", "-o", str(card)]
    assert main(arguments) == 1
    assert "a model card is not replaced" in capsys.readouterr().err
    assert card.read_text() == "my own words"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--to", "latx"], "did you mean 'latex'?"),
        (["--to", "mlflow", "--percent"], "--percent is for texts"),
        (["--to", "csv", "--names", "one"], "--names has 1 names for 2 runs"),
        (["--to", "every-eval-ever"], "name a folder with -o"),
    ],
)
def test_what_cannot_be_exported_is_said(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", *two_runs(tmp_path), *arguments]) == 1
    assert told in capsys.readouterr().err


def test_python_gives_the_same_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = two_runs(tmp_path)
    main(["export", *runs, "--to", "jsonl"])
    printed = capsys.readouterr().out
    assert tenbin.export(*runs, to="jsonl") == printed
    loaded = [tenbin.load_run(run) for run in runs]
    models = tenbin.Models(dict(zip(("one", "two"), loaded, strict=True)), {}, {})
    names = [json.loads(line)["model"] for line in tenbin.export(models, to="jsonl").splitlines()]
    assert names == ["one", "two"]
    with pytest.raises(tenbin.TenbinError, match="no run to export"):
        tenbin.export(to="csv")
