"""The commands that are killed: backends, workers, scoring, generation, sampled answers."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.crash.chains import Case

SCORING = ("--tasks", "jnli-1.3-0.2,plain_text_ja", "--num_fewshot", "1,0", "--limit", "9,3")
SAMPLING = (
    *("--tasks", "mlogiqa_gen_ja", "--limit", "4", "--repeats", "3"),
    *("--gen_kwargs", "temperature=0.9,max_gen_toks=6"),
)
SHARD = 4


def _run(model: str, *arguments: str) -> tuple[str, ...]:
    return ("run", "--model", model, "--sample_data", *arguments)


def scripted_cases() -> list[Case]:
    return [
        Case("scripted, scoring", _run("scripted", *SCORING)),
        Case("scripted, sampled generation", _run("scripted", *SAMPLING)),
    ]


def download_case(address: str) -> Case:
    """Rows that are fetched from a server on loopback, under the name of the hub."""
    environment = (
        *(("HF_ENDPOINT", address), ("HF_HUB_OFFLINE", "0"), ("TENBIN_CRASH_PLAIN_HTTP", "1")),
    )
    arguments = ("run", "--model", "scripted", "--tasks", "mlogiqa_gen_ko", "--limit", "3")
    return Case("scripted, downloaded rows", arguments, environment=environment)


def hf_cases(model: Path) -> list[Case]:
    given = ("--model_args", f"pretrained={model}", "--device", "cpu", "--dtype", "float32")
    given = (*given, "--batch_size", "4")
    return [
        Case("hf, scoring", _run("hf", *given, *SCORING), in_flight=64),
        # Four rows at a time, six tokens each.
        Case("hf, sampled generation", _run("hf", *given, *SAMPLING), in_flight=4 * 6),
    ]


def server_cases(address: str, tasks: Path) -> list[Case]:
    given = ("--model_args", f"base_url={address},concurrency=2", "--include_path", str(tasks))
    given = (*given, "--data_dir", str(tasks))
    texts = ("--tasks", "adding", "--repeats", "3", "--gen_kwargs", "temperature=0.9")

    def run(model: str, *arguments: str) -> tuple[str, ...]:
        return ("run", "--model", model, *given, *arguments)

    return [
        Case("server, choices by letter", run("openai-chat", "--tasks", "following"), 2),
        Case("server, sampled generation", run("openai", *texts), 2),
    ]


def write_tasks(folder: Path) -> Path:
    """Two tasks of short prompts, for models that take their time."""
    folder.mkdir(parents=True)
    for name, rest in (("following", _CHOICE), ("adding", _TEXT)):
        rows = [
            {"id": at, "number": at, "sum": f"{at + 1}", "choices": [f"{at + 1}", f"{at + 7}"]}
            for at in range(6)
        ]
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        (folder / f"{name}.yaml").write_text(_TASK.format(name=name) + rest)
    return folder


_TASK = """
task: {name}
title: {name}
language: en
dataset_path: json
dataset_kwargs: {{data_files: {{test: {name}.jsonl}}}}
test_split: test
versions: {{"1.0": {{}}}}
"""
_CHOICE = """
output_type: multiple_choice
doc_to_choice: choices
doc_to_target: 0
metric_list: [{metric: acc}]
templates: {default: {meant_for: any model, doc_to_text: "What follows {{ number }}?"}}
"""
_TEXT = """
output_type: generate_until
generation_kwargs: {until: ["\\n"], max_gen_toks: 4}
doc_to_target: sum
metric_list: [{metric: exact_match}]
templates: {default: {meant_for: any model, doc_to_text: "{{ number }} + 1 ="}}
"""


def ray_cases(model: Path, temporary: str) -> list[Case]:
    workers = ("--workers", "2", "--shard_size", str(SHARD))
    given = ("--model_args", f"pretrained={model}", "--device", "cpu", "--dtype", "float32")
    # Ray's own folder: its sockets need a short path, and its logs stay there however it ends.
    environment = (("RAY_TMPDIR", temporary),)
    most = 2 * 2 * SHARD
    return [
        Case("two workers, scripted", _run("scripted", *workers, *SCORING), most, environment),
        Case("two workers, hf", _run("hf", *given, *workers, *SAMPLING), most, environment),
    ]


def small_model(folder: Path) -> Path:
    """A Llama of random weights whose window holds the sample prompts."""
    from tests.backends.tiny import make_model, make_tokenizer

    tokenizer = make_tokenizer(add_bos=True)
    model = make_model("llama", len(tokenizer))
    model.config.max_position_embeddings = 4096
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        # Not of this very moment: the digest of such a file is not kept, it may still change.
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return folder


_ALWAYS = (
    "tenbin.cli",
    "tenbin.pipeline.run",
    "pyarrow.parquet",
    "yaml",
    "scipy.stats",
    "rich.console",
)
_TORCH = (
    *("torch", "transformers", "transformers.models.llama.modeling_llama"),
    *("tenbin.backends.hf.backend", "tenbin.backends.hf.model.loading"),
)
MODULES = {
    "scripted": _ALWAYS,
    "hf": (*_ALWAYS, *_TORCH),
    "llama": (*_ALWAYS, "tenbin.backends.openai.backend"),
    "ray": (*_ALWAYS, *_TORCH, "tenbin.backends.ray.backend"),
}
"""What is imported once, before runs are forked."""
