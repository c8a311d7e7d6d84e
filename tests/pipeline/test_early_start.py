"""A backend begins to load while prompts are made: only if something will be asked."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.background_load import _running
from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import BackendError, DataError, TenbinError
from tenbin.pipeline import run as pipeline_run
from tenbin.records import Prompt
from tests.backends.tiny import make_model, make_tokenizer
from tests.stopped import start, stop, wait_for

GIVEN: dict[str, Any] = {"sample_data": True}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path / "cache"))


class Told(ScriptedBackend):
    """Notes what it is told to do, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def prepare(self) -> None:
        self.told.append("prepare")

    def run(self, requests: Iterable[Any], *known: Any) -> Iterator[Any]:
        self.told.append("run")
        return super().run(requests, *known)


def prompts_that(told: list[str], fail_at: int | None = None) -> Any:
    """`prompts_of`, noted, and with an error from some prompt on."""
    made = pipeline_run.prompts_of

    def prompts(*arguments: Any) -> Iterator[Prompt]:
        for at, one in enumerate(made(*arguments)):
            if at == fail_at:
                raise DataError("a template that fails late")
            told.append("prompt")
            yield one

    return prompts


@pytest.fixture
def chunks_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenbin.files.disk_list.CHUNK", 4)


def test_it_begins_before_the_last_prompt_is_made(
    monkeypatch: pytest.MonkeyPatch, chunks_of_four: None
) -> None:
    backend = Told()
    monkeypatch.setattr(pipeline_run, "prompts_of", prompts_that(backend.told))
    tenbin.evaluate(backend, "jnli", **GIVEN)
    assert backend.told.count("prepare") == 1 and backend.told[-1] == "run"
    assert backend.told.index("prepare") == 4 < backend.told.count("prompt")


@pytest.mark.parametrize("no_cache", [False, True])
def test_only_a_run_that_asks_begins(no_cache: bool) -> None:
    first, again, more = Told(), Told(), Told()
    tenbin.evaluate(first, "jnli", limit=8, no_cache=no_cache, **GIVEN)
    tenbin.evaluate(again, "jnli", limit=8, no_cache=no_cache, **GIVEN)
    tenbin.evaluate(more, "jnli", limit=10, no_cache=no_cache, **GIVEN)
    assert first.told == more.told == ["prepare", "run"]
    assert again.told == (["prepare", "run"] if no_cache else [])


def test_a_run_that_stops_early_waits_until_it_asks() -> None:
    """What it asks is chosen when all prompts are there; it may be known already."""
    backend = Told()
    tenbin.evaluate(backend, "jnli", until="±45", **GIVEN)
    assert backend.told[0] == "run"


def test_errors_of_rows_and_first_prompts_come_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Told()
    monkeypatch.setattr(pipeline_run, "prompts_of", prompts_that(backend.told, fail_at=3))
    with pytest.raises(DataError):
        tenbin.evaluate(backend, "jnli", **GIVEN)
    assert "prepare" not in backend.told


def test_a_backend_need_not_have_the_method() -> None:
    class Bare:
        def __init__(self) -> None:
            inner = ScriptedBackend()
            self.fingerprint, self.capabilities = "bare", inner.capabilities
            self.describe, self.run, self.close = inner.describe, inner.run, inner.close

    assert len(tenbin.evaluate(Bare(), "jnli", limit=3, **GIVEN).samples) == 3  # type: ignore[arg-type]


def test_a_late_error_closes_the_journal(
    monkeypatch: pytest.MonkeyPatch, chunks_of_four: None
) -> None:
    backend, closed = Told(), []
    monkeypatch.setattr(pipeline_run, "prompts_of", prompts_that(backend.told, fail_at=9))
    monkeypatch.setattr(
        "tenbin.pipeline.early_start.Journal.close", lambda self: closed.append(self)
    )
    with pytest.raises(DataError, match="fails late"):
        tenbin.evaluate(backend, "jnli", **GIVEN)
    assert backend.told.count("prepare") == 1 and len(closed) == 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = make_tokenizer(add_bos=True)
    make_model("llama", len(tokenizer)).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def hf(folder: Path, **more: Any) -> tenbin.Run:
    given = {"model_args": {"pretrained": str(folder)}, "device": "cpu", "limit": 8, **GIVEN}
    return tenbin.evaluate("hf", "jnli", **given | more)


def test_scores_are_those_of_a_run_that_loads_when_it_asks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = hf(folder, no_cache=True)
    monkeypatch.setattr(HfBackend, "prepare", lambda self: None)
    plain = hf(folder, no_cache=True)
    assert early.samples == plain.samples and early.scores == plain.scores


def test_what_is_known_loads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = hf(folder)

    def refuse(*arguments: Any) -> Any:
        raise AssertionError("weights were loaded")

    monkeypatch.setattr(HfBackend, "_load_quickly", refuse)
    assert hf(folder).samples == first.samples


def test_an_error_of_the_load_is_the_error_of_the_run(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(BackendError):
        hf(folder)
    assert not _running


def test_when_both_fail_the_prompt_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chunks_of_four: None
) -> None:
    def broken(self: HfBackend) -> Any:
        raise BackendError("weights that cannot be read")

    monkeypatch.setattr(HfBackend, "_load_quickly", broken)
    monkeypatch.setattr(pipeline_run, "prompts_of", prompts_that([], fail_at=6))
    with pytest.raises(TenbinError, match="fails late"):
        hf(folder)


SLOW_LOAD = """
import time
from tenbin.backends.hf.backend import HfBackend
def load(self):
    open("loading", "w").close()
    while True:
        time.sleep(0.05)
HfBackend._load_quickly = load
"""
SLOW_PROMPTS = """
import time
import tenbin.pipeline.run as module
made = module.prompts_of
def slow(*arguments):
    for one in made(*arguments):
        yield one
        time.sleep(0.05)
module.prompts_of = slow
import tenbin.files.disk_list
tenbin.files.disk_list.CHUNK = 4
"""


@pytest.mark.parametrize(
    ("prompts", "sent", "code"),
    [("", signal.SIGTERM, 143), (SLOW_PROMPTS, signal.SIGINT, 130)],
    ids=["waiting", "making prompts"],
)
def test_a_stop_during_the_load_ends_it(
    folder: Path, tmp_path: Path, sent: signal.Signals, code: int, prompts: str
) -> None:
    arguments = ["run", "--model", "hf", "--model_args", "pretrained=model", "--device", "cpu"]
    arguments += ["--tasks", "jnli", "--sample_data", "--output_path", "r.json"]
    process = start(arguments, tmp_path, SLOW_LOAD + prompts)
    wait_for((tmp_path / "loading").exists, process)
    took, said = stop(process, sent)
    assert process.returncode == code and took < 30 and "Traceback" not in said, said
    assert "every answer so far is kept" in said and not (tmp_path / "r.json").exists()
