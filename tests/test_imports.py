"""What a command imports: heavy libraries only where they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOW = """
import sys
from tenbin.cli import main
try:
    main(sys.argv[1:])
finally:
    print("IMPORTED", *sys.modules)
"""


def imported(tmp_path: Path, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "TENBIN_CACHE": str(tmp_path)},
        cwd=tmp_path,
        timeout=120,
    )
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("IMPORTED")]
    return set(line.split())


@pytest.mark.parametrize("arguments", [("--version",), ("run", "--help"), ("doctor", "--help")])
def test_help_imports_next_to_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    found = imported(tmp_path, *arguments)
    assert not found & {"numpy", "pydantic", "rich", "yaml", "jinja2", "pyarrow"}


def test_lists_of_tasks_need_no_numbers(tmp_path: Path) -> None:
    assert not imported(tmp_path, "tasks") & {"numpy", "scipy", "pyarrow", "torch"}


@pytest.mark.parametrize("arguments", [("preview", "--tasks", "jnli"), ("validate", "jnli")])
def test_what_asks_no_model_needs_nothing_of_results(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    found = imported(tmp_path, *arguments, "--sample_data")
    assert "tenbin.pipeline.prepare" in found
    stages = ("tenbin.results", "tenbin.journal", "tenbin.statistics", "numpy")
    assert not [name for name in found if name.startswith(stages)]


def test_a_dry_run_takes_the_light_part_of_scipy(tmp_path: Path) -> None:
    """One compiled module: its packages are half of what a dry run would wait for and hold."""
    given = ["--model", "scripted", "--tasks", "jnli", "--sample_data", "--no_cache"]
    found = imported(tmp_path, "run", *given)
    assert "scipy.special._ufuncs" in found
    assert not found & {"scipy.special", "scipy.stats", "pandas"}
    assert not found & {"torch", "transformers", "datasets", "ray"}
