"""The documented command, end to end, with the real small model.

Every log-likelihood it wrote is computed again here by the plainest means: logits over all
positions of one row. The first choice of a document is one forward pass; the others continue from
its cache, as transformers keeps it, cut at the end of the prompt.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tests.conftest import ROOT

TASKS = "jsquad-1.1-0.3,jcommonsenseqa-1.1-0.3,jnli-1.1-0.3,marc_ja-1.1-0.3"

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tenbin.Run:
    folder = tmp_path_factory.mktemp("documented")
    command = [
        sys.executable, str(ROOT / "main.py"), "--model", "hf-causal",
        "--model_args", "pretrained=smollm2-135m", "--tasks", TASKS, "--num_fewshot", "2,3,3,3",
        "--device", "cpu", "--output_path", "result.json",
        "--sample_data", "--limit", "1", "--no_cache",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "jsquad-1.1-0.3" in done.stdout
    return tenbin.load_run(folder / "result.json")


@pytest.fixture(scope="module")
def plain() -> tuple[Any, Any]:
    """The model and its tokenizer, loaded by transformers from the converted folder."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tenbin.backends.base import BackendSettings
    from tenbin.backends.registry import open_tokenizer

    wrapped: Any = open_tokenizer(BackendSettings("hf", {"pretrained": "smollm2-135m"}))
    folder = wrapped.inner.name_or_path
    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def test_what_was_asked(run: tenbin.Run) -> None:
    assert list(run.scores) == TASKS.split(",")
    assert list(run.document["n-shot"].values()) == [2, 3, 3, 3]
    assert run.document["model"]["dtype"] == "float32"
    assert run.document["engine"]["name"] == "hf"
    assert run.document["failures"] == {}
    assert json.dumps(run.document, allow_nan=False)


def test_every_log_likelihood_is_that_of_a_plain_forward_pass(
    run: tenbin.Run, plain: tuple[Any, Any]
) -> None:
    import torch

    model, tokenizer = plain
    checked = 0
    for sample in run.samples:
        if sample["continuations"] is None:
            continue
        start = len(tokenizer(sample["prompt"].rstrip())["input_ids"])
        cache: Any = None
        rows = (sample["continuations"], sample["logprobs"], sample["greedy"])
        for text, logprob, greedy in zip(*rows, strict=True):
            whole = tokenizer(sample["prompt"] + text)["input_ids"]
            known = 0
            if cache is not None:
                # Without the last token of the prompt, whose logits the first of the choice needs.
                known = start - 1
                cache.crop(known - cache.get_seq_length())
            with torch.no_grad():
                found = model(torch.tensor([whole[known:]]), past_key_values=cache, use_cache=True)
            cache = found.past_key_values
            logits = found.logits[0].float()
            expected = torch.log_softmax(logits[start - 1 - known : -1], dim=-1)
            targets = torch.tensor(whole[start:])
            assert logprob == pytest.approx(
                float(expected.gather(1, targets[:, None]).sum()), abs=1e-4
            )
            assert greedy == bool((expected.argmax(-1) == targets).all())
            checked += 1
    assert checked == 5 + 3 + 2


def test_the_generated_answer_is_greedy(run: tenbin.Run, plain: tuple[Any, Any]) -> None:
    import torch

    model, tokenizer = plain
    (sample,) = [s for s in run.samples if s["task"] == "jsquad"]
    ids = tokenizer(sample["prompt"], return_tensors="pt")
    with torch.no_grad():
        out = model.generate(**ids, max_new_tokens=24, do_sample=False, pad_token_id=0)
    text = tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
    assert sample["generated"][: len(text.split("\n")[0])] == text.split("\n")[0]


def test_samples_lie_beside(run: tenbin.Run) -> None:
    assert run.path is not None
    assert (Path(run.path) / "samples.parquet").is_file()
