"""transformers, imported quickly, is what it is otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.checkpoint import transformers_import as quick

_SAME = """
import importlib.metadata, sys
from tenbin.backends.checkpoint import transformers_import
import transformers
from transformers.utils import import_utils
import transformers.loss.loss_utils
from transformers.loss import loss_for_object_detection as losses

assert "scipy.optimize" not in sys.modules
rows, columns = losses.linear_sum_assignment([[1, 2], [2, 1]])
assert list(columns) == [0, 1] and "scipy.optimize" in sys.modules
assert losses.is_scipy_available() and losses.__loader__ is losses.__spec__.loader
assert type(losses.__loader__).__module__.startswith(("importlib", "_frozen_importlib"))
assert importlib.metadata.packages_distributions.__module__ == "importlib.metadata"
packages = importlib.metadata.packages_distributions()
assert import_utils.PACKAGE_DISTRIBUTION_MAPPING == packages
assert transformers_import._packages(None) == packages  # from the cache
models = import_utils.create_import_structure_from_path(transformers.__path__[0] + "/models")
fresh = import_utils.create_import_structure_from_path(sys.argv[1] + "/models")
assert models == fresh and len(fresh) > 100
"""


def test_names_and_packages_are_the_same(tmp_path: Path) -> None:
    import transformers

    # The same files in another place: the cache knows nothing of them.
    (tmp_path / "copy").symlink_to(transformers.__path__[0])
    environment = {**os.environ, "TENBIN_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", _SAME, str(tmp_path / "copy")],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(one.name for one in (tmp_path / "cache" / "imports").iterdir()) == [
        "packages.json",
        "transformers.json",
    ]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[Path]]:
    import transformers.utils.import_utils  # noqa: F401

    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "models"
    (folder / "llama").mkdir(parents=True)
    (folder / "llama" / "modeling_llama.py").write_text("__all__ = ['Llama']")
    return folder, []


def test_a_changed_file_is_read_again(made: tuple[Path, list[Path]]) -> None:
    folder, calls = made
    table = {"llama": {frozenset({"torch"}): {"modeling_llama": {"Llama", "A"}}, frozenset(): {}}}

    def make(path: Path) -> Any:
        calls.append(path)
        return table

    assert quick._structure(make, folder) == table
    assert quick._structure(make, folder) == table
    assert len(calls) == 1
    (folder / "llama" / "modeling_llama.py").write_text("__all__ = ['Llama', 'B']")
    assert quick._structure(make, folder) == table
    assert len(calls) == 2


@pytest.mark.parametrize("table", [{"llama": ["Llama"]}, {1: {"x": {"y"}}}, {"llama": {"a": 3}}])
def test_a_table_of_another_shape_is_used_and_not_kept(
    made: tuple[Path, list[Path]], table: Any
) -> None:
    folder, calls = made

    def make(path: Path) -> Any:
        calls.append(path)
        return table

    assert quick._structure(make, folder) is table
    assert quick._structure(make, folder) is table
    assert len(calls) == 2
