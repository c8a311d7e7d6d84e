"""The whole command on a GPU, from return key to table, beside lm-eval's own class.

    python benchmarks/gpu_command.py --data_dir DATA --lm_eval_python PY --shape 8b

3,553 real documents (JCommonsenseQA 1,119 and JNLI 2,434, validation) with three examples, drawn
for each document or the same for all, and a model of random weights in bfloat16 that is written to
a folder first, with the embedded model's tokenizer. tenbin starts once to fill its cache folder
(hashes of files, the probe, compiled kernels); a second start, which finds those there and none of
the answers, is the one compared. lm-eval's class is started with the same folder and tokenizer and
answers the same requests; its time is that of start, load and answers. Batch sizes are tried on
every 16th document, and the fastest answers all; `--one_of 4` asks every fourth document and counts
the answers' time four times. Files are in memory on both sides.
`--shape tiny --device cpu` tries the script itself.
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


TRIED = 16
"""One of so many documents is asked to find the batch size."""
FEW = 20
"""Documents a task of the start that fills the cache folder."""


def write_model(folder: Path, shape: str, device: str, tokenizer: Path) -> None:
    """A model of random weights with a real tokenizer."""
    torch.manual_seed(1)
    model = make_model(shape, device, torch.bfloat16)
    # The same for every program: a special token that only one of them adds would be unequal work.
    model.config.bos_token_id, model.config.eos_token_id = 1, 2
    model.save_pretrained(folder, max_shard_size="5GB")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (found := tokenizer / name).is_file():
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
    cache = str(folder.parent / "cache")  # knows the hashes of the files
    settings = BackendSettings("hf", {"pretrained": str(folder)}, device="cpu", cache_dir=cache)
    backend = open_backend(settings)
    prompts = prompts_for(backend, **given(options, fewshot))
    return [one for one in requests_for(prompts) if isinstance(one, Score)]


def command(options: argparse.Namespace, work: Path, fewshot: str, start: str) -> dict[str, Any]:
    """Seconds of a whole process of tenbin, and where they went."""
    cache = work / "cache"
    shutil.rmtree(cache / "journal", ignore_errors=True)
    output = work / f"{fewshot}-{start}.json"
    flags = [
        *("run", "--model", "hf", "--model_args", f"pretrained={work / 'model'},{options.engine}"),
        *("--device", options.device, "--dtype", "bfloat16", "--cache_dir", str(cache)),
        *("--output_path", str(output)),
    ]
    settings = given(options, fewshot) | ({"limit": FEW} if start == "first" else {})
    for name, value in settings.items():
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
    """Seconds of lm-eval's class for the same requests, at the fastest of some batch sizes.

    `--one_of` asks some documents and counts their time as often; one size is not looked for again.
    """
    opened = Peer(options.lm_eval_python, "lm_eval", str(folder), "bfloat16", options.device)

    def answer(some: Sequence[Score], size: int) -> float:
        items = [[one.prompt, text] for one in some for text in one.continuations]
        return float(opened.ask("loglikelihood", items, batch_size=size)["wall"])

    # Kernels of the first products are loaded then; tenbin's own count, as its process is whole.
    answer(requests[:8], 8)
    tried = {size: answer(requests[::TRIED], size) for size in sizes} if len(sizes) > 1 else {}
    best = min(tried, key=lambda size: tried[size]) if tried else sizes[0]
    say(f"lm-eval, start {opened.start_seconds:.1f} s, one of {TRIED} documents: {tried}")
    some = requests[:: options.one_of]
    seconds = answer(some, best) * len(requests) / len(some)
    say(f"lm-eval, batch {best}: {seconds:.1f} s")
    opened.close()
    return {
        "start": opened.start_seconds,
        "tried": tried,
        "batch_size": best,
        "asked": len(some),
        "answers": seconds,
        "seconds": opened.start_seconds + seconds,
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
    flags.add_argument("--tokenizer", type=Path, help="a folder with one; else the embedded one")
    flags.add_argument(
        "--one_of",
        type=int,
        default=1,
        metavar="N",
        help="of the second kind of examples ask lm-eval one of N documents, times N",
    )
    flags.add_argument("--skip_peer", action="store_true", help="time tenbin alone")
    flags.add_argument("--output_dir", type=Path, default=Path("benchmarks/results"))
    options = flags.parse_args()
    options.data_dir = str(Path(options.data_dir).resolve())
    body: dict[str, Any] = {
        "what": "whole command",
        "shape": options.shape,
        "targets": TARGETS,
        "sizes": [],
    }
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        tokenizer = options.tokenizer or Path(embedded_model())
        write_model(work / "model", options.shape, options.device, tokenizer)
        os.sync()  # a disk that is still busy with it would hold up journals and imports
        say("the model is written")
        for name in options.examples:
            wanted = ("second",) if (work / "cache").exists() else ("first", "second")
            starts = {start: command(options, work, name, start) for start in wanted}
            body[name] = {"tenbin": starts}
            if options.skip_peer:
                continue
            requests = requests_of_run(options, work / "model", name)
            sizes = body["sizes"][-1:] or options.batch_sizes
            other = peer(options, work / "model", requests, sizes)
            body["sizes"].append(other["batch_size"])
            ours, theirs = starts["second"]["seconds"], other["seconds"]
            ratio = round(theirs / ours, 2)
            body[name] |= {"requests": len(requests), "lm_eval": other, "ratio": ratio}
            versions |= other["versions"]
            say(f"{name} examples: {theirs:.1f} s / {ours:.1f} s = {ratio}")
    body["device"] = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    body["setup"] = setup_facts(lm_eval=versions)
    write_result(options.output_dir, f"gpu_command_{options.shape}", body)


if __name__ == "__main__":
    main()
