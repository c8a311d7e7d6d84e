"""Scripts that measure are run by hand and seldom: what they import must still be there."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))
IMPORT = "import runpy, sys; [runpy.run_path(p, run_name='imported') for p in sys.argv[1:]]"


def imports_of(script: Path) -> Iterator[tuple[str, str | None]]:
    """(module, name) of every import, also of those inside functions."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"), str(script))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def is_there(module: str) -> bool:
    return importlib.util.find_spec(module.partition(".")[0]) is not None


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_what_a_script_imports_of_tenbin_exists(script: Path) -> None:
    for module, name in imports_of(script):
        if module.partition(".")[0] != "tenbin":
            continue
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("tenbin"):
                raise
            continue  # an optional library is not installed here
        if name is not None and not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")


def test_scripts_import_without_running() -> None:
    own = {script.stem for script in SCRIPTS} | {"tests"}
    here = [
        script
        for script in SCRIPTS
        if all(
            module.partition(".")[0] in own or is_there(module) for module, _ in imports_of(script)
        )
    ]
    assert len(here) > len(SCRIPTS) // 2
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, *map(str, here)],
        capture_output=True,
        text=True,
        cwd=ROOT / "benchmarks",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == ""
