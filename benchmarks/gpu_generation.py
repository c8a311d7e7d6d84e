"""Greedy generation on a GPU: tenbin's own loop against transformers' generate.

    python benchmarks/gpu_generation.py --shape 8b --compile --output RESULT.json

Random weights of a Llama shape in bfloat16: 256 prompts of 420 ± 30 % tokens, 32 new tokens each,
no early end. transformers' generate gets the prompts sorted by length and left padded, at batch 32
and at larger batches; its best counts. Needs torch and transformers only.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from gpu_scoring import SHAPES, VOCABULARY, make_model

from tenbin.backends.hf.generation.generator import Generator
from tenbin.backends.hf.model.compilation import CompileMode
from tenbin.backends.hf.model.memory import token_budget
from tenbin.backends.text.encoding import EncodedPrompt
from tenbin.backends.text.stop_criteria import Job
from tenbin.records import Sampling

NEW_TOKENS = 32


def make_tokenizer() -> Any:
    """One word a token: texts do not matter here, only their cost."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({f"w{n}": n for n in range(VOCABULARY)}, unk_token="w0"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="w0")


def make_prompts(count: int) -> list[tuple[int, ...]]:
    generator = random.Random(0)
    return [
        tuple(generator.randrange(10, VOCABULARY) for _ in range(generator.randint(294, 546)))
        for _ in range(count)
    ]


@torch.inference_mode()
def library(model: Any, prompts: list[tuple[int, ...]], batch: int) -> float:
    ordered = sorted(prompts, key=len, reverse=True)
    torch.cuda.synchronize()
    started = time.perf_counter()
    for at in range(0, len(ordered), batch):
        part = ordered[at : at + batch]
        longest = len(part[0])
        ids = torch.tensor([[0] * (longest - len(p)) + list(p) for p in part], device="cuda")
        mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in part], device="cuda")
        model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=NEW_TOKENS,
            min_new_tokens=NEW_TOKENS,
            do_sample=False,
            pad_token_id=0,
        )
    torch.cuda.synchronize()
    return time.perf_counter() - started


def own(writer: Generator, prompts: list[tuple[int, ...]], new_tokens: int | list[int]) -> float:
    limits = new_tokens if isinstance(new_tokens, list) else [new_tokens] * len(prompts)
    jobs = [
        Job(EncodedPrompt(prompt, 0), (), limit)
        for prompt, limit in zip(prompts, limits, strict=True)
    ]
    return timed(writer, jobs)


def timed(writer: Generator, jobs: list[Job]) -> float:
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in writer.generate(jobs):
        pass
    torch.cuda.synchronize()
    return time.perf_counter() - started


def copy_bandwidth() -> float:
    """Bytes per second that the device reads and writes when it copies memory."""
    source = torch.empty(1 << 30, dtype=torch.int32, device="cuda")
    target = torch.empty_like(source)
    seconds = []
    for _ in range(5):
        torch.cuda.synchronize()
        started = time.perf_counter()
        target.copy_(source)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    return 2 * source.nbytes / min(seconds)


def step_limit(model: Any, prompts: list[tuple[int, ...]], new_tokens: int) -> float:
    """Seconds of a mean step if nothing took time but reading weights and the KV cache."""
    config = model.config
    weights = sum(one.nbytes for one in model.parameters())
    weights -= model.get_input_embeddings().weight.nbytes
    token = 4 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim
    tokens = sum(len(prompt) + new_tokens / 2 for prompt in prompts)
    return (weights + token * tokens) / copy_bandwidth()


def mixed_rates(writer: Generator, low: int, high: int) -> dict[str, float]:
    """512 prompts whose answers have any length, beside 512 whose answers all have the mean one."""
    prompts = make_prompts(512)
    limits = [random.Random(n).randint(low, high) for n in range(512)]
    mean = round(sum(limits) / len(limits))
    own(writer, prompts[:64], 8)
    even = min(own(writer, prompts, mean) for _ in range(2))
    mixed = min(own(writer, prompts, limits) for _ in range(2))
    return {
        "mixed_seconds": mixed,
        "mixed_tokens_per_second": sum(limits) / mixed,
        "even_tokens_per_second": mean * 512 / even,
        "mixed_share_of_even": (sum(limits) / mixed) / (mean * 512 / even),
    }


