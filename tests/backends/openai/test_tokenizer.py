"""With `tokenizer=` a server's prompts are measured; without, what needs it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.base import BackendSettings
from tenbin.backends.registry import open_inspector
from tenbin.cli import main
from tenbin.errors import BackendError, ConfigError
from tests.backends.openai.misbehaving import Answer, chat, completion, misbehaving, opened

TURNS = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "The answer?"}]


def test_conversations_are_measured_in_the_models_own_format(
    llama_folder: Path, bos_tokenizer: Any
) -> None:
    with misbehaving(lambda before, body: Answer(chat("x"))) as server:
        backend: Any = opened(server, True, tokenizer=str(llama_folder), max_length=50)
    measured = backend.capabilities.tokenizer
    written = measured.chat(TURNS)
    assert written.startswith('[{"role":"system"')
    text = bos_tokenizer.apply_chat_template(TURNS, tokenize=False, add_generation_prompt=True)
    length = len(bos_tokenizer(text, add_special_tokens=False)["input_ids"])
    assert measured.prompt_lengths([written]) == [length]
    assert measured.examine(written, None, 60).overflow == length + 60 - 50
    assert measured.max_length == 50


def test_completions_use_the_tokenizers_chat_template(llama_folder: Path) -> None:
    with misbehaving(lambda before, body: Answer(completion("x"))) as server:
        format = opened(server, tokenizer=str(llama_folder)).capabilities.chat_format
        assert opened(server).capabilities.chat_format is None
    assert format is not None
    assert format.chat(TURNS).endswith("[assistant]")


def test_what_needs_a_tokenizer_says_so() -> None:
    given = {"tasks": ["mlogiqa_gen_en"], "sample_data": True, "no_cache": True, "limit": 1}
    with misbehaving(lambda before, body: Answer(completion("x"))) as server:
        arguments = {"base_url": server.base_url, "model": "made-up"}
        with pytest.raises(ConfigError, match="--apply_chat_template needs") as raised:
            tenbin.evaluate(model="openai", model_args=arguments, apply_chat_template=True, **given)
        assert "openai-chat" in raised.value.hint
        with pytest.raises(ConfigError, match="jp-stable ends answers") as raised:
            tenbin.evaluate(model="openai", model_args=arguments, profile="jp-stable", **given)
        assert "tokenizer=PATH" in raised.value.hint
        assert server.calls == []


def test_doctor_reads_the_named_tokenizer(llama_folder: Path) -> None:
    named = {"tokenizer": str(llama_folder)}
    address = {"base_url": "http://127.0.0.1:9/v1"}
    for given in (named, address | named):
        assert open_inspector(BackendSettings("openai", given)).vocabulary.size > 300
    for nothing in ({}, address):
        with pytest.raises(BackendError, match="a server shows no tokenizer") as raised:
            open_inspector(BackendSettings("openai", nothing))
        assert "--model_args tokenizer=PATH" in raised.value.hint
    with pytest.raises(ConfigError, match="unknown model argument 'tokeniser'"):
        open_inspector(BackendSettings("openai", {"tokeniser": str(llama_folder)}))


def test_doctor_says_why_it_cannot_look_at_chats(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--tasks", "jnli", "--sample_data", "--model", "openai-chat"]
    address = ["--model_args", "base_url=http://127.0.0.1:9/v1,tokenizer=somewhere"]
    for rest in ([], address):
        assert main(["doctor", *given, *rest]) == 1
        said = " ".join(capsys.readouterr().err.split())
        assert "openai-chat: the server puts the messages into the model's chat format" in said
        assert "--model hf --model_args pretrained=PATH --apply_chat_template" in said


def test_variables_are_checked_and_measured_by_the_named_tokenizer(
    llama_folder: Path, tmp_path: Path
) -> None:
    import shutil

    from transformers import AutoTokenizer

    folder = tmp_path / "model"
    shutil.copytree(llama_folder, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template += "{% if brief %} in one word{% endif %}"
    tokenizer.save_pretrained(folder)
    models = {"data": [{"id": "made-up", "owned_by": "vllm"}]}
    with misbehaving(lambda before, body: Answer(chat("x")), models) as server:
        backend: Any = opened(server, True, tokenizer=str(folder))
    measured, format = backend.capabilities.tokenizer, backend.capabilities.chat_format
    with pytest.raises(ConfigError, match="brieff: the model's chat template has no such"):
        format.chat(TURNS, {"brieff": True})  # type: ignore[union-attr]
    plain, brief = (measured.chat(TURNS, {"brief": is_brief}) for is_brief in (False, True))
    longer = len(tokenizer(" in one word", add_special_tokens=False)["input_ids"])
    lengths = measured.prompt_lengths([plain, brief])
    assert 0 < lengths[1] - lengths[0] <= longer
