"""A fingerprint changes with every byte that answers depend on, and with nothing else."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint import checkpoint
from tenbin.backends.checkpoint import file_hashes as hashes_module
from tenbin.backends.checkpoint.file_hashes import FileHashes, published_hash
from tenbin.backends.checkpoint.fingerprint import folder_digest, weight_files
from tenbin.backends.hf.backend import HfBackend, open_hf
from tenbin.backends.hf.model.tensor_digest import model_digest, tensor_digest
from tenbin.errors import BackendError
from tenbin.records import Score
from tests.backends.tiny import make_model

OLD = 10**9
"""A time, in nanoseconds, at which files have long been settled."""


def fingerprint(folder: Path, **options: Any) -> str:
    arguments = {"pretrained": str(folder), **options.pop("model_args", {})}
    return open_hf(BackendSettings("hf", arguments, device="cpu", **options)).fingerprint


@pytest.fixture
def copy(llama_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(llama_folder, tmp_path / "copy"))


def flip(file: Path, place: int) -> None:
    """Change one bit of a file."""
    with file.open("r+b") as stream:
        stream.seek(place)
        (byte,) = stream.read(1)
        stream.seek(place)
        stream.write(bytes([byte ^ 1]))


def add_adapter(folder: Path, value: float) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    save_file({"lora": torch.full((3,), value)}, folder / "adapter_model.safetensors")


def test_any_one_tensor(copy: Path) -> None:
    """Each tensor in turn, by one bit of its last element: 1 of 19 was seen before."""
    file = copy / "model.safetensors"
    header = json.loads(file.read_bytes()[8 : 8 + int.from_bytes(file.read_bytes()[:8], "little")])
    start = file.stat().st_size - max(
        entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"
    )
    seen = {folder_digest(copy)}
    tensors = [name for name in header if name != "__metadata__"]
    for name in tensors:
        place = start + header[name]["data_offsets"][1] - 1
        flip(file, place)
        seen.add(folder_digest(copy))
        flip(file, place)
    assert len(tensors) > 15 and len(seen) == len(tensors) + 1


def test_every_part_of_a_large_file(tmp_path: Path) -> None:
    """Places between the 64 samples that were once read of a file, near them, and at its ends."""
    size = 3 * 64 * (1 << 16)
    file = tmp_path / "model.safetensors"
    with file.open("wb") as stream:
        stream.truncate(size)
    before = folder_digest(tmp_path)
    places = [0, size - 1, 1 << 16, 100_000, size // 2 + 70_000, (1 << 22) - 1, 1 << 22]
    seen = set()
    for place in places:
        flip(file, place)
        seen.add(folder_digest(tmp_path))
        flip(file, place)
    assert len(seen | {before}) == len(places) + 1
    assert folder_digest(tmp_path) == before


def test_every_shard_and_whatever_an_index_names(tmp_path: Path, bos_tokenizer: Any) -> None:
    model = make_model("llama", len(bos_tokenizer))
    model.save_pretrained(tmp_path, max_shard_size="30KB")
    (tmp_path / "parts").mkdir()
    index = tmp_path / "model.safetensors.index.json"
    shards = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    assert len(shards) > 2
    # A name that no pattern matches.
    moved = shards[-1]
    (tmp_path / moved).rename(tmp_path / "parts" / "last.weights")
    index.write_text(index.read_text().replace(moved, "parts/last.weights"))
    assert len(weight_files(tmp_path)) == len(shards)
    seen = {folder_digest(tmp_path)}
    for file in weight_files(tmp_path):
        flip(file, file.stat().st_size - 1)
        seen.add(folder_digest(tmp_path))
    assert len(seen) == len(shards) + 1


def write(name: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    return change


def set_in(name: str, **values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / name
        file.write_text(json.dumps({**json.loads(file.read_text()), **values}))

    return change


def change_vocabulary(folder: Path) -> None:
    file = folder / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    tokenizer["model"]["merges"].pop()
    file.write_text(json.dumps(tokenizer))


@pytest.mark.parametrize(
    "change",
    [
        change_vocabulary,
        set_in("tokenizer_config.json", clean_up_tokenization_spaces=True),
        write("chat_template.jinja", "{{ messages[0].content }}!"),
        write("additional_chat_templates/tool.jinja", "{{ messages[0].content }}"),
        write("generation_config.json", '{"eos_token_id": [2, 5]}'),
        set_in("config.json", rms_norm_eps=1e-3),
        write("modeling_own.py", "x = 1"),
        write("layers/deep/attention.py", "x = 1"),
    ],
    ids=lambda change: getattr(change, "__qualname__", "").split(".")[0],
)
def test_every_file_that_answers_depend_on(copy: Path, change: Callable[[Path], None]) -> None:
    before = fingerprint(copy)
    change(copy)
    assert fingerprint(copy) != before


def test_every_setting_that_answers_depend_on(copy: Path, tmp_path: Path) -> None:
    add_adapter(tmp_path / "first", 1.0)
    add_adapter(tmp_path / "second", 1.5)
    other = Path(shutil.copytree(copy, tmp_path / "other"))
    change_vocabulary(other)
    found = [
        fingerprint(copy),
        fingerprint(copy, dtype="bfloat16"),
        fingerprint(copy, dtype="float16"),
        fingerprint(copy, encoding="separate"),
        fingerprint(copy, add_bos=False),
        *(
            fingerprint(copy, model_args=arguments)
            for arguments in (
                {"engine": "plain"},
                {"engine": "tree"},
                {"max_length": 32},
                {"attn_implementation": "eager"},
                {"peft": str(tmp_path / "first")},
                {"peft": str(tmp_path / "second")},
                {"tokenizer": str(copy)},
                {"tokenizer": str(other)},
            )
        ),
    ]
    assert len(set(found)) == len(found)


def test_code_from_elsewhere(copy: Path, tmp_path: Path) -> None:
    code = tmp_path / "code"
    write("model.py", "from .deep.part import x")(code)
    write("deep/part.py", "x = 1")(code)
    set_in("config.json", auto_map={"AutoModelForCausalLM": f"{code}--model.Own"})(copy)
    trusted = {"trust_remote_code": True}
    before = fingerprint(copy, model_args=trusted)
    unread = fingerprint(copy)
    write("deep/part.py", "x = 2")(code)
    assert fingerprint(copy, model_args=trusted) != before
    # Code that is not trusted is not run.
    assert fingerprint(copy) == unread


def test_what_answers_do_not_depend_on(copy: Path, tmp_path: Path) -> None:
    before = fingerprint(copy)
    write("README.md", "about it")(copy)
    write("training_args.bin", "of a trainer")(copy)
    write(".cache/own.py", "x = 1")(copy)
    for file in copy.rglob("*"):
        os.utime(file, ns=(OLD, OLD))
    assert fingerprint(copy) == before
    elsewhere = copy.rename(tmp_path / "elsewhere")
    assert fingerprint(elsewhere) == before
    again = shutil.copytree(elsewhere, tmp_path / "again")
    assert fingerprint(Path(again)) == before


def test_weights_of_a_tokenizer_do_not_count(copy: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(copy, tmp_path / "other"))
    before = fingerprint(copy, model_args={"tokenizer": str(other)})
    (other / "model.safetensors").unlink()
    assert fingerprint(copy, model_args={"tokenizer": str(other)}) == before


class Reads:
    """Counts what is read of large files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: list[str] = []
        honest = hashes_module._hashed

        def counted(file: Path, progress: Any) -> str:
            self.files.append(file.name)
            return honest(file, progress)

        monkeypatch.setattr(hashes_module, "_hashed", counted)

    def taken(self) -> list[str]:
        found, self.files = self.files, []
        return found


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    file = tmp_path / "model.safetensors"
    file.write_bytes(bytes(range(256)) * 99)
    os.utime(file, ns=(OLD, OLD))
    return file


