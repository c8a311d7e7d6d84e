"""Backends by name: tenbin's own, and those that installed packages add by entry points."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tenbin
from tenbin import plugins
from tenbin.backends.base import BackendSettings, check_backend
from tenbin.backends.ray.capacity import device_for
from tenbin.backends.registry import (
    BACKENDS,
    backend_names,
    check_arguments,
    find_backend,
    open_backend,
    open_inspector,
)
from tenbin.errors import BackendError, ConfigError, PluginError

PAGE = Path(__file__).parents[2] / "docs" / "add-a-backend.md"
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package: its code, and the entry points that it declares."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def write(package: str, code: str, module: str = "backend", **points: str) -> None:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / f"{module}.py").write_text(code, encoding="utf-8")
        metadata = tmp_path / f"{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0")
        lines = [f"{name} = {target}" for name, target in points.items()]
        (metadata / "entry_points.txt").write_text("\n".join(["[tenbin.backends]", *lines]))
        plugins.installed.cache_clear()

    yield write
    plugins.installed.cache_clear()
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("my_package", "other"):
            del sys.modules[name]


def documented(language: str) -> str:
    """The first block of this language on the page about backends."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^( *)```{language}\n(.*?)^ *```", text, flags=re.DOTALL | re.MULTILINE)
    assert found is not None
    return textwrap.dedent(found[2])


@pytest.mark.parametrize("name", BACKENDS)
def test_functions_of_entries_are_there(name: str) -> None:
    entry = BACKENDS[name]
    for function in filter(None, (entry.backend, entry.check, entry.reader)):
        module, _, found = function.partition(":")
        assert callable(getattr(importlib.import_module(module), found))


def test_all_names_of_hf_are_one_backend() -> None:
    assert BACKENDS["hf-causal"] is BACKENDS["hf-auto"] is BACKENDS["hf"]
    assert sorted(BACKENDS) == [
        "hf", "hf-auto", "hf-causal", "openai", "openai-chat", "scripted", "vllm",
    ]  # fmt: skip


@pytest.mark.parametrize("name", BACKENDS)
def test_workers_use_gpus_where_the_backend_does(name: str) -> None:
    loads = name in ("hf", "hf-causal", "hf-auto", "vllm")
    with_gpu = device_for(BackendSettings(name), {"CPU": 1.0, "GPU": 1.0})
    without = device_for(BackendSettings(name), {"CPU": 1.0, "GPU": 0.0})
    assert (with_gpu, without) == (("cuda", "cpu") if loads else (None, None))


def test_an_unknown_name_is_refused_with_all_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown model backend 'hf-casual'") as raised:
        check_arguments(BackendSettings("hf-casual"))
    assert raised.value.hint == (
        "did you mean 'hf-causal'? known backends: hf, hf-auto, hf-causal, openai, openai-chat, "
        "scripted, vllm"
    )


def test_the_documented_backend_runs_by_its_name(install: Install) -> None:
    group, line = documented("toml").strip().splitlines()
    assert group == f'[project.entry-points."{plugins.BACKENDS}"]'
    name, _, target = line.partition(" = ")
    install("my_package", documented("python"), **{name: target.strip('"')})
    assert name in backend_names() and "my_package" not in sys.modules
    given = {"tasks": ["jcommonsenseqa", "mlogiqa_gen_ja"], "sample_data": True, "no_cache": True}
    run = tenbin.evaluate(model=name, **given)
    assert {metric for scores in run.scores.values() for metric in scores} >= {"acc"}
    assert run.document["model"]["engine"]["name"] == "Longest"
    opened = sys.modules["my_package.backend"].Longest()
    assert tenbin.evaluate(model=opened, **given).scores == run.scores


def test_what_a_backend_does_not_answer_is_a_failure(install: Install) -> None:
    install("my_package", documented("python"), longest="my_package.backend:Longest")
    run = tenbin.evaluate(model="longest", tasks="plain_text_ja", sample_data=True, no_cache=True)
    messages = {row["failure_message"] for row in run.samples}
    assert messages == {"the backend Longest does not compute rolling log-likelihoods"}


