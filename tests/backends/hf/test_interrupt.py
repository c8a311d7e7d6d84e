"""A run of the hf engine that is told to end while it computes."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import tenbin
from tests.backends.tiny import make_model, make_tokenizer
from tests.stopped import start, stop, wait_for

SLOW = """
import tenbin.pipeline.partial_scores
tenbin.pipeline.partial_scores._SECONDS_BETWEEN = 0.0
import time
import torch
original = torch.nn.Module.__call__
def slow(self, *arguments, **options):
    if type(self).__name__.endswith("ForCausalLM"):
        time.sleep(0.1)
    return original(self, *arguments, **options)
torch.nn.Module.__call__ = slow
"""


def _answered(folder: Path) -> int:
    try:
        return int(json.loads((folder / "r.run" / "progress.json").read_text())["answered"])
    except (OSError, ValueError):
        return 0


def test_a_stopped_run_is_partial_and_goes_on(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(add_bos=True)
    model = make_model("llama", len(tokenizer))
    model.config.max_position_embeddings = 4096
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    arguments = ["run", "--model", "hf", "--model_args", "pretrained=model,engine=plain"]
    arguments += ["--batch_size", "1", "--device", "cpu", "--tasks", "jnli", "--sample_data"]
    arguments += ["--limit", "8", "--output_path", "r.json"]
    process = start(arguments, tmp_path, SLOW)
    wait_for(lambda: _answered(tmp_path) >= 2, process)
    _, said = stop(process, signal.SIGTERM)
    assert process.returncode == 143 and "a partial result of" in said, said
    stopped = tenbin.load_run(tmp_path / "r.json")
    assert stopped.document["partial"] is True and 2 <= len(stopped.samples) < 8

    given = {
        "model_args": {"pretrained": str(tmp_path / "model"), "engine": "plain"},
        "batch_size": 1,
        "limit": 8,
        "device": "cpu",
        "sample_data": True,
        "output_path": str(tmp_path / "r.json"),
        "cache_dir": str(tmp_path / "cache"),
    }
    again = tenbin.evaluate("hf", "jnli", **given)
    assert again.document["partial"] is False
    assert again.document["answers_from_journal"] >= len(stopped.samples)
    before = {sample["document"]: sample["logprobs"] for sample in stopped.samples}
    after = {sample["document"]: sample["logprobs"] for sample in again.samples}
    assert before.items() <= after.items(), "what was answered before stays as it was"
