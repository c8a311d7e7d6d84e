"""What the probe found is remembered, and never for another model, device, library or code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import torch

from tenbin.backends.hf import probe_cache as module
from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.generation.probe import GenerationProbe
from tenbin.backends.hf.probe_cache import ProbeCache
from tenbin.backends.hf.scoring.probe import Probe
from tenbin.backends.hf.scoring.tree import TreeEngine
from tenbin.errors import ConfigError
from tenbin.records import Generate, Response, Score
from tests.backends.checkpoint.test_checkpoint import opened

REQUESTS = [Score("s", "The answer is", (" a", " b c")), Generate("g", "The quick brown", (), 5)]
NOW = "made at this start"


class Asked:
    """Counts how often a model is asked how it can be run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scoring = self.generation = 0
        refusal, cache = Probe.refusal, GenerationProbe.cache

        def counted_refusal(probe: Probe, make: Any) -> str | None:
            self.scoring += 1
            return refusal(probe, make)

        def counted_cache(probe: GenerationProbe, packed: bool, compiled: bool = False) -> Any:
            self.generation += 1
            return cache(probe, packed, compiled)

        monkeypatch.setattr(Probe, "refusal", counted_refusal)
        monkeypatch.setattr(GenerationProbe, "cache", counted_cache)

    def counts(self) -> tuple[int, int]:
        found = (self.scoring, self.generation)
        self.scoring = self.generation = 0
        return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


@pytest.fixture
def copy(llama_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(llama_folder, tmp_path / "copy"))


@pytest.fixture
def start(copy: Path, tmp_path: Path) -> Callable[..., tuple[dict[str, Response], dict[str, Any]]]:
    """One whole start: open, answer, describe."""

    def begin(**options: Any) -> tuple[dict[str, Response], dict[str, Any]]:
        backend: HfBackend = opened(copy, cache_dir=str(tmp_path / "cache"), **options)
        answers = dict(backend.run(REQUESTS))
        engine = backend.describe()["engine"]
        backend.close()
        return answers, engine

    return begin


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "probes").glob("*"))


def test_a_later_start_asks_nothing_and_says_so(start: Any, asked: Asked, tmp_path: Path) -> None:
    first, described = start()
    assert asked.counts() == (1, 1)
    assert (described["probe"], described["generation_probe"]) == (NOW, NOW)
    later, again = start()
    assert asked.counts() == (0, 0)
    words = f"remembered from {date.today().isoformat()}"
    assert (again["probe"], again["generation_probe"]) == (words, words)
    same = ("mode", "generation", "passed_over")
    assert [again[name] for name in same] == [described[name] for name in same]
    assert later == first
    assert len(files(tmp_path)) == 2


def test_what_was_passed_over_is_remembered_too(
    start: Any, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise ValueError("no trees here")

    monkeypatch.setattr(TreeEngine, "_launch", refuse)
    _, described = start()
    _, again = start()
    assert asked.counts() == (2, 1)
    assert described["mode"] == again["mode"] == "masked rows"
    assert again["passed_over"] == ["packed tree: ValueError: no trees here"]


def test_the_probe_can_be_made_anew(start: Any, asked: Asked) -> None:
    start()
    asked.counts()
    _, described = start(model_args={"probe": "always"})
    assert asked.counts() == (1, 1)
    assert described["probe"] == NOW
    with pytest.raises(ConfigError, match="neither remembered nor always"):
        start(model_args={"probe": "never"})


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": "bfloat16"},
        {"model_args": {"engine": "tree"}},
        {"model_args": {"attn_implementation": "eager"}},
        {"model_args": {"max_length": 40}},
    ],
)
def test_another_way_of_running_is_asked_again(
    start: Any, asked: Asked, options: dict[str, Any]
) -> None:
    start()
    asked.counts()
    start(**options)
    assert asked.counts() == (1, 1)


def test_other_weights_are_asked_again(start: Any, asked: Asked, copy: Path) -> None:
    start()
    asked.counts()
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    start()
    assert asked.counts() == (1, 1)


