"""One engine for all tests: a start takes longer than everything that is asked of it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from tenbin.backends.base import BackendSettings
from tenbin.backends.registry import open_backend
from tests.backends.reference import greedy_ids
from tests.backends.tiny import make_tokenizer

WINDOW = 256
BLOCK = 32
"""Tokens a block of the prefix cache: contexts of more are shared."""
ENGINE = {
    "max_model_len": WINDOW,
    "block_size": BLOCK,
    "enforce_eager": True,
    "max_num_seqs": 8,
    "kv_cache_memory_bytes": 64 << 20,
}
"""Eager and small: compiling for minutes would prove nothing more."""

ENDING = "散歩しましょう"
"""A prompt whose answer is ended by the model."""

torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if importlib.util.find_spec("vllm") is not None:
        return
    absent = pytest.mark.skip(reason="vLLM is not installed here; `make test-vllm` runs these")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(absent)


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return make_tokenizer(add_bos=True)


@pytest.fixture(scope="session")
def model(tokenizer: Any) -> Any:
    """A tiny Llama whose heads are as wide as vLLM's attention on a CPU wants them."""
    torch.manual_seed(11)
    config = transformers.AutoConfig.for_model(
        "llama",
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=WINDOW,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    made = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for weight in made.parameters():
            # Larger weights than a fresh model's, so that a wrong token cannot hide.
            if weight.ndim == 2:
                weight.normal_(0, 0.2)
    return made.eval()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, model: Any, tokenizer: Any) -> Path:
    made = tmp_path_factory.mktemp("llama")
    # A random model hardly ever writes its end token, so what it does write becomes one.
    written = greedy_ids(model, tokenizer(ENDING)["input_ids"], 8, set())
    model.generation_config.eos_token_id = [2, written[-1]]
    model.save_pretrained(made)
    tokenizer.save_pretrained(made)
    return made


def settings(folder: Path, encoding: Any = "joint", **arguments: Any) -> BackendSettings:
    given = {"pretrained": str(folder), **ENGINE, **arguments}
    return BackendSettings("vllm", given, dtype="float32", encoding=encoding)


@pytest.fixture(scope="session")
def backend(folder: Path) -> Iterator[Any]:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    opened = open_backend(settings(folder))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def plain(folder: Path) -> Iterator[Any]:
    """The hf backend's plain forward: one row at a time, nothing shared."""
    opened = open_backend(
        BackendSettings(
            "hf",
            {"pretrained": str(folder), "engine": "plain", "max_length": WINDOW},
            device="cpu",
            dtype="float32",
            batch_size=1,
        )
    )
    yield opened
    opened.close()
