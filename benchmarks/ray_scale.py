"""What workers cost and bring: carrying requests, two cores instead of one, sharing, memory.

    python benchmarks/ray_scale.py --data_dir DATA [--parts carrying speed sharing driver]

carrying  5,000 requests of a scripted backend, which answers in no time: what remains is Ray's
speed     SmolLM2-135M in float32 on one and on two workers of one thread each
sharing   distinct tokens of all templates of two tasks, whole and cut into shards
driver    whole runs of 1,000 to 200,000 documents, each in a process of its own: memory, room on
          disk, and how many documents a second the driver prepares, writes into the journal,
          judges and records
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from common import (
    open_model,
    parser,
    peak_mib,
    prompts_for,
    requests_for,
    say,
    setup_facts,
    wait_for_quiet,
    write_result,
)

from tenbin.backends.base import Backend, BackendSettings, Workers
from tenbin.backends.ray.sharding import cut
from tenbin.backends.registry import open_backend
from tenbin.config import build_config
from tenbin.pipeline.progress import Listener
from tenbin.records import Request

PARTS = ("carrying", "speed", "sharing", "driver")
SIZES = (1_000, 10_000, 50_000, 200_000)


def on_workers(
    settings: BackendSettings, count: int, size: int, warm: Sequence[Request]
) -> Backend:
    """A backend whose workers have answered something already, all of them."""
    backend = open_backend(replace(settings, workers=Workers(count, shard_size=size)))
    list(backend.run(warm))
    return backend


def seconds(backend: Backend, requests: Sequence[Request]) -> float:
    began = time.perf_counter()
    assert len(dict(backend.run(requests))) == len(requests)
    return time.perf_counter() - began


def carrying(data_dir: str) -> dict[str, Any]:
    """Milliseconds that a request takes on its way."""
    scripted = BackendSettings("scripted")
    alone = open_backend(scripted)
    prompts = prompts_for(
        alone, tasks="jcommonsenseqa-1.1-0.2", num_fewshot=3, data_dir=data_dir, split="train"
    )
    requests = requests_for(prompts)[:5_000]
    found: dict[str, Any] = {
        "requests": len(requests),
        "characters": sum(len(request.place[1]) for request in requests),
        "without_ray_seconds": min(seconds(alone, requests) for _ in range(3)),
    }
    for count in (1, 2, 4):
        backend = on_workers(scripted, count, 256, requests[:1_000])
        best = min(seconds(backend, requests) for _ in range(3))
        backend.close()
        extra = (best - found["without_ray_seconds"]) / len(requests)
        found[f"workers_{count}"] = {
            "seconds": round(best, 3),
            "requests_per_second": round(len(requests) / best),
            "milliseconds_more_a_request": round(1000 * extra, 4),
        }
        say(f"carrying: {count} workers: {found[f'workers_{count}']}")
    return found


def speed(data_dir: str) -> dict[str, Any]:
    """One worker and two, of one thread each."""
    arguments = {"pretrained": "smollm2-135m"}
    settings = BackendSettings("hf", arguments, device="cpu", dtype="float32")
    prompts = prompts_for(
        open_backend(settings), tasks="jcommonsenseqa-1.1-0.2", limit=48, data_dir=data_dir
    )
    requests = requests_for(prompts)
    found: dict[str, Any] = {"requests": len(requests), "shard_size": 8}
    for count in (1, 2):
        backend = on_workers(settings, count, 8, requests[:16])
        wait_for_quiet(20.0)
        took = [seconds(backend, requests) for _ in range(2)]
        backend.close()
        found[f"workers_{count}_seconds"] = [round(one, 2) for one in took]
        say(f"speed: {count} workers: {took}")
    one, two = (min(found[f"workers_{count}_seconds"]) for count in (1, 2))
    return {**found, "speed_up": round(one / two, 2)}


def sharing(data_dir: str) -> dict[str, Any]:
    """Distinct tokens with and without the cut."""
    backend = open_model("float32")
    tokenizer: Any = backend.capabilities.tokenizer
    found: dict[str, Any] = {}
    for task in ("jcommonsenseqa-1.1-*", "jnli-1.1-*"):
        for fewshot in ("random", "fixed"):
            prompts = prompts_for(
                backend, tasks=task, num_fewshot=3, fewshot=fewshot, limit=400, data_dir=data_dir
            )
            requests = requests_for(prompts)
            ids = dict(
                zip(
                    (request.key for request in requests),
                    tokenizer.inner([r.place[1] for r in requests])["input_ids"],
                    strict=True,
                )
            )
            shards = list(cut(sorted(requests, key=lambda request: request.place), 256))
            whole = distinct(ids[request.key] for request in requests)
            parts = sum(distinct(ids[request.key] for request in shard) for shard in shards)
            found[f"{task}, {fewshot} examples"] = {
                "requests": len(requests),
                "shards": len(shards),
                "tokens": sum(map(len, ids.values())),
                "distinct_tokens": whole,
                "distinct_tokens_in_shards": parts,
                "more": round(parts / whole - 1, 4),
            }
            say(f"sharing: {task} {fewshot}: {found[f'{task}, {fewshot} examples']}")
    return found


def distinct(rows: Iterable[Sequence[int]]) -> int:
    """Nodes of the prefix tree of some rows."""
    total, before = 0, ()
    for row in sorted(map(tuple, rows)):
        same = 0
        for one, other in zip(row, before, strict=False):
            if one != other:
                break
            same += 1
        total += len(row) - same
        before = row
    return total


def driver(data_dir: str, sizes: Sequence[int]) -> dict[str, Any]:
    """Whole runs of growing size, with workers and without."""
    found: dict[str, Any] = {"workers_2": [], "without_ray": []}
    for name in ("workers_2", "without_ray"):
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                write_many_rows(Path(folder), data_dir, size)
                arguments = ["--one_size", name, str(size), folder]
                done = subprocess.run(
                    [sys.executable, __file__, *arguments], capture_output=True, text=True
                )
                if done.returncode:
                    raise SystemExit(done.stderr[-3000:])
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
                say(f"driver: {name}: {found[name][-1]}")
        for one, other in pairwise(found[name]):
            grown = (other["peak_mib"] - one["peak_mib"]) * 2**20
            between = other["documents"] - one["documents"]
            other["bytes_a_further_document"] = round(grown / between)
    return found


def write_many_rows(folder: Path, data_dir: str, count: int) -> None:
    """A validation split of so many different questions, made of the real ones."""
    from growth import write_rows

    write_rows(folder, data_dir)
    file = folder / "jglue_v1.1" / "jcommonsenseqa" / "validation.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    lines = []
    for at in range(count):
        row = dict(rows[at % len(rows)], q_id=at)
        row["question"] += f"（{at}）" if at >= len(rows) else ""
        lines.append(json.dumps(row, ensure_ascii=False))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def one_size(name: str, documents: int, folder: str) -> None:
    """One run, within a process of its own; prints times and memory."""
    from tenbin.journal.store import Journal
    from tenbin.pipeline import finish
    from tenbin.pipeline import run as pipeline
    from tenbin.pipeline.judge import Judge

    spent: dict[str, float] = {}

    def clocked(owner: Any, attribute: str, part: str) -> None:
        original = getattr(owner, attribute)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            began = time.process_time()
            try:
                return original(*arguments, **options)
            finally:
                spent[part] = spent.get(part, 0.0) + time.process_time() - began

        setattr(owner, attribute, wrapped)

    clocked(pipeline, "_plan", "prompts and plan")
    clocked(Journal, "write", "journal")
    for part in ("judge_fresh", "judge_rest"):
        clocked(Judge, part, "judge and record")
    for part in ("summarise_cells", "write_run"):
        clocked(finish, part, "judge and record")
    with tempfile.TemporaryDirectory() as output:
        given: dict[str, Any] = {
            "model": "scripted",
            "tasks": "jcommonsenseqa-1.1-0.1",
            "num_fewshot": 3,
            "limit": documents,
            "data_dir": folder,
            "cache_dir": f"{output}/cache",
            "output_path": f"{output}/result.json",
        }
        if name == "workers_2":
            given["workers"] = 2
        began, cpu = time.perf_counter(), time.process_time()
        finished = pipeline.execute(build_config(given), Listener())
        took, busy = time.perf_counter() - began, time.process_time() - cpu
        scratch = unnamed_files()
        assert len(finished.judged) == documents
    rates = {f"{part}, documents/s": round(documents / one) for part, one in spent.items()}
    print(
        json.dumps(
            {
                "documents": documents,
                "seconds": round(took, 2),
                "driver_cpu_seconds": round(busy, 2),
                "peak_mib": round(peak_mib(), 1),
                "scratch_bytes_a_document": round(scratch / documents),
                **rates,
            }
        )
    )


def unnamed_files() -> int:
    """Bytes of the files without a name that this process holds (Linux)."""
    total = 0
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if str(link.readlink()).endswith("(deleted)"):
                total += link.stat().st_size
    return total


def main() -> None:
    if sys.argv[1:2] == ["--one_size"]:
        one_size(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    flags = parser(__doc__ or "")
    flags.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    flags.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = flags.parse_args()
    file = options.output_dir / "ray_scale.json"
    body: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
    for part in options.parts:
        extra = (options.sizes,) if part == "driver" else ()
        body[part] = globals()[part](options.data_dir, *extra)
        body["setup"] = {**setup_facts(), "load": os.getloadavg()}
        write_result(options.output_dir, "ray_scale", body)


if __name__ == "__main__":
    main()
