"""The whole command on a GPU, from return key to table, beside lm-eval's own class.

    python benchmarks/gpu_command.py --data_dir DATA --lm_eval_python PY --shape 8b

3,553 real documents (JCommonsenseQA 1,119 and JNLI 2,434, validation) with three examples, drawn
for each document or the same for all, and a model of random weights in bfloat16 that is written to
a folder first, with the embedded model's tokenizer. tenbin runs twice with one cache folder: the
first start makes the probe and compiles, the second finds both there and is the one compared; its
answers are taken away in between. lm-eval's class is started with the same folder and tokenizer and
answers the same requests; its time is that of start, load and answers, at each batch size. Files
are in memory on both sides. `--shape tiny --device cpu` tries the script itself.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from common import (
    Peer,
    embedded_model,
    prompts_for,
    requests_for,
    say,
    setup_facts,
    write_result,
)
from gpu_scoring import SHAPES, make_model

from tenbin.backends.base import BackendSettings
from tenbin.backends.registry import open_backend
from tenbin.records import Score

TASKS = "jcommonsenseqa-1.1-0.1,jnli-1.1-0.2"
TARGETS = {"random": 6.0, "fixed": 14.0}


def write_model(folder: Path, shape: str, device: str) -> None:
    """A model of random weights with the embedded model's tokenizer."""
    torch.manual_seed(1)
    model = make_model(shape, device, torch.bfloat16)
    # The same for every program: a special token that only one of them adds would be unequal work.
    model.config.bos_token_id, model.config.eos_token_id = 1, 2
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (found := Path(embedded_model()) / name).is_file():
            shutil.copy(found, folder / name)


def given(options: argparse.Namespace, fewshot: str) -> dict[str, Any]:
    """The options of the run."""
    return {
        "tasks": TASKS,
        "num_fewshot": 3,
        "fewshot": fewshot,
        "data_dir": options.data_dir,
        **({"limit": options.limit} if options.limit else {}),
    }


def requests_of_run(options: argparse.Namespace, folder: Path, fewshot: str) -> list[Score]:
    """What tenbin asks, as lm-eval's class will be asked it."""
    backend = open_backend(BackendSettings("hf", {"pretrained": str(folder)}, device="cpu"))
    prompts = prompts_for(backend, **given(options, fewshot))
    return [one for one in requests_for(prompts) if isinstance(one, Score)]


def command(options: argparse.Namespace, work: Path, fewshot: str, start: str) -> dict[str, Any]:
    """Seconds of a whole process of tenbin, and where they went."""
    cache = work / f"cache-{fewshot}"
    shutil.rmtree(cache / "journal", ignore_errors=True)
    output = work / f"{fewshot}-{start}.json"
    flags = [
        *("run", "--model", "hf", "--model_args", f"pretrained={work / 'model'},{options.engine}"),
        *("--device", options.device, "--dtype", "bfloat16", "--cache_dir", str(cache)),
        *("--output_path", str(output)),
    ]
    for name, value in given(options, fewshot).items():
        flags += [f"--{name}", str(value)]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "tenbin", *flags],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"tenbin failed:\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    document = json.loads(output.read_text(encoding="utf-8"))
    say(f"{fewshot}, {start}: {seconds:.1f} s {document['timing']}")
    return {"seconds": seconds, "stages": document["timing"], "engine": document["model"]["engine"]}


def peer(
    options: argparse.Namespace, folder: Path, requests: Sequence[Score], sizes: Sequence[int]
) -> dict[str, Any]:
    """Seconds of lm-eval's class for the same requests, by batch size."""
    items = [[one.prompt, text] for one in requests for text in one.continuations]
    opened = Peer(options.lm_eval_python, "lm_eval", str(folder), "bfloat16", options.device)
    # Kernels of the first product are loaded then; tenbin's own count, as its process is whole.
    opened.ask("loglikelihood", items[:2], batch_size=1)
    answers = {}
    for size in sizes:
        answers[size] = opened.ask("loglikelihood", items, batch_size=size)["wall"]
        say(f"lm-eval, batch {size}: {answers[size]:.1f} s after {opened.start_seconds:.1f} s")
    opened.close()
    start = opened.start_seconds
    return {
        "start": start,
        "answers": answers,
        "seconds": {size: start + seconds for size, seconds in answers.items()},
        "versions": opened.versions,
    }


def main() -> None:
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--data_dir", required=True, help="the folder that holds jglue_v1.1/")
    flags.add_argument("--lm_eval_python", required=True, help="an interpreter with lm-eval")
    flags.add_argument("--shape", choices=SHAPES, default="8b")
    flags.add_argument("--device", default="cuda")
    flags.add_argument("--limit", type=int, help="documents a task, to try the script")
    flags.add_argument("--examples", nargs="+", choices=TARGETS, default=list(TARGETS))
    flags.add_argument("--batch_sizes", type=int, nargs="+", default=[32, 64])
    flags.add_argument("--engine", default="compile=auto", help="further model arguments")
    flags.add_argument("--output_dir", type=Path, default=Path("benchmarks/results"))
    options = flags.parse_args()
    options.data_dir = str(Path(options.data_dir).resolve())
    body: dict[str, Any] = {"what": "whole command", "shape": options.shape, "targets": TARGETS}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        write_model(work / "model", options.shape, options.device)
        for name in options.examples:
            requests = requests_of_run(options, work / "model", name)
            starts = {s: command(options, work, name, s) for s in ("first", "second")}
            other = peer(options, work / "model", requests, options.batch_sizes)
            ours, theirs = starts["second"]["seconds"], min(other["seconds"].values())
            body[name] = {
                "requests": len(requests),
                "tenbin": starts,
                "lm_eval": other,
                "ratio": round(theirs / ours, 2),
            }
            say(f"{name} examples: {theirs:.1f} s / {ours:.1f} s = {theirs / ours:.2f}")
    body["device"] = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    body["setup"] = setup_facts(lm_eval=other["versions"])
    write_result(options.output_dir, f"gpu_command_{options.shape}", body)


if __name__ == "__main__":
    main()
