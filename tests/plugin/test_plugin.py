"""A package of the kind a user would write, installed: its backend, metric and task run by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tenbin

PACKAGE = Path(__file__).parent / "capitals"
# Tokyo, and paris without its case, are whole; 3 of the 8 letters of Canberra; none of Lima.
EXPECTED = (1 + 1 + 3 / 8 + 0) / 4


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a process in which the package is installed."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-index", "--no-deps", "--no-build-isolation", "--target", str(folder)),
            str(PACKAGE),
        ],
        check=True,
    )
    code = Path(tenbin.__file__).parents[1]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(code)])}


def run(environment: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "tenbin", *arguments],
        env={**environment, "TENBIN_CACHE": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
    )


def evaluated(environment: dict[str, str], folder: Path, *arguments: str) -> dict[str, Any]:
    given = ("run", "--model", "atlas", "--tasks", "capitals", "--output_path", "result.json")
    done = run(environment, folder, *given, *arguments)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return document


def test_backend_metric_and_task_run_by_name(environment: dict[str, str], tmp_path: Path) -> None:
    found = evaluated(environment, tmp_path)
    assert found["results"]["capitals"]["prefix_share"] == EXPECTED == 0.59375
    assert found["results"]["capitals"]["exact_match"] == 0.25
    assert found["libraries"]["tenbin-capitals"] == "1.2"
    assert found["plugins"] == {
        "backend atlas": "tenbin-capitals 1.2",
        "metric prefix_share": "tenbin-capitals 1.2",
        "task capitals": "tenbin-capitals 1.2",
    }
    samples = tenbin.load_run(tmp_path / "result.json").samples
    answers = [sample["outcomes"][0]["answer"] for sample in samples]
    assert answers == ["Tokyo", "paris", "Can not say", "?"]


def test_they_run_on_workers(environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    given = ("--workers", "2", "--num_cpus", "0.5", "--model_args", "unknown=Limassol")
    found = evaluated(environment, tmp_path, *given)
    # The model argument reaches the workers: Limassol begins as Lima does.
    assert found["results"]["capitals"]["prefix_share"] == EXPECTED + 1 / 4


def test_they_are_named_in_lists_and_hints(environment: dict[str, str], tmp_path: Path) -> None:
    listed = run(environment, tmp_path, "tasks", "capitals")
    assert "capitals-1.0" in listed.stdout, listed.stderr
    for given, hint in (
        (("--model", "atlass", "--tasks", "capitals"), "did you mean 'atlas'?"),
        (
            ("--model", "atlas", "--tasks", "capitals", "--extra_metrics", "prefix_shares"),
            "did you mean prefix_share?",
        ),
        (("--model", "atlas", "--tasks", "capital"), "capitals"),
    ):
        refused = run(environment, tmp_path, "run", *given)
        assert refused.returncode == 1
        assert hint in " ".join(refused.stderr.split())
