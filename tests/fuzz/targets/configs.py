"""Run files and model arguments, as `tenbin run` reads them before any model loads."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from tenbin.backends.base import BackendSettings
from tenbin.backends.registry import check_arguments
from tenbin.config import (
    RunConfig,
    build_config,
    check_values,
    pair_numbers,
    read_models_file,
    read_run_file,
)
from tenbin.errors import TenbinError
from tenbin.files.yaml_text import write_yaml
from tenbin.pipeline.many_models.entries import read_entries
from tenbin.pipeline.record import run_file
from tests.fuzz.mutation import damage_bytes, damage_text, damage_tree, write_json
from tests.fuzz.target import PropertyError, Target

_RUNS: tuple[dict[str, Any], ...] = (
    {"tasks": ["jnli", "jcommonsenseqa-1.1-0.3"], "model": "scripted", "num_fewshot": [3, 0]},
    {
        "tasks": "jnli,jsquad", "model": "hf", "model_args": {"pretrained": "x/y", "dtype": "auto"},
        "limit": [10, 0.5], "seed": 7, "batch_size": "auto", "encoding": "joint",
        "gen_kwargs": {"temperature": 0.8, "top_k": 5, "max_gen_toks": 20}, "repeats": 3,
        "apply_chat_template": True, "chat_template_args": {"enable_thinking": False},
        "thinking": ["<think>", "</think>"], "thinking_budget": 100, "split": "test",
    },
    {
        "tasks": ["*"], "model": "openai", "model_args": "base_url=http://127.0.0.1:1/v1,model=m",
        "templates": ["0.1", "0.2"], "num_fewshot_sweep": [0, 3], "seeds": 2,
        "select_on": "train:200", "profile": "tenbin", "workers": 2, "num_gpus": 0.5,
        "num_cpus": 2, "shard_size": 10, "extra_metrics": ["acc_pmi"], "sample_data": True,
    },
    {
        "tasks": ["jnli"], "seed": 1, "models_at_once": 2, "output_path": "runs",
        "models": [
            {"model": "scripted", "name": "one"},
            {"model": "hf", "model_args": {"pretrained": "a/b"}, "dtype": "float32"},
            {"model": "openai", "model_args": {"base_url": "http://127.0.0.1:1/v1"}},
        ],
    },
)  # fmt: skip
_TEXTS = (
    b"tasks: [jnli]\nmodel: &m hf\nmodel_args: {pretrained: *m}\nseed: 0x10\nlimit: 1_0\n",
    b"tasks: jnli\n# a remark\nmodel_args:\n  pretrained: a/b\n  revision: '2024-01-01'\n",
    b"<<: {seed: 3, limit: 4}\ntasks: jnli\nthinking: on\nno_cache: yes\n",
    b"tasks:\n- jnli\n- 'jsquad'\nsystem_prompt: |\n  one\n  two\nsplit: !!str 1.0\n",
    b"tasks: &a [x, y]\nextra_metrics: *a\nmodel_args: {p: &b [*a, *a], q: [*b, *b, *b, *b]}\n",
)
_PIECES = (
    b"&a ", b"*a", b"<<: *a\n", b"!!python/object:os.system ", b"!!binary aGk=", b"!!set {x}",
    b"!!timestamp 2020-01-01", b"? ", b"- ", b": ", b"\n  ", b"\t", b"---\n", b"...\n",
    b"%YAML 9\n",
    b"\xff\xfe", b"\x00", b"\xef\xbb\xbf", b"{", b"]", b"|\n", b"2001-12-14t21:59:43.10-05:00",
    b".nan",
)  # fmt: skip
_WORDS = (
    "auto", "crossfit", "train:0", "train:" + "9" * 30, "all", "hf", "openai-chat", "vllm",
    "nejumi",
    "models", "name", "model", "model_args", "tasks", "limit", "gen_kwargs", "on", "off", "joint",
    "float16", "temperature=1", "pretrained=x", {"top_p": 0}, {"temperature": 1e400}, [["x"]],
    "2024-01-01", "a/../b", "x.json", ["x", "y", "x"], [1, 2, 3], ["<a>", "<b>", "<c>"],
)  # fmt: skip


def _make_run_file(rng: Random) -> bytes:
    if rng.randrange(4) == 0:
        return damage_bytes(rng, rng.choice(_TEXTS), _PIECES)
    tree = json.loads(json.dumps(rng.choice(_RUNS)))
    written = write_json(rng, damage_tree(rng, tree, _WORDS))
    return damage_bytes(rng, written, _PIECES) if rng.randrange(8) == 0 else written


def _check_run_file(data: bytes, folder: Path) -> None:
    path = folder / "run.yaml"
    path.write_bytes(data)
    models = read_models_file(path)
    if models is not None:
        for entry in read_entries(models.shared, models.models, {}, str(path)):
            _check_config(entry.config, folder)
        return
    config = build_config(read_run_file(path))
    _check_config(config, folder)
    pair_numbers("num_fewshot", config.num_fewshot, config.tasks)
    pair_numbers("limit", config.limit, config.tasks)


def _check_config(config: RunConfig, folder: Path) -> None:
    """What is accepted can be written down at the end of a run, and runs the same again."""
    json.dumps(config.as_dict(), ensure_ascii=False, allow_nan=False).encode()
    again = folder / "again.yaml"
    again.write_text(write_yaml(run_file(config)), encoding="utf-8")
    try:
        known = build_config(read_run_file(again))
    except TenbinError as error:
        raise PropertyError(f"a stored run file is refused: {error}") from error
    if known != config.replaced(output_path=None):
        raise PropertyError("a stored run file gives another config")


_ARGUMENTS = (
    "hf:pretrained=a/b,dtype=float32,device=cpu,max_length=10,engine=plain,add_bos_token=True",
    "hf:pretrained=x,revision=main,subfolder=s,peft=p,parallelize=False,probe=always",
    "openai:base_url=http://127.0.0.1:8000/v1,model=m,concurrency=4,timeout=3.5,retries=0,stops=2",
    "openai-chat:base_url=https://[::1]:80/v1,price_input=1,price_output=2.5,price_cached=0,currency=EUR",
    "openai:base_url=http://h,choices=letters,choice_tokens=4,instruction=Say,limit_field=max_tokens",
    "scripted:delay=0.1,max_length=100,raise_after=3",
)
_ARGUMENT_WORDS = (
    ",", "=", ",,", "==", "pretrained=", "base_url=http://", "base_url=http://[", "@", "?q#f",
    ":99999",
    "tokenizer=x/y", "prices=/dev/null", "prices=.", "max_length=9999999999999999999999", "\\",
    "%2f",
    "load_in_4bit=1", "load_in_8bit=1", "gguf_file=x", "api_key=sk-123", "None", "True", "1e309",
    "~",
    "http://\u2100/", "api_key_env=PATH", "api_key_env==", "api_key_env=\x00", "device_map=auto",
    "/" + "a" * 300, "~x/y", "~", "pretrained=/", "pretrained=./", "prices=/dev/zero", "x" * 5_000,
)  # fmt: skip


def _make_arguments(rng: Random) -> bytes:
    model, _, text = rng.choice(_ARGUMENTS).partition(":")
    if rng.randrange(6) == 0:
        tree: dict[str, Any] = dict(part.split("=", 1) for part in text.split(","))
        text = write_json(rng, damage_tree(rng, tree)).decode("utf-8", "surrogatepass")
    for _ in range(rng.choice((1, 1, 2, 4))):
        text = damage_text(rng, text, _ARGUMENT_WORDS)
    return f"{model}:{text}".encode("utf-8", "surrogatepass")


def _check_arguments(data: bytes, folder: Path) -> None:
    model, _, text = data.decode("utf-8", "surrogatepass").partition(":")
    given: Any = text
    if text.startswith("{"):
        # Beside the flag's text, a run file gives a mapping of any values.
        with suppress(ValueError, RecursionError):
            given = json.loads(text)
    arguments = check_values({"model_args": given})["model_args"]
    check_arguments(BackendSettings(model, arguments, cache_dir=str(folder)))


TARGETS = (
    Target(
        "run_file",
        _make_run_file,
        _check_run_file,
        lambda: [*(json.dumps(one).encode() for one in _RUNS), *_TEXTS],
    ),
    Target(
        "model_args",
        _make_arguments,
        _check_arguments,
        lambda: [line.encode() for line in _ARGUMENTS],
        share=2.0,
    ),
)
