"""`tenbin plan` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from tenbin.analysis.plan import Candidate, PlanSettings, make_plan
from tenbin.cli import main
from tenbin.report.terminal.console import make_console
from tenbin.report.terminal.plan import print_plan

pytestmark = pytest.mark.usefixtures("cache")


def test_named_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    command = ["plan", "--detect", "2", "--tasks", "jnli,jcommonsenseqa", "-o", str(path)]
    assert main(command) == 0
    out = capsys.readouterr().out
    for word in ("2 points", "80% power", "2 tests", "jnli-1.3-0.2", "2,434", "2.0 to 4.0 points"):
        assert word in " ".join(out.split())
    assert "no correlation here makes the data set large enough" in out
    assert main([*command, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(path.read_text(encoding="utf-8"))


def test_settings_are_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    named = ["--tasks", "jnli"]
    for flags in (["--detect", "two"], ["--detect", "2", "--power", "nan"]):
        assert main(["plan", *flags, *named]) == 1
        assert "not a number" in capsys.readouterr().err
    assert main(["plan", "--detect", "2", "--tests", "1.5", *named]) == 1
    assert "whole number" in capsys.readouterr().err
    assert main(["plan", "--detect", "2", "--correlation", "0.6", "--power", "90", *named]) == 0
    out = capsys.readouterr().out
    assert "correlation 0.6" in out and "90% power" in out


@pytest.mark.parametrize("width", [60, 100, 140])
def test_any_width_is_kept(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    candidates = [
        Candidate("jnli-1.3-0.2", 2434),
        Candidate("unknown", None),
        Candidate("few", 3, share=1.0),
        Candidate("compared", 400, 0.6, 1.2, 0.43),
    ]
    for given in (candidates[:3], candidates[3:]):
        console = make_console()
        console.width = width
        print_plan(make_plan(given, PlanSettings(2.0), {"roll": "a perplexity"}), console)
        out = capsys.readouterr().out
        assert all(cell_len(line) <= width for line in out.splitlines())
        assert "roll: left out: a perplexity" in out
    assert "0.43" in out
