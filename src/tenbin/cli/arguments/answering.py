"""Flags that say who answers and where answers go: model, workers, output."""

from __future__ import annotations

import argparse

from tenbin.cli.arguments.command import add_switch
from tenbin.cli.arguments.reporting import add_report_flag


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model, and how it is loaded."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        metavar="NAME",
        help="backend: hf (default; also hf-causal, hf-auto); vllm; openai and openai-chat, any "
        "OpenAI-compatible server; scripted, for dry runs (docs/backends.md)",
    )
    group.add_argument(
        "--model_args",
        metavar="K=V[,K=V…]",
        help="hf: pretrained (hub id, folder, .gguf file, or smollm2-135m), revision, tokenizer, "
        "dtype, max_length, trust_remote_code, gguf_file, peft, device_map, load_in_4bit, …; "
        "openai, openai-chat: base_url, model, tokenizer, concurrency, timeout, retries, "
        "price_input, price_output, …; the key comes from OPENAI_API_KEY",
    )
    group.add_argument(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1, mps (default: the best)"
    )
    group.add_argument("--dtype", metavar="NAME", help="float32, bfloat16, float16, auto")
    group.add_argument("--batch_size", metavar="N", help="rows a batch, or auto (default)")
    group.add_argument(
        "--encoding",
        metavar="MODE",
        help="prompt and answer encoded as one text (joint, default) or each alone (separate)",
    )
    group.add_argument(
        "--cache_dir", metavar="DIR", help="downloads, converted models and journals"
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Where it answers, if not in this process."""
    group = parser.add_argument_group(
        "many workers (needs tenbin[ray]; their number moves no score, docs/scale.md)"
    )
    group.add_argument(
        "--workers",
        metavar="N",
        help="answer with N processes, each with the model: `--workers 8` on a machine with 8 GPUs "
        "is one a GPU. Default: this process alone; with --ray_address as many as fit it",
    )
    group.add_argument(
        "--ray_address",
        metavar="ADDRESS",
        help="on a Ray cluster that is up: auto (on one of its machines), HOST:PORT or "
        "ray://HOST:10001. Every machine must see the model's files and have this tenbin",
    )
    group.add_argument(
        "--num_gpus",
        metavar="F",
        help="GPUs a worker: 0.5 puts two on one GPU. Default: 1 where there are GPUs and the "
        "model runs here (hf, vllm; all of a tensor-parallel engine), else 0",
    )
    group.add_argument(
        "--num_cpus",
        metavar="N",
        help="CPUs and threads a worker (default: 1); keep it, and the last digits stay the same",
    )
    group.add_argument(
        "--shard_size",
        metavar="N",
        help="requests handed to a worker at a time, at most (default: 256): fewer spread a small "
        "run better, more keep a large GPU busier",
    )


def add_output(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Where results go; gives the group, for a command's own flags."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "--output_path",
        metavar="PATH",
        help="result.json (samples go to result.run/ beside it), or a folder for runs "
        "(default: runs/)",
    )
    add_switch(
        output,
        "--overwrite",
        "replace a result of other settings at --output_path (else it is refused)",
    )
    add_switch(
        output, "--no_cache", "neither read nor write the journal of answers that lets a run go on"
    )
    add_report_flag(output)
    output.add_argument(
        "--config",
        metavar="FILE",
        help="YAML with these same names as keys; flags override it. `tenbin run` takes a list "
        "`models:` there, each with keys of its own, and runs them all",
    )
    return output
