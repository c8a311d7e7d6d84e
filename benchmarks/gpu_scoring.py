"""Scoring on a GPU: packed trees against a padded batch loop, and against the matrix peak.

    python benchmarks/gpu_scoring.py --shape 8b --documents 512 --compile --output RESULT.json

Random weights of a Llama shape in bfloat16, so that no download is needed: documents of
420 ± 30 % tokens with five choices of 2-6 tokens, and the same documents with 330 of their tokens
shared (fixed few-shot). The padded loop does what most harnesses do: every choice with its context
in a row, 32 rows a batch, logits over all positions. Needs torch and transformers only.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.prefix_tree import make_packs
from tenbin.backends.hf.scoring.engine_selection import select_engine
from tenbin.backends.text.encoding import Row

SHAPES = {
    "1b": (2048, 8192, 16, 32, 8, 64),
    "8b": (4096, 14336, 32, 32, 8, 128),
    "tiny": (64, 128, 2, 4, 2, 16),
}
"""Width, inner width, layers, heads, key heads, size of a head."""
VOCABULARY = 128_256


def make_model(shape: str, device: str, dtype: torch.dtype) -> Any:
    from transformers import AutoModelForCausalLM, LlamaConfig

    width, inner, layers, heads, key_heads, size = SHAPES[shape]
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        max_position_embeddings=4096,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        head_dim=size,
    )
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa")
    # Filled on the device itself: the usual initialisation of 8B weights takes minutes.
    model = model.to_empty(device=device).eval()
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.02) if parameter.dim() > 1 else parameter.data.fill_(1.0)
    model.model.rotary_emb = type(model.model.rotary_emb)(config).to(device)
    return model


def make_documents(count: int, shared: int, seed: int = 0) -> list[list[Row]]:
    """Contexts of 420 ± 30 % tokens, of which the first `shared` are the same for all."""
    generator = random.Random(seed)

    def tokens(number: int) -> tuple[int, ...]:
        return tuple(generator.randrange(VOCABULARY) for _ in range(number))

    prefix = tokens(shared)
    documents = []
    for _ in range(count):
        length = generator.randint(294, 546)
        context = prefix + tokens(max(length - shared, 20))
        answers = [tokens(generator.randint(2, 6)) for _ in range(5)]
        documents.append([Row(context + answer, len(answer)) for answer in answers])
    return documents


def matrix_peak(device: str) -> float:
    """FLOP/s of a large bfloat16 product, on random data."""
    a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    for _ in range(5):
        a @ b
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(20):
        a @ b
    torch.cuda.synchronize()
    return 20 * 2 * 8192**3 / (time.perf_counter() - started)


@torch.inference_mode()
def padded_loop(model: Any, documents: list[list[Row]], device: str, batch: int = 32) -> float:
    """Seconds of the usual loop."""
    rows = sorted((row for group in documents for row in group), key=lambda row: -len(row.ids))
    torch.cuda.synchronize()
    started = time.perf_counter()
    for at in range(0, len(rows), batch):
        part = rows[at : at + batch]
        longest = max(len(row.ids) - 1 for row in part)
        ids = torch.zeros(len(part), longest, dtype=torch.long)
        for number, row in enumerate(part):
            ids[number, : len(row.ids) - 1] = torch.tensor(row.ids[:-1])
        logits = torch.log_softmax(model(ids.to(device), use_cache=False).logits, dim=-1)
        for number, row in enumerate(part):
            end = len(row.ids) - 1
            span = logits[number, end - row.scored : end]
            target = torch.tensor(row.ids[-row.scored :], device=device)
            float(span.gather(1, target[:, None]).sum())
        del logits
    torch.cuda.synchronize()
    return time.perf_counter() - started


def unique_tokens(documents: list[list[Row]]) -> int:
    """Positions that must be computed at least once."""
    inputs = {row.ids[:-1] for group in documents for row in group}
    (pack,) = make_packs(list(inputs), 1 << 60)
    return len(pack)


def timed(engine: Any, documents: list[list[Row]]) -> float:
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in engine.score(documents):
        pass
    torch.cuda.synchronize()
    return time.perf_counter() - started


def flops_per_token(model: Any) -> float:
    """Two a weight that every token meets; attention over keys is left out, in favour of no one."""
    embeddings = model.get_input_embeddings().weight.numel()
    head = model.get_output_embeddings().weight.numel()
    return 2.0 * (sum(p.numel() for p in model.parameters()) - embeddings - head)


def print_profile(engine: Any, documents: list[list[Row]]) -> None:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        timed(engine, documents)
    print(
        seen.key_averages().table(sort_by="cuda_time_total", row_limit=18, max_name_column_width=60)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="8b")
    parser.add_argument("--documents", type=int, default=256)
    parser.add_argument("--budgets", default="16384")
    parser.add_argument("--skip_padded", action="store_true")
    parser.add_argument("--compile", action="store_true", help="compile the decoder layers")
    parser.add_argument("--profile", action="store_true", help="print where device time goes")
    parser.add_argument("--output")
    options = parser.parse_args()
    device = "cuda"
    peak = matrix_peak(device)
    model = make_model(options.shape, device, torch.bfloat16)
    forward = Forward(model)
    plain_documents = make_documents(options.documents, 0)
    shared_documents = make_documents(options.documents, 330, seed=1)
    result: dict[str, Any] = {
        "shape": options.shape,
        "documents": options.documents,
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "matrix_peak_tflops": peak / 1e12,
    }
    if not options.skip_padded:
        padded_loop(model, plain_documents[:16], device)
        result["padded_seconds"] = padded_loop(model, plain_documents, device)
    cost = flops_per_token(model)
    for budget in map(int, options.budgets.split(",")):
        started = time.perf_counter()
        selected = select_engine(
            forward, "auto", "auto", 32768, budget, "always" if options.compile else "never"
        )
        result["probe_seconds"] = time.perf_counter() - started
        result["passed_over"] = list(selected.selection.passed_over)
        for name, documents in (("own", plain_documents), ("shared", shared_documents)):
            timed(selected.engine, documents)
            seconds = min(timed(selected.engine, documents) for _ in range(3))
            needed = unique_tokens(documents)
            entry = {
                "seconds": seconds,
                "documents_per_second": len(documents) / seconds,
                "unique_tokens": needed,
                "share_of_peak": needed * cost / seconds / peak,
            }
            if name == "own" and "padded_seconds" in result:
                entry["speed_up"] = result["padded_seconds"] / seconds
            entry["mode"] = selected.engine.mode
            result[f"{name}_{budget}"] = entry
            print(name, budget, entry, flush=True)
            if options.profile:
                print_profile(selected.engine, documents[:64])
    print(json.dumps(result, indent=2))
    if options.output:
        Path(options.output).parent.mkdir(parents=True, exist_ok=True)
        Path(options.output).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