def digest(file: Path) -> str:
    """As a later run finds it."""
    (found,) = FileHashes(file.parent / "memory").of([file])
    return found


def test_an_untouched_file_is_not_read_again(weights: Path, reads: Reads) -> None:
    first = digest(weights)
    assert reads.taken() == ["model.safetensors"]
    assert digest(weights) == first and not reads.taken()
    # By another name of the same file, too.
    link = weights.with_name("link.safetensors")
    link.symlink_to(weights)
    assert digest(link) == first and not reads.taken()


def test_a_touched_file_is_verified_by_content(weights: Path, reads: Reads) -> None:
    first = digest(weights)
    os.utime(weights, ns=(OLD + 1, OLD + 1))
    assert digest(weights) == first and len(reads.taken()) == 2
    # The same content in another inode.
    shutil.copy2(weights, weights.with_name("new"))
    weights.with_name("new").replace(weights)
    assert digest(weights) == first and len(reads.taken()) == 1


def test_a_change_whose_time_was_put_back_is_seen(weights: Path) -> None:
    first = digest(weights)
    flip(weights, 300)
    os.utime(weights, ns=(OLD, OLD))
    assert digest(weights) != first


def test_a_file_that_is_still_being_written_is_not_remembered(weights: Path, reads: Reads) -> None:
    os.utime(weights)
    assert digest(weights) == digest(weights)
    assert len(reads.taken()) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[" * 100_000,
        lambda text: "null",
        lambda text: text.replace('"sha256": "', '"sha256": "0'),
        lambda text: text.replace("25344", "25345"),
        lambda text: "\x00" * len(text),
    ],
)
def test_a_damaged_memory_is_ignored_and_rewritten(
    weights: Path, reads: Reads, damage: Callable[[str], str]
) -> None:
    first = digest(weights)
    (place,) = (weights.parent / "memory").iterdir()
    whole = place.read_text()
    place.write_text(damage(whole))
    assert place.read_text() != whole
    assert digest(weights) == first and len(reads.taken()) == 2
    assert place.read_text() == whole
    assert digest(weights) == first and not reads.taken()


