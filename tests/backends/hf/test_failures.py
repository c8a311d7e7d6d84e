"""Damaged files, failing tokenizers and full memory: one clear error or one failed document."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import tenbin
from tenbin.backends.base import BackendSettings, Encoding
from tenbin.backends.hf.backend import HfBackend, open_hf
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.cli import main
from tenbin.errors import BackendError
from tenbin.records import Failure, Generate, Response, Rolled, Rolling, Score, Scores, Text
from tests.backends.tiny import make_tokenizer

DEEP = b'{"a":' * 100_000
NO_JSON = [b"", b"{", b"null", b"[]", b"3", b'"x"', b"\xff\xfe\x00", DEEP, b"NaN", b'{"a":"\xe9"}']
BAD = "大変"
"""The text on which tokenizers fail here."""
TEXTS = ["The answer is", f"{BAD}", "日本の首都は", "a b c"]


def opened(folder: Path) -> Any:
    return open_hf(BackendSettings("hf", {"pretrained": str(folder)}, device="cpu"))


@pytest.fixture
def copy(llama_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(llama_folder, tmp_path / "copy"))


def set_in(file: Path, key: str, value: Any) -> None:
    found = json.loads(file.read_text())
    if value is ...:
        del found[key]
    else:
        found[key] = value
    file.write_text(json.dumps(found))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (name, content)
        for name in ("config.json", "generation_config.json", "tokenizer.json")
        for content in NO_JSON
    ],
)
def test_files_that_hold_no_object_are_named(copy: Path, name: str, content: bytes) -> None:
    """transformers itself passes over generation settings that are no JSON: ends would be lost."""
    (copy / name).write_bytes(content)
    with pytest.raises(BackendError) as raised:
        opened(copy)
    assert name in raised.value.message and raised.value.hint
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("hidden_size", value) for value in ("x", None, [], {}, 1.5, True, -1, 0)],
        *[("num_attention_heads", value) for value in ("x", 0, None)],
        *[("num_hidden_layers", value) for value in (-1, 0, "2")],
        ("vocab_size", 0),
        ("max_position_embeddings", "long"),
        ("eos_token_id", "x"),
        ("model_type", []),
        ("model_type", "nobody-knows"),
        ("dtype", "x"),
        ("dtype", []),
        ("rms_norm_eps", "small"),
    ],
)
def test_settings_of_a_wrong_type(copy: Path, key: str, value: Any) -> None:
    set_in(copy / "config.json", key, value)
    with pytest.raises(BackendError) as raised:
        opened(copy)
    assert str(copy) in raised.value.message and "\n" not in raised.value.message


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "vocab_size"])
def test_settings_that_are_missing(copy: Path, key: str) -> None:
    set_in(copy / "config.json", key, ...)
    with pytest.raises(BackendError, match=r"cannot be loaded|lacks"):
        list(opened(copy).run([Score("k", "a", (" b",))]))


@pytest.mark.parametrize("value", ["x", {}, 1.5, True, ["x"], [[1]]])
def test_ends_of_answers_that_are_no_tokens(copy: Path, value: Any) -> None:
    set_in(copy / "generation_config.json", "eos_token_id", value)
    with pytest.raises(BackendError, match=r"generation_config\.json: eos_token_id is "):
        opened(copy)


def edit_header(change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    def edited(content: bytes) -> bytes:
        length = int.from_bytes(content[:8], "little")
        header = json.dumps(change(json.loads(content[8 : 8 + length]))).encode()
        return len(header).to_bytes(8, "little") + header + content[8 + length :]

    return edited


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"1234567",
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content + b"\0",
        lambda content: (1 << 40).to_bytes(8, "little") + content[8:],
        lambda content: content[:8] + b"\xff" * 20 + content[28:],
        lambda content: (len(DEEP)).to_bytes(8, "little") + DEEP,
        edit_header(lambda header: []),
        edit_header(lambda header: {**header, "model.norm.weight": 3}),
        edit_header(lambda header: {**header, "model.norm.weight": {"data_offsets": ["a", "b"]}}),
    ],
)
def test_weights_that_are_cut_short_are_seen_before_anything_loads(
    copy: Path, damage: Callable[[bytes], bytes]
) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(BackendError, match=r"model\.safetensors cannot be loaded: it"):
        opened(copy)


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_adapters_that_are_damaged(copy: Path, tmp_path: Path, name: str) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    (adapter / name).write_bytes(b"{")
    arguments = {"pretrained": str(copy), "peft": str(adapter)}
    with pytest.raises(BackendError, match=name):
        open_hf(BackendSettings("hf", arguments, device="cpu"))


class PanicException(BaseException):
    """As tokenizers in Rust end; the class is of no module that could be imported."""


class Failing:
    """A tokenizer that fails wherever a text holds certain words."""

    def __init__(self, inner: Any, fault: BaseException | None) -> None:
        self._inner = inner
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __call__(self, texts: Any, **options: Any) -> Any:
        several = texts if isinstance(texts, list) else [texts]
        if any(BAD in text for text in several) and self._fault is not None:
            raise self._fault
        found = self._inner(texts, **options)
        if isinstance(texts, list):
            lists = zip(texts, found["input_ids"], strict=True)
            return {"input_ids": [[] if BAD in text else ids for text, ids in lists]}
        return found


FAULTS = [
    (ValueError("no such character"), "tokenizer", "ValueError: no such character"),
    (PanicException("index out of bounds"), "tokenizer", "PanicException: index out of bounds"),
    (MemoryError(), "tokenizer", "MemoryError"),
    (None, "no_tokens", "gives no tokens for '大変'"),
]


@pytest.mark.parametrize("encoding", ["joint", "separate"])
@pytest.mark.parametrize(("fault", "kind", "said"), FAULTS)
def test_a_tokenizer_that_fails_on_one_document(
    llama: tuple[Any, Any], encoding: Encoding, fault: Any, kind: str, said: str
) -> None:
    asked = [
        *(Score(f"score {text}", text, (" a", " b")) for text in TEXTS),
        *(Generate(f"write {text}", text, (), 3) for text in TEXTS),
        *(Rolling(f"roll {text}", text) for text in TEXTS),
    ]

    def answers(tokenizer: Any) -> dict[str, Response]:
        return dict(HfBackend.from_model(llama[0], tokenizer, encoding=encoding).run(asked))

    found = answers(Failing(llama[1], fault))
    wanted = answers(llama[1])
    assert sorted(found) == sorted(wanted)
    for key, answer in found.items():
        if BAD in key:
            assert isinstance(answer, Failure), (key, answer)
            assert answer.kind == kind and said in answer.message
        elif isinstance(answer, Text):
            assert answer == wanted[key]
        else:
            assert logprobs(answer) == pytest.approx(logprobs(wanted[key]), abs=1e-4)


def logprobs(answer: Response) -> list[float]:
    assert isinstance(answer, Scores | Rolled), answer
    return [answer.logprob] if isinstance(answer, Rolled) else list(answer.logprobs)


def test_a_tokenizer_that_fails_on_one_choice(llama: tuple[Any, Any]) -> None:
    failing = Failing(llama[1], ValueError("no"))
    asked = [Score("k", "a", (" b", f" {BAD}")), Score("l", "a", (" b", " c"))]
    found = dict(HfBackend.from_model(llama[0], failing).run(asked))
    assert isinstance(found["k"], Failure) and not isinstance(found["l"], Failure)


@pytest.mark.parametrize("fault", [fault for fault, _, _ in FAULTS])
def test_what_fits_is_counted_without_the_text_that_fails(fault: Any) -> None:
    tokenizer = HfTokenizer(Failing(make_tokenizer(add_bos=True), fault), 64)
    honest = HfTokenizer(make_tokenizer(add_bos=True), 64)
    for name in ("prompt_lengths", "answer_lengths"):
        wanted = getattr(honest, name)(TEXTS)
        wanted[1] = int(name == "prompt_lengths")
        assert getattr(tokenizer, name)(TEXTS) == wanted


def test_a_run_with_a_tokenizer_that_fails_on_some_documents(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Examples are fitted into the window with the same tokenizer, before anything is asked."""
    monkeypatch.setattr("tests.backends.hf.test_failures.BAD", "山")
    backend = HfBackend.from_model(llama[0], Failing(llama[1], ValueError("no")), max_length=4096)
    run = tenbin.evaluate(
        backend,
        tasks=["jnli-1.3-0.2", "plain_text_ja"],
        num_fewshot=0,
        sample_data=True,
        cache_dir=str(tmp_path),
    )
    failed = [sample for sample in run.samples if sample["failure_kind"]]
    assert failed and all("山" in sample["prompt"] for sample in failed)
    assert {sample["failure_kind"] for sample in failed} == {"tokenizer"}
    assert sum("山" in sample["prompt"] for sample in run.samples) == len(failed)


