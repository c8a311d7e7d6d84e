"""Whether a shard's answers depend on who gives them: order, memory that others took, history.

    python benchmarks/check_shards.py --output RESULT.json

Two processes open the same model with the same share of memory, as two workers do. One takes the
shards in order, the other backwards, beside 30 GiB that somebody else holds. Every number and text
must be equal to the last bit. Needs torch and transformers, no Ray; meant for a GPU.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tenbin.backends.base import BackendSettings
from tenbin.backends.ray.sharding import cut
from tenbin.backends.registry import open_backend
from tenbin.pipeline.requests import generate_request, sample_request, score_request
from tenbin.records import Request, Sampling

_WORDS = (*"日本の首都は東京ですabcdefg", "The", "answer", "is", "blue", "quick", "brown", "fox")


def make_requests(documents: int) -> list[Request]:
    generator = random.Random(3)

    def text(words: int) -> str:
        return " ".join(generator.choices(_WORDS, k=words))

    heads = [text(150) for _ in range(4)]
    prompts = [f"{heads[at % 4]}\n{text(generator.randint(10, 90))}" for at in range(documents)]
    scores = [score_request(p, tuple(text(4) for _ in range(5))) for p in prompts]
    written = [generate_request(p, ("\n",), 24) for p in prompts[: documents // 4]]
    drawn = [
        sample_request(p, (), 24, Sampling(0.8, 0.95), 7, sample)
        for p in prompts[: documents // 8]
        for sample in range(2)
    ]
    return [*scores, *written, *drawn]


def make_folder(folder: Path) -> None:
    import torch
    from tiny_models import make_tokenizer
    from transformers import AutoModelForCausalLM, LlamaConfig

    tokenizer = make_tokenizer()
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=8,
        num_attention_heads=16,
        num_key_value_heads=4,
        max_position_embeddings=4096,
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def answer(
    folder: str, device: str, dtype: str, share: float | None, backwards: bool, results: Any
) -> None:
    import torch

    shards = list(cut(sorted(make_requests(800), key=lambda request: request.place), 64))
    settings = BackendSettings(
        "hf",
        {"pretrained": folder, "probe": "always"},
        device=device,
        dtype=dtype,
        cache_dir=folder,
        memory_share=share,
    )
    backend = open_backend(settings)
    held = None
    if backwards and device == "cuda":
        held = torch.empty(30 << 30, dtype=torch.uint8, device=device)
    began = time.perf_counter()
    found = {}
    for shard in reversed(shards) if backwards else shards:
        found.update({key: repr(response) for key, response in backend.run(shard)})
    described = dict(backend.describe())["engine"]
    del held
    results.put((len(shards), time.perf_counter() - began, described, found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    body: dict[str, Any] = {"device": options.device}
    with tempfile.TemporaryDirectory() as folder:
        make_folder(Path(folder))
        for dtype in ("float32", "bfloat16"):
            answers = []
            for backwards in (False, True):
                results = context.SimpleQueue()
                arguments = (folder, options.device, dtype, 0.5, backwards, results)
                process = context.Process(target=answer, args=arguments)
                process.start()
                answers.append(results.get())
                process.join()
            (shards, seconds, engine, first), (_, _, _, second) = answers
            body[dtype] = {
                "requests": len(first),
                "shards": shards,
                "seconds": round(seconds, 1),
                "mode": engine["mode"],
                "generation": engine["generation"],
                "differing": sum(first[key] != second[key] for key in first),
            }
            print(dtype, body[dtype], flush=True)
    if options.device == "cuda":
        import torch

        body["name"], body["torch"] = torch.cuda.get_device_name(0), torch.__version__
    if options.output:
        options.output.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    if any(body[dtype]["differing"] for dtype in ("float32", "bfloat16")):
        raise SystemExit("answers differ")


if __name__ == "__main__":
    main()
