"""Write down what lm-eval says of the sample texts under SmolLM2-135M, for tests/golden.

Runs in an environment with lm-eval 0.4.13, which tenbin itself never imports:

    python benchmarks/oracle_perplexity.py FOLDER tests/golden/lm_eval_perplexities.json

FOLDER is the converted embedded model, a folder of the form ~/.cache/tenbin/models/<hash>-v1. The
windows are the model's own and two that are shorter than the texts. lm-eval's word_perplexity of
the Japanese texts is beyond a float and ends it, so that it is asked for the English ones alone.
Each run is made in float32 and in float64: torch's log_softmax in float32 is off by about 4e-6 a
token, always to the same side, which sums up over a text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM

TEXTS = Path(__file__).parents[1] / "src/tenbin/catalog/sample_data/plain_text"
METRICS = {
    "en": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
    "ja": ("byte_perplexity", "bits_per_byte"),
}
WINDOWS = (None, 100, 37)
TYPES = ("float32", "float64")


def ask(folder: str, language: str, window: int | None, dtype: str) -> dict[str, Any]:
    """One run of lm-eval over one file of texts."""
    path = TEXTS / language / "test.jsonl"
    task = {
        "task": f"texts_{language}",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(path)}},
        "output_type": "loglikelihood_rolling",
        "test_split": "test",
        "doc_to_text": "",
        "doc_to_target": "{{text}}",
        "metric_list": [{"metric": metric} for metric in METRICS[language]],
    }
    model = HFLM(pretrained=folder, dtype=dtype, device="cpu", batch_size=1, max_length=window)
    found = simple_evaluate(model=model, tasks=[task], log_samples=True)
    scores = found["results"][task["task"]]
    samples = found["samples"][task["task"]]
    return {
        "language": language,
        "max_length": model.max_length,
        "dtype": dtype,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "scores": {metric: scores[f"{metric},none"] for metric in METRICS[language]},
        "logprobs": {sample["doc"]["id"]: sample["filtered_resps"][0] for sample in samples},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(2)
    golden = {
        "model": "SmolLM2-135M-Instruct.Q4_1.gguf, dequantised, cpu",
        "versions": {name: version(name) for name in ("lm_eval", "transformers", "torch")},
        "runs": [
            ask(options.folder, language, window, dtype)
            for language in METRICS
            for window in WINDOWS
            for dtype in TYPES
        ],
    }
    body = json.dumps(golden, ensure_ascii=False, indent=1)
    options.output.write_text(body + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
