"""What a sweep over all templates costs, beside running the templates one by one.

Both as a user starts them, each a process of its own: one `tenbin sweep`, and one `tenbin run` for
each template. SmolLM2-135M in float32 on the CPU, real documents, no journal.

    python benchmarks/sweep_cost.py --data_dir DATA --tasks jcommonsenseqa-1.1 jnli-1.1
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import HERE, embedded_model, parser, say, setup_facts, write_result

from tenbin.config import build_config
from tenbin.pipeline.cells.choose import choose_cells


def process(*words: str) -> dict[str, float]:
    """Run a command of tenbin; the time it took by the clock and on the processor."""
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", "import sys; from tenbin.cli import main; sys.exit(main())", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(HERE.parent / "src")},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": time.perf_counter() - wall, "cpu": cpu}


def main() -> None:
    flags = parser(__doc__ or "")
    flags.add_argument("--tasks", nargs="+", default=["jcommonsenseqa-1.1", "jnli-1.1"])
    flags.add_argument("--documents", type=int, default=12)
    flags.add_argument("--shots", type=int, default=2)
    options = flags.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        common = [
            "--model", "hf", "--model_args", f"pretrained={embedded_model()}", "--device", "cpu",
            "--dtype", "float32", "--num_fewshot", str(options.shots),
            "--limit", str(options.documents), "--data_dir", options.data_dir, "--no_cache",
        ]  # fmt: skip
        config = build_config(
            {"tasks": ",".join(options.tasks), "templates": "all", "num_fewshot": options.shots}
        )
        ids = [setup.cell.id for setup in choose_cells(config)]
        tasks = ["--tasks", ",".join(options.tasks)]
        swept = Path(folder) / "sweep.json"
        say(f"{len(ids)} templates in one sweep")
        sweep = process("sweep", *common, *tasks, "--output_path", str(swept))
        say(f"  {sweep['wall']:.1f} s")
        single: dict[str, dict[str, float]] = {}
        same = True
        scores = json.loads(swept.read_text())["results"]
        for id in ids:
            out = Path(folder) / f"{id}.json"
            single[id] = process("run", *common, "--tasks", id, "--output_path", str(out))
            same &= json.loads(out.read_text())["results"][id] == scores[id]
            say(f"  {id}: {single[id]['wall']:.1f} s")
    total = {kind: sum(times[kind] for times in single.values()) for kind in ("wall", "cpu")}
    body: dict[str, Any] = {
        "what": f"all templates of {' and '.join(options.tasks)}, {options.shots}-shot, "
        "SmolLM2-135M float32",
        "documents": options.documents,
        "templates": len(ids),
        "sweep": sweep,
        "one_by_one": single,
        "one_by_one_total": total,
        "ratio_wall": round(sweep["wall"] / total["wall"], 2),
        "ratio_cpu": round(sweep["cpu"] / total["cpu"], 2),
        "scores_equal": same,
        "setup": setup_facts(),
    }
    say(f"the sweep takes {body['ratio_wall']} of the time (processor time {body['ratio_cpu']})")
    write_result(options.output_dir, "sweep_cost", body)


if __name__ == "__main__":
    main()
