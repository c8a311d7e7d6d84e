"""How time and memory grow with the number of documents, from 100 to 10,000.

Each size is a process of its own that does a whole run (read, plan, ask, judge, write), with the
scripted backend and with a tiny Llama of random weights through the hf backend. The rows are
JCommonsenseQA's validation and training rows together, 10,058 real questions; examples come from
its training rows.

    python benchmarks/growth.py --data_dir DATA
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import parser, peak_mib, say, setup_facts, write_result

from tenbin.backends.base import Backend
from tenbin.backends.scripted import ScriptedBackend
from tenbin.config import build_config
from tenbin.data import DataChoice, load_documents
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.records import Dataset

SIZES = (100, 300, 1000, 3000, 10_000)
_RAW = ("question", "choice0", "choice1", "choice2", "choice3", "choice4", "label")


def write_rows(folder: Path, data_dir: str) -> None:
    """A data folder whose validation split has all rows there are."""
    choice = DataChoice(data_dir=Path(data_dir), offline=True)
    place = folder / "jglue_v1.1" / "jcommonsenseqa"
    place.mkdir(parents=True)
    rows: dict[str, list[str]] = {}
    for split in ("train", "validation"):
        documents = load_documents(Dataset("jglue/jcommonsenseqa"), split, choice).documents
        start = 0 if split == "train" else 100_000
        rows[split] = [
            json.dumps({"q_id": start + at, **{name: d.fields[name] for name in _RAW}})
            for at, d in enumerate(documents)
        ]
    rows["validation"] += rows["train"]
    for split, lines in rows.items():
        (place / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def tiny_model() -> Backend:
    import torch
    from tiny_models import make_tiny, make_tokenizer

    from tenbin.backends.hf.backend import HfBackend

    torch.set_num_threads(1)  # the model is too small to gain by more
    tokenizer = make_tokenizer()
    model = make_tiny("llama", len(tokenizer), "cpu")
    return HfBackend.from_model(model, tokenizer)


def one_size(backend_name: str, documents: int, folder: str) -> None:
    """A run of one size, within a process of its own; prints what it took."""
    backend = ScriptedBackend() if backend_name == "scripted" else tiny_model()
    shots = 3 if backend_name == "scripted" else 1
    with tempfile.TemporaryDirectory() as output:

        def run(limit: int, attempt: int = 0) -> float:
            options = {
                "tasks": "jcommonsenseqa-1.1-0.1",
                "num_fewshot": shots,
                "limit": limit,
                "data_dir": folder,
                "cache_dir": f"{output}/cache-{limit}-{attempt}",
                "output_path": f"{output}/{limit}.json",
            }
            began = time.perf_counter()
            execute(build_config(options), Listener(), backend)
            return time.perf_counter() - began

        run(20)  # libraries, templates, the engine's own choice
        before = peak_mib()
        fixed = min(run(1, at) for at in range(5))  # reading all rows, whatever the limit
        took = min(run(documents, at) for at in range(max(1, 1000 // documents)))
    print(
        json.dumps(
            {
                "documents": documents,
                "seconds": round(took, 3),
                "seconds_for_one_document": round(fixed, 3),
                "milliseconds_a_document": round((took - fixed) / (documents - 1) * 1000, 3),
                "peak_mib": round(peak_mib(), 1),
                "peak_mib_after_20_documents": round(before, 1),
            }
        )
    )


def main() -> None:
    if sys.argv[1:2] == ["--one_size"]:
        one_size(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    options = _flags()
    body: dict[str, Any] = {
        "what": "time a document and peak memory by number of documents",
        "scripted": [],
        "tiny hf": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), options.data_dir)
        for name in ("scripted", "tiny hf"):
            for size in options.sizes if name == "scripted" else options.hf_sizes:
                done = subprocess.run(
                    [sys.executable, __file__, "--one_size", name, str(size), folder],
                    capture_output=True,
                    text=True,
                )
                if done.returncode:
                    raise SystemExit(done.stderr[-3000:])
                body[name].append(json.loads(done.stdout.splitlines()[-1]))
                say(f"{name}: {body[name][-1]}")
                body["setup"] = setup_facts()
                write_result(options.output_dir, "growth", body)


def _flags() -> argparse.Namespace:
    flags = parser(__doc__ or "")
    flags.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    flags.add_argument("--hf_sizes", type=int, nargs="+", default=SIZES)
    return flags.parse_args()


if __name__ == "__main__":
    main()
