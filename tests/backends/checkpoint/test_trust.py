"""What is in a model folder runs no code unless the user says so."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.base import BackendSettings
from tenbin.backends.hf.backend import open_hf
from tenbin.errors import BackendError
from tenbin.records import Score


@pytest.fixture
def copy(llama_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(llama_folder, tmp_path / "copy"))


class Bomb:
    """Writes a file as soon as it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._mark,)


def ask(folder: Path, **arguments: Any) -> None:
    backend = open_hf(BackendSettings("hf", {"pretrained": str(folder), **arguments}, device="cpu"))
    list(backend.run([Score("key", "a", (" b", " c"))]))


def bring_code(folder: Path, mark: Path) -> None:
    """Make the folder's classes the ones of a file of its own, which writes a mark."""
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "of_its_own"
    config["auto_map"] = {
        "AutoConfig": "code.OwnConfig",
        "AutoModelForCausalLM": "code.OwnModel",
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).touch()\n"
        "from transformers import LlamaConfig, LlamaForCausalLM\n"
        "class OwnConfig(LlamaConfig):\n    model_type = 'of_its_own'\n"
        "class OwnModel(LlamaForCausalLM):\n    config_class = OwnConfig\n"
    )


def test_code_of_a_model_runs_only_where_it_is_trusted(copy: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    bring_code(copy, mark)
    with pytest.raises(BackendError, match="trust_remote_code"):
        ask(copy)
    assert not mark.exists()
    ask(copy, trust_remote_code=True)
    assert mark.exists()


def test_pickled_weights_run_nothing(copy: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (copy / "model.safetensors").unlink()
    weights = copy / "pytorch_model.bin"
    weights.write_bytes(pickle.dumps({"lm_head.weight": Bomb(mark)}))
    with pytest.raises(BackendError):
        ask(copy)
    assert not mark.exists()
    # The control: a loader without restrictions runs it.
    pickle.loads(weights.read_bytes())
    assert mark.exists()