def sample_rates(
    writer: Generator, prompts: int, samples: int, new_tokens: int
) -> dict[str, float]:
    """Several samples of each prompt, beside as many prompts of the same lengths."""
    sampling = Sampling(temperature=1.0)
    first = make_prompts(prompts)
    generator = random.Random(1)
    others = [
        tuple(generator.randrange(10, VOCABULARY) for _ in one)
        for one in first
        for _ in range(samples)
    ]

    def jobs(texts: list[tuple[int, ...]]) -> list[Job]:
        return [
            Job(EncodedPrompt(text, 0), (), new_tokens, sampling=sampling, seed=n)
            for n, text in enumerate(texts)
        ]

    shared = [one for one in first for _ in range(samples)]
    timed(writer, jobs(shared[:64])[:64])
    seconds = {}
    for name, texts in (("shared", shared), ("apart", others)):
        # Prefill is shared in any case: steps alone are compared.
        short = min(timed(writer, [replace(job, limit=1) for job in jobs(texts)]) for _ in range(2))
        seconds[name] = min(timed(writer, jobs(texts)) for _ in range(2)) - short
    return {
        "samples_shared_seconds": seconds["shared"],
        "samples_apart_seconds": seconds["apart"],
        "samples_speed_up": seconds["apart"] / seconds["shared"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="8b")
    parser.add_argument("--prompts", type=int, default=256)
    parser.add_argument("--new_tokens", type=int, default=NEW_TOKENS)
    parser.add_argument("--batches", default="32,64,128,256", help="of generate; none to leave out")
    parser.add_argument("--mixed", nargs=2, type=int, metavar=("LOW", "HIGH"))
    parser.add_argument("--samples", type=int, help="of 64 prompts, beside as many prompts")
    parser.add_argument("--compile", action="store_true", help="compile the decoder layers")
    parser.add_argument("--output")
    options = parser.parse_args()
    model = make_model(options.shape, "cuda", torch.bfloat16)
    model.generation_config.eos_token_id = None
    prompts = make_prompts(options.prompts)
    device = torch.device("cuda")
    compiling: CompileMode = "always" if options.compile else "never"
    started = time.perf_counter()
    writer = Generator(model, make_tokenizer(), 4096, "auto", token_budget(device), compiling)
    result: dict[str, Any] = {
        "shape": options.shape,
        "prompts": options.prompts,
        "new_tokens": options.new_tokens,
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "mode": writer.mode,
        "opening_seconds": time.perf_counter() - started,
    }
    own(writer, prompts[:64], 8)
    own(writer, prompts, 4)
    result["prefill_seconds"] = min(own(writer, prompts, 1) for _ in range(2))
    rounds = 3 if options.new_tokens <= 64 else 2
    result["own_seconds"] = min(own(writer, prompts, options.new_tokens) for _ in range(rounds))
    steps = result["own_seconds"] - result["prefill_seconds"]
    result["step_milliseconds"] = 1e3 * steps / max(1, options.new_tokens - 1)
    limit = step_limit(model, prompts, options.new_tokens)
    result["step_limit_milliseconds"] = 1e3 * limit
    result["share_of_bandwidth"] = 1e3 * limit / result["step_milliseconds"]
    result["tokens_per_second_of_steps"] = 1e3 * options.prompts / result["step_milliseconds"]
    if options.mixed:
        result |= mixed_rates(writer, *options.mixed)
    if options.samples:
        result |= sample_rates(writer, 64, options.samples, options.new_tokens)
    print(result, flush=True)
    batches = [int(one) for one in options.batches.split(",")] if options.batches != "none" else []
    if batches:
        library(model, prompts[:32], 32)
    for batch in batches:
        seconds = min(library(model, prompts, batch) for _ in range(2))
        result[f"generate_{batch}_seconds"] = seconds
        result[f"speed_up_over_{batch}"] = seconds / result["own_seconds"]
        print(batch, seconds, flush=True)
    print(json.dumps(result, indent=2))
    if options.output:
        Path(options.output).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
