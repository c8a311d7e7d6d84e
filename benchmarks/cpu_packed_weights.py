"""Packed weights on a CPU: what linear layers, decode steps and scoring gain by them.

SmolLM2-135M in float32. Plain and packed take turns within one process; each figure is the least of
some repeats, in processor time: other programs can only add to it, and little. With several threads
it includes their waiting for each other, so that OMP_NUM_THREADS=1 gives the cleanest ratio. Also
says by how much results differ.

    python benchmarks/cpu_packed_weights.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from common import RESULTS, embedded_model, say, setup_facts, write_result
from transformers import AutoModelForCausalLM

from tenbin.backends.hf.generation.decode import DecodeStepper
from tenbin.backends.hf.generation.kv_cache import SlotCache
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.generation.sampler import Sampler
from tenbin.backends.hf.model.packed_linear import PackedLinears

ROWS = (1, 8, 16, 24, 32, 128, 1024)
PROMPT = 200


def least(
    packing: PackedLinears, run: Callable[[], object], repeats: int, ready: Callable[[], object]
) -> dict[str, float]:
    """Milliseconds of processor time with plain and with packed weights, taking turns."""
    ways: dict[str, Any] = {"plain": nullcontext, "packed": packing.installed}
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(repeats + 1):
        for name, context in ways.items():
            ready()
            with context():
                start = time.process_time()
                run()
                found[name] = min(found[name], (time.process_time() - start) * 1e3)
    return {name: round(ms, 2) for name, ms in found.items()}


def products(model: Any, packing: PackedLinears, rows: int, repeats: int) -> dict[str, Any]:
    """All linear layers of the body on so many rows, and the head on up to 128 of them."""
    layers = [m for m in model.model.modules() if type(m) is torch.nn.Linear]
    inputs = {width: torch.randn(rows, width) for width in {m.in_features for m in layers}}
    head = torch.randn(min(rows, 128), model.lm_head.in_features)

    def body() -> None:
        for layer in layers:
            layer(inputs[layer.in_features])

    flops = 2 * rows * sum(m.in_features * m.out_features for m in layers)
    ms = least(packing, body, repeats, lambda: None)
    return {
        "rows": rows,
        "body_ms": ms,
        "body_gflops": {name: round(flops / value / 1e6) for name, value in ms.items()},
        "head_rows": len(head),
        "head_ms": least(packing, lambda: model.lm_head(head), repeats, lambda: None),
    }


def steps(model: Any, packing: PackedLinears, rows: int, repeats: int) -> dict[str, Any]:
    """A decode step after prompts of 200 tokens, and their prefill."""
    runner, cache = ModelRunner(model), SlotCache(rows, PROMPT + 64)
    prompts = torch.randint(5, 40000, (rows, PROMPT)).tolist()
    stepper = DecodeStepper(runner, cache, Sampler(None))
    return {
        "rows": rows,
        "prompt_tokens": PROMPT,
        "prefill_ms": least(packing, lambda: runner.prefill(cache, prompts, 0, 0), 1, lambda: None),
        "step_ms": least(
            packing,
            lambda: stepper.step(rows, PROMPT + 1),
            repeats * 2,
            lambda: stepper.positions.fill_(PROMPT),
        ),
    }


def difference(model: Any, packing: PackedLinears) -> dict[str, float]:
    ids = torch.randint(5, 40000, (2, 300))
    plain = model(input_ids=ids, use_cache=False).logits.log_softmax(-1)
    with packing.installed():
        packed = model(input_ids=ids, use_cache=False).logits.log_softmax(-1)
        alone = model(input_ids=ids[:1], use_cache=False).logits.log_softmax(-1)
    return {
        "largest_log_probability_difference": float((plain - packed).abs().max()),
        "packed_alone_and_in_a_batch": float((packed[:1] - alone).abs().max()),
    }


@torch.inference_mode()
def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    flags.add_argument("--repeats", type=int, default=5)
    options = flags.parse_args()
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_pretrained(embedded_model(), dtype=torch.float32).eval()
    packing = PackedLinears(model)
    start = time.process_time()
    with packing.installed():
        seconds = time.process_time() - start
    say(f"packed {packing.count} layers in {seconds:.2f} s; {packing.reason or 'none refused'}")
    table = []
    for rows in ROWS:
        table.append(products(model, packing, rows, options.repeats))
        say(f"  {table[-1]}")
    decode = []
    for rows in (8, 24):
        decode.append(steps(model, packing, rows, options.repeats))
        say(f"  {decode[-1]}")
    body = {
        "what": "packed weights, SmolLM2-135M float32",
        "threads": torch.get_num_threads(),
        "packing_seconds": round(seconds, 3),
        "linear_layers": table,
        "decode": decode,
        **difference(model, packing),
        "setup": setup_facts(),
    }
    write_result(options.output_dir, "cpu_packed_weights", body)


if __name__ == "__main__":
    main()
