"""What diagnosis is told of a tokenizer is what a run would ask, and no weights are read for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers

from tenbin.analysis.doctor.truncation import needed
from tenbin.backends.base import BackendSettings
from tenbin.backends.registry import BACKENDS, Entry, open_inspector
from tenbin.backends.text.encoding import (
    EncodedScore,
    encode_prompts,
    encode_rolling,
    encode_scores,
)
from tenbin.backends.text.inspection import HfInspector
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.errors import BackendError, ConfigError
from tenbin.records import Failure, Generate, Rolling, Score
from tests.analysis.doctor.written import prompt, reader
from tests.backends.pieces import sentencepiece_tokenizer
from tests.backends.tiny import TEMPLATE, make_tokenizer

TEXTS = ["質問：駅\n回答：", "The answer is ", "a b c\n", "<s>a", "今日は"]
ANSWERS = ("駅", " blue", "a b", "。")


@pytest.mark.parametrize("encoding", ["joint", "separate"])
@pytest.mark.parametrize("window", [6, 64])
def test_readings_are_the_rows_of_a_run(encoding: Any, window: int, bos_tokenizer: Any) -> None:
    tokenizer = HfTokenizer(bos_tokenizer, window)
    opened = HfInspector(tokenizer, encoding)
    prompts = [prompt(text, *ANSWERS, document=text) for text in TEXTS]
    requests = [Score("", text, ANSWERS) for text in TEXTS]
    asked = encode_scores(tokenizer, encoding, requests)
    for reading, row in zip(opened.tokenize(prompts), asked, strict=True):
        if isinstance(row, Failure):
            assert reading.failure == row.kind
            continue
        assert isinstance(row, EncodedScore) and reading.failure is None
        assert reading.truncated == max(0, row.truncated)
        rows = [(reading.context + answer)[-(window + 1) :] for answer in reading.answers]
        assert rows == [one.ids for one in row.rows]
        assert [len(answer) for answer in reading.answers] == [one.scored for one in row.rows]
        whole = bos_tokenizer(reading.document + ANSWERS[0], add_special_tokens=False)["input_ids"]
        assert list(reading.wholes[0])[-len(whole) :] == whole


def test_prompts_of_generation_are_those_of_a_run(bos_tokenizer: Any) -> None:
    tokenizer = HfTokenizer(bos_tokenizer, 8)
    prompts = [prompt(text, document=text, max_gen_toks=3) for text in TEXTS]
    asked = encode_prompts(tokenizer, [Generate("", text, (), 3) for text in TEXTS])
    for reading, row in zip(HfInspector(tokenizer, "joint").tokenize(prompts), asked, strict=True):
        assert not isinstance(row, Failure)
        assert reading.truncated == row.truncated
        assert reading.context[-5:] == row.ids and reading.new_tokens == 3
    (refused,) = HfInspector(tokenizer, "joint").tokenize([prompt("a", max_gen_toks=8)])
    assert refused.failure == "no_room"


def test_whole_texts_are_cut_as_a_run_cuts_them(bos_tokenizer: Any) -> None:
    tokenizer = HfTokenizer(bos_tokenizer, 8)
    prompts = [prompt(text * 6, document=text, kind="perplexity") for text in TEXTS]
    asked = encode_rolling(tokenizer, [Rolling("", text * 6) for text in TEXTS])
    for reading, rows in zip(HfInspector(tokenizer, "joint").tokenize(prompts), asked, strict=True):
        assert not isinstance(rows, Failure)
        assert reading.windows == tuple(row.ids for row in rows) and len(rows) > 1
        assert needed(reading) == 8 and reading.truncated == 0
    (empty,) = HfInspector(HfTokenizer(make_tokenizer(), 8), "joint").tokenize(
        [prompt("", kind="perplexity")]
    )
    assert empty.failure == "empty_text"


def test_scored_and_written_prompts_keep_their_order() -> None:
    mixed = [prompt("a", document="0"), prompt("b", "c", document="1"), prompt("d", document="2")]
    assert [reading.document for reading in reader().tokenize(mixed)] == ["0", "1", "2"]


def test_what_is_known_of_a_vocabulary(tokenizer: Any, bos_tokenizer: Any) -> None:
    found = HfInspector(HfTokenizer(bos_tokenizer, 64), "joint", ["name"]).vocabulary
    assert (found.bos, found.prefix, found.own_prefix, found.unknown) == (1, (1,), (1,), 0)
    assert found.size == len(bos_tokenizer) and found.names == ("name",)
    assert found.added["<NL>"] and found.added["</s>"]
    assert found.chat_template == TEMPLATE
    silent = HfInspector(HfTokenizer(bos_tokenizer, 64, False), "joint").vocabulary
    assert (silent.prefix, silent.own_prefix) == ((), (1,))
    assert HfInspector(HfTokenizer(tokenizer, 64), "joint").vocabulary.prefix == ()


def test_runs_of_spaces_are_no_special_words() -> None:
    inner = make_tokenizer()
    inner.add_tokens(["    "])
    assert "    " not in HfInspector(HfTokenizer(inner, 64), "joint").vocabulary.added


def test_the_default_of_several_chat_templates() -> None:
    inner = make_tokenizer()
    inner.chat_template = {"tool_use": "tools", "default": "plain"}
    assert HfInspector(HfTokenizer(inner, 64), "joint").vocabulary.chat_template == "plain"


def test_sentencepiece_words_are_cut_out(tmp_path: Path) -> None:
    opened = HfInspector(HfTokenizer(sentencepiece_tokenizer(tmp_path), 64), "joint")
    assert opened.vocabulary.added["<s>"] and opened.vocabulary.added["<NL>"]
    (ids,) = opened.encode(["駅<NL>"])
    assert opened.decode(ids[-1:]) == "<NL>"


@pytest.fixture
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("weights were loaded")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", refuse)


@pytest.mark.usefixtures("no_weights")
def test_a_folder_is_read_without_its_weights(llama_folder: Path) -> None:
    found = open_inspector(BackendSettings("hf-causal", {"pretrained": str(llama_folder)}))
    assert found.vocabulary.max_length == 64 and found.vocabulary.names == (str(llama_folder),)


@pytest.mark.model
@pytest.mark.usefixtures("no_weights")
def test_a_gguf_file_is_not_converted(cache: Path) -> None:
    settings = BackendSettings("hf", {"pretrained": "smollm2-135m"}, cache_dir=str(cache))
    found = open_inspector(settings)
    assert not (cache / "models").exists()
    assert found.vocabulary.size == 49152 and found.vocabulary.max_length == 8192
    assert found.vocabulary.names[1].endswith(".gguf")


def test_a_damaged_gguf_file(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(BackendError, match=r"model.gguf cannot be read as a GGUF model"):
        open_inspector(BackendSettings("hf", {"pretrained": str(file)}, cache_dir=str(tmp_path)))


def test_a_device_that_is_not_there_does_not_matter(llama_folder: Path) -> None:
    settings = BackendSettings("hf", {"pretrained": str(llama_folder)}, device="cuda:7")
    assert open_inspector(settings).vocabulary.size > 0


def test_backends_without_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "closed", Entry("tenbin.backends.closed:open_closed"))
    with pytest.raises(BackendError, match="closed backend shows no tokenizer") as raised:
        open_inspector(BackendSettings("closed"))
    assert "--model hf" in raised.value.hint
    with pytest.raises(ConfigError, match="unknown model backend 'hff'"):
        open_inspector(BackendSettings("hff"))