def test_interruptions_are_not_taken_for_faults_of_a_tokenizer(llama: tuple[Any, Any]) -> None:
    backend = HfBackend.from_model(llama[0], Failing(llama[1], KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        list(backend.run([Score("k", BAD, (" a",))]))


FULL = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes"),
]


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__name__)
def test_memory_that_ends_while_weights_are_loaded(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(*arguments: Any, **options: Any) -> Any:
        raise error

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", full)
    with pytest.raises(BackendError, match="cannot be loaded") as raised:
        list(opened(llama_folder).run([Score("k", "a", (" b",))]))
    assert "device_map=auto" in raised.value.hint


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", ["_inspect_head", "probe", "proof"])
def test_memory_that_ends_before_the_first_document(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, place: str, error: Exception
) -> None:
    def full(*arguments: Any, **options: Any) -> Any:
        raise error

    asked: list[Any] = [Score("k", "a", (" b",))]
    if place == "proof":
        monkeypatch.setattr("tenbin.backends.hf.generation.probe._side_by_side", full)
        asked = [Generate("k", "a", (), 3)]
    else:
        monkeypatch.setattr(Forward, "_probe" if place == "_inspect_head" else "_slice", full)
    backend = HfBackend.from_model(*llama)
    if place == "probe":
        # Each row alone was too much: that is said of the document, and no number is made up.
        (answer,) = dict(backend.run(asked)).values()
        assert isinstance(answer, Failure) and answer.kind == "out_of_memory"
        return
    with pytest.raises(BackendError, match="memory ran out") as raised:
        list(backend.run(asked))
    assert "same command goes on" in raised.value.hint


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("engine", ["tree", "rows", "cache", "plain"])
def test_memory_that_does_not_suffice_for_one_document(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, engine: str, error: Exception
) -> None:
    """Its batch is cut until it stands alone; the others are answered as ever."""
    asked = [
        Score(str(at), f"{at} " + "a b c " * (1 + 9 * (at == 3)), (" a", " b")) for at in range(8)
    ]
    backend = HfBackend.from_model(*llama, engine=engine)
    wanted = dict(HfBackend.from_model(*llama, engine=engine).run(asked))
    list(backend.run(asked[:1]))
    honest = Forward._slice

    def cramped(self: Any, inputs: Any, kept: Any, *others: Any) -> Any:
        if inputs["input_ids"].shape[1] > 24:
            raise error
        return honest(self, inputs, kept, *others)

    monkeypatch.setattr(Forward, "_slice", cramped)
    found = dict(backend.run(asked))
    assert len(found) == len(asked)
    for key, answer in found.items():
        if key == "3":
            assert isinstance(answer, Failure) and answer.kind == "out_of_memory"
        else:
            assert logprobs(answer) == pytest.approx(logprobs(wanted[key]), abs=1e-4)


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("way", ["own", "library"])
def test_memory_that_does_not_suffice_for_one_text(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, way: str, error: Exception
) -> None:
    asked = [Generate(str(at), "a b c " * (1 + 9 * (at == 3)), (), 4) for at in range(6)]
    backend = HfBackend.from_model(*llama)
    writer = backend._text_generator()
    if way == "library":
        writer._scheduler = None
    wanted = dict(backend.run(asked))
    generate, fill = llama[0].generate, ModelRunner.prefill

    def cramped(*arguments: Any, **options: Any) -> Any:
        if options["input_ids"].shape[1] > 20:
            raise error
        return generate(*arguments, **options)

    def cramped_fill(self: Any, cache: Any, rows: Any, *others: Any) -> Any:
        if max(map(len, rows)) > 20:
            raise error
        return fill(self, cache, rows, *others)

    monkeypatch.setattr(llama[0], "generate", cramped)
    monkeypatch.setattr(ModelRunner, "prefill", cramped_fill)
    found = dict(backend.run(asked))
    assert isinstance(found["3"], Failure) and found["3"].kind == "out_of_memory"
    assert {key: answer for key, answer in found.items() if key != "3"} == {
        key: answer for key, answer in wanted.items() if key != "3"
    }


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_model_that_raises_ends_a_run_in_one_sentence(
    llama_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    debug: str,
) -> None:
    def broken(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(transformers.LlamaForCausalLM, "forward", broken)
    monkeypatch.setattr(transformers.LlamaModel, "forward", broken)
    monkeypatch.setenv("TENBIN_DEBUG", debug)
    command = ["run", "--model_args", f"pretrained={llama_folder}", "--tasks", "jnli"]
    command += ["--device", "cpu", "--sample_data", "--limit", "2", "--cache_dir", str(tmp_path)]
    assert main(command) == 1
    said = capsys.readouterr().err
    failed = "the model failed during scoring: RuntimeError: mat1 and mat2 shapes cannot be mul"
    assert f"tenbin: {llama_folder}: {failed}" in said
    assert ("Traceback" in said) == bool(debug)