def test_a_memory_that_cannot_be_written_is_no_fault(weights: Path) -> None:
    first = digest(weights)
    (weights.parent / "file").write_text("")
    assert FileHashes(weights.parent / "file" / "below").of([weights]) == [first]


def test_many_writers_of_one_memory(weights: Path) -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(digest(weights))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1
    assert [place.suffix for place in (weights.parent / "memory").iterdir()] == [".json"]


def test_files_of_the_hub_are_known_by_their_published_hash(weights: Path, reads: Reads) -> None:
    content = weights.read_bytes()
    blobs, snapshot = weights.parent / "blobs", weights.parent / "snapshots" / "abc"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    link = snapshot / "model.safetensors"
    published = digest(weights)
    reads.taken()
    for name, expected in ((published, published), ("0" * 40, None), ("f" * 63, None)):
        (blobs / name).write_bytes(content)
        link.unlink(missing_ok=True)
        link.symlink_to(blobs / name)
        assert published_hash(link) == expected
        assert FileHashes().of([link]) == [published]
    assert len(reads.taken()) == 2
    # The same file, copied out of the cache, is the same to a fingerprint.
    assert folder_digest(snapshot) == folder_digest_of(content, weights.parent / "plain")
    assert published_hash(weights) is None


def folder_digest_of(content: bytes, folder: Path) -> str:
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(content)
    return folder_digest(folder)


def test_files_that_cannot_be_read_or_change_meanwhile(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BackendError, match="cannot be read"):
        FileHashes().of([weights.with_name("gone")])
    honest = hashes_module._hashed

    def growing(file: Path, progress: Any) -> str:
        found = honest(file, progress)
        with file.open("ab") as stream:
            stream.write(b"more")
        return found

    monkeypatch.setattr(hashes_module, "_hashed", growing)
    with pytest.raises(BackendError, match="changed while it was read"):
        FileHashes().of([weights])