@pytest.mark.parametrize("part", ["torch", "transformers", "device", "code"])
def test_another_environment_is_probed_again(
    start: Any, asked: Asked, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    start()
    asked.counts()
    found = module._environment("cpu")
    monkeypatch.setattr(module, "_environment", lambda device: {**found, part: "other"})
    start()
    assert asked.counts() == (1, 1)


@pytest.mark.parametrize(
    "name",
    ["tree_attention.py", "probe.py", "kv_cache.py", "forward.py", "probe_cache.py", "encoding.py"],
)
def test_a_changed_file_of_the_engine_changes_the_code(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = module._code_digest()
    read = Path.read_bytes

    def edited(path: Path) -> bytes:
        return read(path) + (b"# other" if path.name == name else b"")

    monkeypatch.setattr(Path, "read_bytes", edited)
    assert module._code_digest() != before


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: '{"body": 3, "sha256": ""}',
        lambda text: json.dumps({**json.loads(text), "sha256": "0" * 64}),
        lambda text: text.replace('"values"', '"valves"'),
        lambda text: text.replace('"tree"', '"rows"').replace(
            '"token_bytes": ', '"token_bytes": 1'
        ),
    ],
    ids=["empty", "half", "list", "no body", "other hash", "other key", "other value"],
)
def test_a_damaged_file_is_ignored(
    start: Any, asked: Asked, tmp_path: Path, damage: Callable[[str], str]
) -> None:
    first, _ = start()
    whole = [file.read_text() for file in files(tmp_path)]
    for file, text in zip(files(tmp_path), whole, strict=True):
        assert damage(text) != text
        file.write_text(damage(text))
    asked.counts()
    again, described = start()
    assert asked.counts() == (1, 1)
    assert (described["probe"], again) == (NOW, first)
    # It was written anew.
    start()
    assert asked.counts() == (0, 0)


def test_a_result_under_another_name_does_not_count(tmp_path: Path) -> None:
    """The name of a file is a hash; what it stands for is compared in full."""
    here, there = (ProbeCache(tmp_path, {"model": name}) for name in ("a", "b"))
    device = torch.device("cpu")
    here.store("scoring", device, {"engine": "tree"})
    (file,) = tmp_path.iterdir()
    there.store("scoring", device, {"engine": "plain"})
    (other,) = set(tmp_path.iterdir()) - {file}
    shutil.copy(file, other)
    assert there.get("scoring", device) is None
    found = here.get("scoring", device)
    assert found is not None and found.values == {"engine": "tree"}
    assert here.get("generation", device) is None


def test_a_place_that_cannot_be_written_is_no_fault(start: Any, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder would be")
    _, described = start()
    assert described["probe"] == NOW


def test_want_of_memory_is_not_remembered(
    start: Any, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = TreeEngine._launch
    with monkeypatch.context() as full:

        def cramped(*arguments: Any) -> None:
            raise torch.OutOfMemoryError("out of memory")

        full.setattr(TreeEngine, "_launch", cramped)
        _, described = start()
        assert described["mode"] == "masked rows"
    assert TreeEngine._launch is launch
    asked.counts()
    _, described = start()
    assert (described["mode"], described["probe"]) == ("packed tree", NOW)
    assert asked.counts() == (1, 0)


def test_models_with_code_of_their_own_are_always_asked(
    start: Any, asked: Asked, tmp_path: Path
) -> None:
    """Their code may lie outside the files that were looked at."""
    for _ in range(2):
        start(model_args={"trust_remote_code": True})
        assert asked.counts() == (1, 1)
    assert files(tmp_path) == []


def test_models_in_memory_are_always_asked(llama: tuple[Any, Any], asked: Asked) -> None:
    for _ in range(2):
        backend = HfBackend.from_model(*llama, max_length=64)
        list(backend.run(REQUESTS))
        assert asked.counts() == (1, 1)
