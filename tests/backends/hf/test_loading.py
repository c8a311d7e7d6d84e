"""Adapters, placements and folders that lack something."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint.loading import load_tokenizer
from tenbin.backends.hf.backend import HfBackend, open_hf
from tenbin.errors import BackendError
from tenbin.records import Generate, Score, Scores, Text
from tests.backends.checkpoint.test_checkpoint import opened
from tests.backends.pieces import sentencepiece_folder
from tests.backends.reference import greedy_ids, plain_score

REQUEST = Score("s", "The answer is", (" a", " b c"))


def placed(folder: Path, **arguments: Any) -> HfBackend:
    backend = open_hf(BackendSettings("hf", {"pretrained": str(folder), **arguments}))
    assert isinstance(backend, HfBackend)
    return backend


def scores(backend: HfBackend) -> tuple[float, ...]:
    answer = dict(backend.run([REQUEST]))["s"]
    assert isinstance(answer, Scores)
    return answer.logprobs


@pytest.fixture
def copy(llama_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(llama_folder, tmp_path / "copy"))


def change_config(folder: Path, **values: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_an_adapter_answers_as_peft_does(llama_folder: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    model: Any = AutoModelForCausalLM.from_pretrained(llama_folder)
    tokenizer: Any = AutoTokenizer.from_pretrained(llama_folder)
    torch.manual_seed(1)
    config = peft.LoraConfig(
        r=2, lora_alpha=16, target_modules=["q_proj", "v_proj"], init_lora_weights=False
    )
    adapted = peft.get_peft_model(model, config).eval()
    adapted.save_pretrained(tmp_path)
    backend = opened(llama_folder, model_args={"peft": str(tmp_path)})
    found = scores(backend)
    for value, text in zip(found, REQUEST.continuations, strict=True):
        expected = plain_score(adapted, tokenizer, REQUEST.prompt, text, 64)[0]
        assert value == pytest.approx(expected, abs=1e-4)
    assert found != pytest.approx(scores(opened(llama_folder)), abs=1e-2)
    texts = [Generate(prompt, prompt, (), 8) for prompt in ("a b", "The quick brown")]
    answers = dict(backend.run(texts))
    for request in texts:
        answer = answers[request.key]
        assert isinstance(answer, Text)
        new = greedy_ids(adapted, tokenizer(request.prompt)["input_ids"], 8, {2})
        assert (answer.text, answer.token_count) == (
            tokenizer.decode(new).rstrip("\ufffd"),
            len(new),
        )


@pytest.mark.parametrize("placement", [{"device_map": "auto"}, {"device_map": "cpu"}])
def test_device_maps_score_the_same(llama_folder: Path, placement: dict[str, str]) -> None:
    pytest.importorskip("accelerate")
    backend = placed(llama_folder, dtype="float32", **placement)
    assert scores(backend) == pytest.approx(scores(opened(llama_folder)), abs=1e-4)
    assert backend.describe()["device"] == "device map"


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_device_maps_may_name_what_is_not_there(llama_folder: Path) -> None:
    for name, message in [("cuda", "0 CUDA devices"), ("nonsense", "no device")]:
        with pytest.raises(BackendError, match=message):
            placed(llama_folder, device_map=name)


def test_a_subfolder_is_the_model(llama_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(llama_folder, tmp_path / "inner")
    inside = opened(tmp_path, model_args={"subfolder": "inner"})
    plain = opened(llama_folder)
    assert inside.fingerprint == plain.fingerprint
    assert scores(inside) == scores(plain)
    with pytest.raises(BackendError, match=r"no config.json"):
        opened(tmp_path, model_args={"subfolder": "absent"})


def test_a_folder_has_no_revision(llama_folder: Path) -> None:
    backend = opened(llama_folder, model_args={"revision": "v1"})
    assert backend.describe()["revision"] is None
    assert scores(backend) == scores(opened(llama_folder))


@pytest.mark.parametrize(("name", "meant"), [("bf16", "bfloat16"), ("torch.float16", "float16")])
def test_short_names_of_precisions(llama_folder: Path, name: str, meant: str) -> None:
    backend = opened(llama_folder, dtype=name)
    assert backend.describe()["dtype"] == meant
    assert scores(backend) == pytest.approx(scores(opened(llama_folder)), abs=0.3)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "qwen2", "gemma2", "gpt_neox"])
def test_a_folder_without_tokenizer_is_refused(copy: Path, kind: str) -> None:
    """For some of these transformers makes up an empty tokenizer and says nothing."""
    for file in copy.glob("*token*"):
        file.unlink()
    change_config(copy, model_type=kind)
    with pytest.raises(BackendError, match=str(copy)) as caught:
        opened(copy)
    assert "tokenizer=" in caught.value.hint


def test_a_vocabulary_that_is_mistaken_is_refused(tmp_path: Path) -> None:
    sentencepiece_folder(tmp_path, "T5Tokenizer", "spiece")
    inner: Any = AutoTokenizer.from_pretrained(tmp_path)
    if inner.eos_token_id not in inner("鰯", add_special_tokens=False)["input_ids"]:
        pytest.skip("this version of transformers reads the vocabulary well")
    with pytest.raises(BackendError, match="reads unknown characters as </s>"):
        load_tokenizer(str(tmp_path))


def test_weights_that_are_not_there_are_not_made_up(copy: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BackendError, match=r"lacks 1 of its weights, lm_head\.weight"):
        scores(opened(copy))


def test_code_of_a_model_is_not_run_unasked(copy: Path) -> None:
    change_config(copy, model_type="own", auto_map={"AutoConfig": "code.Own"})
    (copy / "code.py").write_text("raise SystemExit('was run')")
    with pytest.raises(BackendError, match="custom code") as caught:
        opened(copy)
    assert "trust_remote_code=True" in caught.value.hint


def test_an_adapter_that_is_none(llama_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    with pytest.raises(BackendError, match=r"no adapter_config.json"):
        opened(llama_folder, model_args={"peft": str(tmp_path)})
    with pytest.raises(BackendError, match="no file or folder"):
        opened(llama_folder, model_args={"peft": "/nowhere"})