def test_the_user_is_told_what_takes_long(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    FileHashes(None, told.append).of([weights])
    assert told == []
    monkeypatch.setattr(hashes_module, "_FIRST_WORD", -1.0)
    FileHashes(None, told.append).of([weights])
    assert told and told[0].startswith("hashing the model's weights, once: ")


def test_a_model_whose_files_change_before_it_loads(copy: Path) -> None:
    arguments = {"pretrained": str(copy)}
    backend = open_hf(BackendSettings("hf", arguments, device="cpu"))
    tensors = load_file(copy / "model.safetensors")
    tensors["model.norm.weight"] *= 2
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BackendError, match="changed after the run began"):
        list(backend.run([Score("k", "a", (" b",))]))


def test_converted_weights_are_those_that_were_made(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gguf = tmp_path / "model.gguf"
    gguf.write_bytes(b"GGUF, converted before")
    monkeypatch.setattr(checkpoint, "converted_folder", lambda *arguments: copy)
    before = fingerprint(gguf)
    assert fingerprint(gguf) == before
    size = (copy / "model.safetensors").stat().st_size
    flip(copy / "model.safetensors", size - 1)
    with pytest.raises(BackendError, match=r"not those that were made of model\.gguf") as raised:
        fingerprint(gguf)
    assert "delete that folder" in raised.value.hint
    flip(copy / "model.safetensors", size - 1)
    assert fingerprint(gguf) == before
    flip(gguf, 3)
    assert fingerprint(gguf) != before
    (copy / "contents.json").write_text("[")
    with pytest.raises(BackendError, match="not those that were made"):
        fingerprint(gguf)


def test_tokenizers_alone_read_no_weights(copy: Path, reads: Reads) -> None:
    from tenbin.backends.checkpoint.checkpoint import open_tokenizer

    open_tokenizer(BackendSettings("hf", {"pretrained": str(copy)}))
    assert not reads.taken()


def test_any_one_element_of_a_model_in_memory(llama: tuple[Any, Any]) -> None:
    model, tokenizer = make_model("llama", len(llama[1])), llama[1]
    first = HfBackend.from_model(model, tokenizer).fingerprint
    seen = {first}
    weights = dict(model.named_parameters())
    for weight in weights.values():
        flat = weight.data.reshape(-1)
        for place in (0, flat.numel() // 2 + 1, flat.numel() - 1):
            before = flat[place].clone()
            flat[place] += 1e-3
            seen.add(model_digest(model))
            flat[place] = before
    assert len(seen) == 3 * len(weights) + 1
    assert HfBackend.from_model(model, tokenizer).fingerprint == first
    model.generation_config.eos_token_id = [2, 5]
    assert HfBackend.from_model(model, tokenizer).fingerprint != first


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.bool])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 70_000])
def test_digests_of_tensors(dtype: torch.dtype, count: int) -> None:
    torch.manual_seed(0)
    tensor = torch.randint(0, 2, (count + 1,)).to(dtype)
    found = tensor_digest(tensor[:count])
    assert tensor_digest(tensor[:count].clone()) == found
    # A start that no word of 64 bits is aligned with.
    shifted = torch.cat([tensor[-1:], tensor[:count]])[1:]
    assert tensor_digest(shifted) == found
    strided = torch.stack([tensor[:count]] * 2, -1)[:, 1]
    assert tensor_digest(strided) == found
    if count > 1:
        changed = tensor[:count].clone()
        changed[count // 2] = (
            ~changed[count // 2] if dtype == torch.bool else 1 - changed[count // 2]
        )
        assert tensor_digest(changed) != found


def test_words_that_change_places_are_seen() -> None:
    tensor = torch.arange(200_000)
    assert tensor_digest(tensor.flip(0)) != tensor_digest(tensor)
    swapped = tensor.clone()
    swapped[[3, 150_000]] = swapped[[150_000, 3]]
    assert tensor_digest(swapped) != tensor_digest(tensor)


def test_a_model_that_is_not_in_memory() -> None:
    with pytest.raises(BackendError, match="offloaded"):
        tensor_digest(torch.empty(3, device="meta"))
