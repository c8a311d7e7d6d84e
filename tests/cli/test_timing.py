"""`--timing`: where the time of a command went, printed and kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenbin.cli import main


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_stages_are_printed_and_kept(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "result.json"
    given = ["--model", "scripted", "--tasks", "jcommonsenseqa", "--sample_data"]
    more = ["--templates", "0.2,0.3"] if command == "sweep" else []
    limits = ["--limit", "3", "--cache_dir", str(tmp_path / "cache")]
    assert not main([command, *given, *more, *limits, "--output_path", str(output), "--timing"])
    kept = json.loads(output.read_text(encoding="utf-8"))["timing"]
    assert {"start", "data", "prompts", "statistics"} <= set(kept)
    assert all(seconds > 0 for seconds in kept.values())
    shown = [line.split() for line in capsys.readouterr().err.splitlines()]
    rows = {line[0]: line[1] for line in shown if len(line) > 1}
    assert float(rows["writing"]) > 0
    assert float(rows["together"]) > sum(kept.values())
