"""A real vLLM server, asked by the openai backends, beside the hf backend on the same model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint.arguments import HfArguments
from tenbin.backends.checkpoint.file_hashes import FileHashes
from tenbin.backends.checkpoint.gguf import converted_folder
from tenbin.backends.checkpoint.location import EMBEDDED_MODEL, locate_model
from tenbin.backends.registry import open_backend
from tenbin.errors import BackendError
from tenbin.records import Generate, Picked, Rolling, Score, Scores, Text
from tests.vllm.serving import vllm_server

NOISE = 5e-3
"""Largest difference of a float32 log-likelihood here; about 4e-4 is seen."""
WINDOW = 1024
NAME = "smol"


@pytest.fixture(scope="module")
def smollm() -> Path:
    try:
        gguf = locate_model(HfArguments(EMBEDDED_MODEL)).gguf
    except BackendError as error:
        pytest.skip(str(error))
    assert gguf is not None
    return converted_folder(gguf, FileHashes().of([gguf])[0], None)


@pytest.fixture(scope="module")
def address(smollm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("server") / "vllm.log"
    options = ["--dtype", "float32", "--enforce-eager", "--max-model-len", str(WINDOW)]
    options += ["--served-model-name", NAME, "--kv-cache-memory-bytes", "500M"]
    with vllm_server(smollm, log, *options) as found:
        yield found


@pytest.fixture(scope="module")
def plain(smollm: Path) -> Iterator[Any]:
    arguments = {"pretrained": str(smollm), "engine": "plain", "max_length": WINDOW - 1}
    opened = open_backend(BackendSettings("hf", arguments, device="cpu", dtype="float32"))
    yield opened
    opened.close()


def answered(kind: str, requests: list[Any], **arguments: Any) -> dict[str, Any]:
    opened = open_backend(BackendSettings(kind, arguments))
    try:
        pairs = list(opened.run(requests))
    finally:
        opened.close()
    assert sorted(key for key, _ in pairs) == sorted(request.key for request in requests)
    return dict(pairs)


SCORES = [
    Score("france", "The capital of France is", (" Paris", " London", " a city in Germany")),
    Score("japan", "日本の首都は", ("東京です。", "大阪です。")),
    Score("long", "The quick brown fox jumps over the lazy dog. " * 20 + "The", (" end", " dog")),
]


@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "texts"])
def test_scores_are_those_of_the_hf_backend(
    address: str, smollm: Path, plain: Any, tokens: bool
) -> None:
    further = {"tokenizer": str(smollm)} if tokens else {}
    mine = answered("openai", SCORES, base_url=address, model=NAME, **further)
    other = dict(plain.run(SCORES))
    for key, response in other.items():
        assert isinstance(mine[key], Scores), mine[key]
        assert mine[key].logprobs == pytest.approx(response.logprobs, abs=NOISE)
        assert mine[key].token_counts == response.token_counts
        assert mine[key].greedy == response.greedy


def test_whole_texts_are_weighed(address: str, smollm: Path, plain: Any) -> None:
    asked = [Rolling("roll", "The quick brown fox jumps over the lazy dog.")]
    arguments = {"base_url": address, "model": NAME, "tokenizer": str(smollm)}
    mine, other = answered("openai", asked, **arguments)["roll"], dict(plain.run(asked))["roll"]
    assert mine.token_count == other.token_count
    assert mine.logprob == pytest.approx(other.logprob, abs=NOISE)


def test_greedy_texts_are_those_of_the_hf_backend(address: str, smollm: Path, plain: Any) -> None:
    asked = [
        Generate("stop", "The capital of France is", (".",), 20),
        Generate("length", "One, two, three,", (), 12),
        Generate("japanese", "質問：日本の首都は？\n回答：", ("\n",), 12),
    ]
    mine = answered("openai", asked, base_url=address, model=NAME, tokenizer=str(smollm))
    for key, response in dict(plain.run(asked)).items():
        assert isinstance(mine[key], Text), mine[key]
        assert (mine[key].text, mine[key].finish) == (response.text, response.finish)


def test_a_chat_answers_and_names_choices(address: str) -> None:
    asked: list[Any] = [
        Generate("hello", "Say hello.", (), 16),
        Score("choice", "Which is a colour?\nAnswer:", (" red", " seven")),
    ]
    mine = answered("openai-chat", asked, base_url=address, model=NAME)
    assert isinstance(mine["hello"], Text) and mine["hello"].text
    assert mine["hello"].usage is not None and mine["hello"].usage.completion_tokens > 0
    assert isinstance(mine["choice"], Picked), mine["choice"]
