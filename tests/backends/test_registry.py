"""Every backend by every name: what its entry says is there."""

import importlib

import pytest

from tenbin.backends.base import BackendSettings
from tenbin.backends.ray.resources import device_for
from tenbin.backends.registry import BACKENDS, check_arguments
from tenbin.errors import ConfigError


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
