"""Models for the tests: tiny random ones, and the small real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint import checkpoint
from tenbin.backends.hf import checkpoint as hf_checkpoint
from tenbin.backends.registry import open_backend
from tests.backends.tiny import CONFIGS, make_model, make_tokenizer

# One thread: two that wait for each other on a busy machine are many times slower.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def no_probe_cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is recalled from, or left in, the user's own folder."""
    root = checkpoint.cache_root

    def elsewhere(cache_dir: str | None) -> Path:
        return root(cache_dir or str(request.getfixturevalue("tmp_path")))

    for module in (checkpoint, hf_checkpoint):
        monkeypatch.setattr(module, "cache_root", elsewhere)


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return make_tokenizer()


@pytest.fixture(scope="session")
def bos_tokenizer() -> Any:
    return make_tokenizer(add_bos=True)


@pytest.fixture(scope="session", params=sorted(CONFIGS))
def tiny(request: pytest.FixtureRequest, tokenizer: Any, bos_tokenizer: Any) -> tuple[Any, Any]:
    """A model of each architecture with its tokenizer; llama's adds BOS."""
    chosen = bos_tokenizer if request.param == "llama" else tokenizer
    return make_model(request.param, len(chosen)), chosen


@pytest.fixture(scope="session")
def llama(bos_tokenizer: Any) -> tuple[Any, Any]:
    return make_model("llama", len(bos_tokenizer)), bos_tokenizer


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory, bos_tokenizer: Any) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    make_model("llama", len(bos_tokenizer)).save_pretrained(folder)
    bos_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def smollm() -> Any:
    """The embedded model; converted once, in the user's own cache folder."""
    settings = BackendSettings("hf", {"pretrained": "smollm2-135m"}, device="cpu", dtype="float32")
    return open_backend(settings)
