"""What the vllm backend refuses, before anything is loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.base import BackendSettings
from tenbin.backends.registry import check_arguments, open_backend, open_inspector
from tenbin.backends.vllm.checkpoint import open_checkpoint
from tenbin.errors import ConfigError, TenbinError
from tests.vllm.conftest import settings


def refusal(given: BackendSettings) -> str:
    with pytest.raises(TenbinError) as caught:
        open_backend(given)
    return str(caught.value)


def test_the_model_is_named() -> None:
    assert "pretrained=" in refusal(BackendSettings("vllm", {"dtype": "float32"}))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tensor_paralel_size": "2"}, "did you mean 'tensor_parallel_size'"),
        ({"peft": "x"}, "unknown model argument 'peft'"),
        ({"tensor_parallel_size": "two"}, "tensor_parallel_size='two'"),
        ({"kv_cache_dtype": "int3"}, "one of auto"),
        ({"enforce_eager": "perhaps"}, "neither True nor False"),
        ({"logprobs_mode": "raw_logits"}, "set by tenbin"),
        ({"scoring": "fast"}, "one of auto, prefix_cache, prompt_logprobs"),
        ({"max_length": "100"}, "give one of them"),
        ({"data_parallel_size": "4"}, "--workers 4"),
        ({"dtype": "float8"}, "float8"),
    ],
)
def test_wrong_arguments(folder: Path, arguments: dict[str, Any], words: str) -> None:
    given = settings(folder)
    told = {**given.model_args, **arguments}
    if "dtype" in arguments:
        given = replace(given, dtype=None)
    assert words in refusal(replace(given, model_args=told))


def test_faults_of_a_model_in_a_list_are_found_without_opening_it(
    folder: Path, tmp_path: Path
) -> None:
    given = settings(folder)
    check_arguments(given)
    check_arguments(replace(given, model_args={"pretrained": "some/hub-id"}))
    with pytest.raises(ConfigError, match="did you mean 'tensor_parallel_size'"):
        check_arguments(settings(folder, tensor_paralel_size="2"))
    with pytest.raises(TenbinError, match=r"no config\.json"):
        check_arguments(settings(tmp_path))


def test_another_device_than_vllm_was_built_for(folder: Path) -> None:
    assert "this vLLM runs on" in refusal(replace(settings(folder), device="mps"))


def test_a_worker_says_what_memory_and_which_executor(folder: Path) -> None:
    """Inside a worker vLLM takes the worker's share and its GPUs, and asks Ray for nothing."""
    worker = replace(settings(folder, tensor_parallel_size="2"), memory_share=0.5)
    options = open_checkpoint(worker).options
    assert options["gpu_memory_utilization"] == pytest.approx(0.45)
    assert options["distributed_executor_backend"] == "mp"
    single = open_checkpoint(replace(settings(folder), memory_share=0.5)).options
    alone = open_checkpoint(settings(folder, tensor_parallel_size="2")).options
    for found in (single, alone):
        assert "distributed_executor_backend" not in found
    assert "gpu_memory_utilization" not in alone


def test_a_driver_without_the_workers_device(folder: Path) -> None:
    elsewhere = replace(settings(folder), device="cuda", loads_elsewhere=True)
    assert open_checkpoint(elsewhere).facts["device"] == "cuda"


def test_no_model_there(tmp_path: Path) -> None:
    assert "no config.json" in refusal(settings(tmp_path))


def test_numbers_of_the_command_line_are_words(folder: Path) -> None:
    """The fingerprint is known before weights, and heeds what changes answers alone."""
    words = {"max_model_len": "256", "block_size": "32", "enforce_eager": "True"}
    first = open_backend(settings(folder))
    assert first.tokenizer is not None and first.tokenizer.max_length == 256
    same = open_backend(settings(folder, **words, gpu_memory_utilization="0.5"))
    assert same.fingerprint == first.fingerprint
    other = open_backend(settings(folder, **words, kv_cache_dtype="fp8"))
    assert other.fingerprint != first.fingerprint
    assert open_backend(settings(folder, "separate")).fingerprint != first.fingerprint
    described = first.describe()
    assert described["engine"]["mode"] == "not run"
    assert described["dtype"] == "float32"


def test_a_closed_backend_says_so(folder: Path) -> None:
    from tenbin.records import Generate

    opened = open_backend(settings(folder))
    opened.close()
    with pytest.raises(TenbinError, match="closed"):
        list(opened.run([Generate("k", "a", (), 3)]))


def test_its_tokenizer_can_be_diagnosed(folder: Path) -> None:
    reader = open_inspector(settings(folder, tensor_parallel_size="2"))
    assert reader.tokenizer.max_length == 256
    assert reader.decode(reader.encode(["The answer"])[0]) == "The answer"


def test_contradictions_of_flags_and_arguments(folder: Path) -> None:
    with pytest.raises(ConfigError, match="give it in one place"):
        open_backend(settings(folder, dtype="bfloat16"))