def test_workers_open_an_installed_backend_by_its_name(install: Install) -> None:
    from tenbin.backends.ray.worker import Answered, Expected, Opened, Worker, python_version
    from tenbin.records import Score
    from tenbin.version import __version__

    install("my_package", documented("python"), longest="my_package.backend:Longest")
    worker = Worker(
        BackendSettings("longest"), Expected(__version__, python_version(), "longest-1", 1)
    )
    assert isinstance(worker.open(), Opened)
    answered = worker.answer([Score("k", "p", ("a", "bb"))])
    assert isinstance(answered, Answered) and [key for key, _ in answered.pairs] == ["k"]


def test_a_class_names_its_arguments(install: Install) -> None:
    code = """
from tenbin.backends.base import BaseBackend

class Small(BaseBackend):
    fingerprint = "small-1"
    arguments = ("alpha", "beta")

class Plain(BaseBackend):
    fingerprint = "plain-1"
"""
    install("my_package", code, small="my_package.backend:Small", plain="my_package.backend:Plain")
    opened = open_backend(BackendSettings("small", {"alpha": "1"}))
    assert opened.settings.model_args == {"alpha": "1"}  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="unknown model argument 'alhpa'") as error:
        open_backend(BackendSettings("small", {"alhpa": "1"}))
    assert error.value.hint == "did you mean 'alpha'? Small takes the arguments alpha, beta"
    with pytest.raises(ConfigError) as error:
        open_backend(BackendSettings("plain", {"alpha": "1"}))
    assert error.value.hint == "Plain takes no arguments"


def test_an_entry_declares_more_than_a_class(install: Install) -> None:
    code = """
from tenbin.backends.base import BaseBackend
from tenbin.backends.registry import Entry
from tenbin.errors import ConfigError

class Large(BaseBackend):
    fingerprint = "large-1"

def check(settings):
    if settings.model_args:
        raise ConfigError("large takes no arguments")

entry = Entry("my_package.backend:Large", check=check, on_gpus=True)
"""
    install("my_package", code, large="my_package.backend:entry")
    assert find_backend("large").on_gpus
    assert open_backend(BackendSettings("large")).fingerprint == "large-1"
    with pytest.raises(ConfigError, match="large takes no arguments"):
        check_arguments(BackendSettings("large", {"a": 1}))
    with pytest.raises(BackendError, match="the large backend shows no tokenizer"):
        open_inspector(BackendSettings("large"))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("value = 7", "neither a class, nor a function, nor an Entry"),
        ("def value(settings): raise OSError('no device')", "OSError: no device"),
        ("def value(settings): import nowhere_at_all", "No module named 'nowhere_at_all'"),
        ("def value(): pass", "TypeError: value() takes 0 positional arguments"),
    ],
)
def test_a_package_that_fails_is_named(install: Install, code: str, reason: str) -> None:
    install("other", code, poor="other.backend:value")
    with pytest.raises(PluginError) as caught:
        open_backend(BackendSettings("poor"))
    assert "other 1.0: the entry point poor = other.backend:value" in caught.value.message
    assert reason in caught.value.message


def test_what_is_no_backend_is_refused(install: Install) -> None:
    install("other", "def value(settings): return object()", poor="other.backend:value")
    with pytest.raises(ConfigError, match="object is no backend: it has no fingerprint"):
        open_backend(BackendSettings("poor"))
    with pytest.raises(ConfigError, match="it has no capabilities"):
        check_backend(type("Old", (), dict.fromkeys(("fingerprint", "describe", "run", "close"))))


@pytest.mark.parametrize("name", ["hf", "hf-causal"])
def test_a_name_of_tenbins_own_is_refused(install: Install, name: str) -> None:
    install("other", "", **{name: "other.backend:value"})
    with pytest.raises(PluginError, match=f"other 1.0 provides a backend '{name}'"):
        check_arguments(BackendSettings(name))
    assert find_backend("scripted") is BACKENDS["scripted"]


def test_an_unknown_name_lists_installed_backends(install: Install) -> None:
    install("other", "raise RuntimeError", zzz="other.backend:value")
    with pytest.raises(ConfigError) as caught:
        check_arguments(BackendSettings("zzx"))
    assert "did you mean 'zzz'?" in caught.value.hint and "vllm, zzz" in caught.value.hint


def test_importing_tenbin_reads_no_entry_points() -> None:
    code = (
        "import tenbin.api, tenbin.cli, tenbin.backends.registry, tenbin.plugins as plugins\n"
        "assert plugins.installed.cache_info().misses == 0"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
