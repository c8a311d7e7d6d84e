"""Runs to show, and the report of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.cli import main
from tenbin.cli.report import write_report


@pytest.fixture(scope="session")
def scripted_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over ten languages and both modes, and two Japanese tasks, answered by a script."""
    folder = tmp_path_factory.mktemp("scripted")
    code = main(
        [
            "run", "--model", "scripted", "--tasks", "jnli,jsquad,mlogiqa_mcq,mlogiqa_gen",
            "--num_fewshot", "2,1,0,0", "--limit", "6", "--sample_data", "--no_cache",
            "--output_path", str(folder / "first.json"),
        ]
    )  # fmt: skip
    assert code == 0
    return folder / "first.json"


@pytest.fixture(scope="session")
def report(scripted_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of that run."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report([scripted_run], path)
    return path


@pytest.fixture(scope="session")
def sweep_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over the templates of two tasks, answered by a script."""
    stored = tmp_path_factory.mktemp("sweep") / "sweep.json"
    arguments = ["--model", "scripted", "--sample_data", "--no_cache", "--num_fewshot", "1"]
    tasks = ["--tasks", "jnli-1.3,marc_ja", "--output_path", str(stored)]
    assert main(["sweep", *arguments, *tasks]) == 0
    return stored
