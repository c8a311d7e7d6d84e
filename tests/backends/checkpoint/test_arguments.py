from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import pytest

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint.arguments import read_arguments
from tenbin.errors import BackendError, ConfigError


def read(**arguments: Any) -> Any:
    return read_arguments(BackendSettings("hf", {"pretrained": "x", **arguments}))


def test_strings_become_what_they_mean() -> None:
    found = read(max_length="512", trust_remote_code="True", dtype="torch.bfloat16", revision="v=1")
    assert (found.max_length, found.trust_remote_code, found.dtype) == (512, True, "bfloat16")
    assert found.revision == "v=1"
    assert read(add_bos_token="None").add_bos_token is None
    assert read(add_bos_token=False).add_bos_token is False


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="pretraned") as caught:
        read_arguments(BackendSettings("hf", {"pretraned": "x"}))
    assert "did you mean 'pretrained'" in caught.value.hint
    assert "max_length" in caught.value.hint
    with pytest.raises(ConfigError, match="needs to know the model"):
        read_arguments(BackendSettings("hf"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_length": "many"},
        {"max_length": "0"},
        {"dtype": "float8"},
        {"trust_remote_code": "maybe"},
        {"load_in_4bit": True, "load_in_8bit": True},
        {"gguf_file": "x.gguf", "load_in_4bit": True},
        {"parallelize": True, "device_map": "balanced"},
        {"device": "cpu", "device_map": "auto"},
    ],
)
def test_wrong_values_and_contradictions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        read(**wrong)


def test_one_meaning_in_two_places() -> None:
    same = BackendSettings("hf", {"pretrained": "x", "dtype": "bfloat16"}, dtype="bfloat16")
    assert read_arguments(same).dtype == "bfloat16"
    other = BackendSettings("hf", {"pretrained": "x", "dtype": "bfloat16"}, dtype="float32")
    with pytest.raises(ConfigError, match="own flag"):
        read_arguments(other)
    bos = BackendSettings("hf", {"pretrained": "x", "add_bos_token": "False"}, add_bos=True)
    with pytest.raises(ConfigError, match="add_bos_token"):
        read_arguments(bos)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [({"load_in_4bit": True}, "tenbin[quantized]"), ({"peft": "x"}, "tenbin[peft]")],
)
def test_missing_libraries_come_with_a_hint(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], hint: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BackendError) as caught:
        read(**arguments)
    assert hint in caught.value.hint


def test_arguments_import_nothing_heavy() -> None:
    code = (
        "import sys, tenbin.backends.checkpoint.arguments, tenbin.backends.registry;"
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
