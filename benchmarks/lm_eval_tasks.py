"""lm-eval's own task files, run by both programs: the whole command, from its start to its result.

SmolLM2-135M in float32 on the CPU, the same real rows, three kinds of work: choices after a common
prefix (mmlu's continuation form, 5-shot, rows of JMMLU), short texts without examples (xnli), and
generation (mgsm). lm-eval at the fastest of some batch sizes, tried on a few documents. Both
programs have run once before with the model: files are in memory, tenbin's verdict about its engine
and its index of task files are in its cache; its answers are not.

    python benchmarks/lm_eval_tasks.py --data_dir DATA --lm_eval_python PY --work mmlu|xnli|mgsm_cot
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import (
    HERE,
    QUIET,
    embedded_model,
    least_disturbed,
    parser,
    say,
    setup_facts,
    write_result,
)

sys.path.insert(0, str(HERE / "parity"))

from rows import read, write


@dataclass(frozen=True, slots=True)
class Work:
    """One command."""

    task: str
    shots: int
    documents: int
    metric: str
    """As both programs name it."""
    target: float
    what: str
    gen_kwargs: str = ""
    batch_sizes: tuple[int, ...] = (1, 4, 16)
    tune_documents: int = 4


WORKS = {
    "mmlu": Work(
        "mmlu_high_school_mathematics_continuation",
        5,
        44,
        "acc",
        15.0,
        "mmlu's continuation form, 5-shot (first_n), rows of JMMLU",
        batch_sizes=(1, 4),
        tune_documents=2,
    ),
    "mmlu_letters": Work(
        "mmlu_high_school_mathematics",
        5,
        60,
        "acc",
        5.0,
        "mmlu with letters, 5-shot (first_n), rows of JMMLU",
        tune_documents=4,
    ),
    "xnli": Work("xnli_en", 0, 120, "acc", 2.5, "xnli_en, 0-shot", tune_documents=16),
    "mgsm": Work(
        "mgsm_direct_ja",
        0,
        24,
        "exact_match,flexible-extract",
        2.0,
        "mgsm_direct_ja, 0-shot, at most 64 new tokens",
        gen_kwargs="max_gen_toks=64",
        batch_sizes=(1, 4, 12),
        tune_documents=12,
    ),
    "mgsm_cot": Work(
        "mgsm_native_cot_ja",
        0,
        24,
        "exact_match,flexible-extract",
        3.0,
        "mgsm_native_cot_ja, 0-shot, at most 256 new tokens",
        gen_kwargs="max_gen_toks=256",
        batch_sizes=(4, 12, 24),
        tune_documents=24,
    ),
    "mgsm_fewshot": Work(
        "mgsm_direct_ja",
        5,
        20,
        "exact_match,flexible-extract",
        2.0,
        "mgsm_direct_ja, 5-shot, at most 64 new tokens",
        gen_kwargs="max_gen_toks=64",
        batch_sizes=(1, 4),
        tune_documents=4,
    ),
}


def write_data(folder: Path, shared: Path, work: str, documents: int) -> None:
    """The rows of one work, under the data set name of its task."""
    if work.startswith("mmlu"):
        rows = [
            {
                "question": row["question"],
                "subject": row["subject"],
                "choices": [row[letter] for letter in "ABCD"],
                "answer": "ABCD".index(row["answer"]),
            }
            for row in read(shared / "jmmlu/test.jsonl.gz", 0, None)
            if row["subject"] == "high_school_mathematics"
        ]
        base = folder / "cais/mmlu/high_school_mathematics"
        write(base / "dev.jsonl", rows[:5])
        write(base / "test.jsonl", rows[5 : 5 + documents])
    elif work == "xnli":
        base = folder / "facebook/xnli/en"
        rows = read(shared / "xnli/en/validation.jsonl.gz", 0, documents + 8)
        write(base / "validation.jsonl", rows[:documents])
        write(base / "train.jsonl", rows[documents:])
    else:
        base = folder / "juletxara/mgsm/ja"
        write(base / "test.jsonl", read(shared / "mgsm/ja/test.jsonl.gz", 0, documents))
        write(base / "train.jsonl", read(shared / "mgsm/ja/train.jsonl.gz", 0, None))


class Commands:
    """Both command lines for one work."""

    def __init__(self, work: Work, folder: Path, lm_eval_python: str) -> None:
        self.work, self.folder, self.python = work, folder, lm_eval_python
        self.model = embedded_model()
        self.tasks = _output(lm_eval_python, "import lm_eval.tasks as t; print(t.__path__[0])")
        self.scores: dict[str, float] = {}

    def tenbin(self, limit: int | None = None) -> dict[str, float]:
        cache, output = self.folder / "cache", self.folder / "tenbin.json"
        # The verdict stays, the answers go: they would spare the model.
        shutil.rmtree(cache / "journal", ignore_errors=True)
        times = self._timed(
            [
                *(sys.executable, "-m", "tenbin", "run", "--model", "hf"),
                *("--model_args", f"pretrained={self.model}", "--dtype", "float32"),
                *("--device", "cpu", "--tasks", self.work.task),
                *("--num_fewshot", str(self.work.shots), "--include_path", self.tasks),
                *("--trust_tasks", "--profile", "lm-eval", "--data_dir", str(self.folder / "data")),
                *("--cache_dir", str(cache), "--output_path", str(output)),
                *("--overwrite", "--offline"),
                *self._common(limit),
            ]
        )
        results = json.loads(output.read_text(encoding="utf-8"))["results"][self.work.task]
        self.scores["tenbin"] = results[self.work.metric]
        return times

    def lm_eval(self, batch_size: int, limit: int | None = None) -> dict[str, float]:
        output = self.folder / "lm_eval"
        shutil.rmtree(output, ignore_errors=True)
        times = self._timed(
            [
                *(self.python, str(HERE / "lm_eval_command.py"), str(self.folder / "data")),
                *("--model", "hf", "--model_args", f"pretrained={self.model},dtype=float32"),
                *("--device", "cpu", "--tasks", self.work.task),
                *("--num_fewshot", str(self.work.shots), "--batch_size", str(batch_size)),
                *("--output_path", str(output), "--log_samples", *self._common(limit)),
            ]
        )
        (path,) = output.rglob("results_*.json")
        results = json.loads(path.read_text(encoding="utf-8"))["results"][self.work.task]
        metric = self.work.metric
        self.scores["lm_eval"] = results[metric if "," in metric else f"{metric},none"]
        return times

    def _common(self, limit: int | None) -> list[str]:
        generation = ["--gen_kwargs", self.work.gen_kwargs] if self.work.gen_kwargs else []
        return [*generation, *(["--limit", str(limit)] if limit else [])]

    def _timed(self, arguments: list[str]) -> dict[str, float]:
        environment = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "HF_DATASETS_CACHE": str(self.folder / "datasets"),
        }
        wall, cpu = time.perf_counter(), _children()
        done = subprocess.run(
            arguments, env=environment, cwd=self.folder, capture_output=True, text=True
        )
        times = {"wall": time.perf_counter() - wall, "cpu": _children() - cpu}
        if done.returncode:
            told = f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
            raise SystemExit(f"{' '.join(arguments[:4])} … failed:\n{told}")
        return times


def _children() -> float:
    """Processor time of all processes that ended, started from here."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _output(python: str, code: str) -> str:
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


def measure(name: str, work: Work, options: Any, folder: Path) -> dict[str, Any]:
    documents = options.documents or work.documents
    write_data(folder / "data", Path(options.data_dir), name, documents)
    commands = Commands(work, folder, options.lm_eval_python)
    commands.tenbin(limit=1)
    sizes = options.batch_sizes or work.batch_sizes
    tried: dict[int, float] = {}
    for size in sizes if len(sizes) > 1 else ():
        tried[size] = commands.lm_eval(size, min(documents, work.tune_documents))["wall"]
        say(f"  lm-eval, {work.tune_documents} documents, batch size {size}: {tried[size]:.1f} s")
    if not tried:
        commands.lm_eval(sizes[0], 1)
    best = min(tried, key=lambda size: tried[size]) if tried else sizes[0]
    # Both programs in turns. The faster pass of the peer counts: a slow minute of the machine,
    # which nothing on it shows, must not speak for tenbin. Of tenbin it is the middle one.
    mine, passes = [least_disturbed(commands.tenbin, options.attempts)], []
    say(f"  tenbin: {mine[-1]}")
    for _ in range(2):
        passes.append(least_disturbed(lambda: commands.lm_eval(best), 1))
        say(f"  lm-eval at batch size {best}: {passes[-1]}")
        mine.append(least_disturbed(commands.tenbin, options.attempts))
        say(f"  tenbin: {mine[-1]}")
    theirs = min(passes, key=lambda one: one["wall"])
    quiet = [one for one in mine if one["others"] <= QUIET] or mine
    found: dict[str, Any] = {
        "documents": documents,
        "peer_batch_size": best,
        "peer_seconds_by_batch_size": tried,
        "tenbin": mine,
        "peer": theirs,
        "peer_passes": passes,
        "quiet": all(one["others"] <= QUIET for one in [*quiet, theirs]),
        "scores": commands.scores,
    }
    for clock in ("wall", "cpu"):
        middle = statistics.median(one[clock] for one in quiet)
        found[f"tenbin_{clock}"] = round(middle, 3)
        found[f"peer_{clock}"] = round(theirs[clock], 3)
        found[f"speedup_{clock}"] = round(theirs[clock] / middle, 2)
    return found


def main() -> None:
    flags = parser(__doc__ or "")
    flags.add_argument("--lm_eval_python", required=True, help="an interpreter with lm-eval")
    flags.add_argument("--work", nargs="+", choices=list(WORKS), default=list(WORKS))
    flags.add_argument("--documents", type=int, help="fewer or more than the work has")
    flags.add_argument("--batch_sizes", type=int, nargs="+", help="of lm-eval, to try")
    options = flags.parse_args()
    names = ("lm_eval", "torch", "transformers")
    code = f"from importlib.metadata import version as v; print(*map(v, {names!r}))"
    versions = dict(zip(names, _output(options.lm_eval_python, code).split(), strict=True))
    for name in options.work:
        work = WORKS[name]
        say(f"{name}: {work.what}")
        with tempfile.TemporaryDirectory() as folder:
            measured = measure(name, work, options, Path(folder))
        say(
            f"  {measured['speedup_wall']} times as fast (processor time "
            f"{measured['speedup_cpu']}), wanted {work.target}; scores {measured['scores']}"
        )
        body = {
            "what": f"{work.what}, whole command, SmolLM2-135M float32",
            "against": "lm-eval hf",
            "target_speedup": work.target,
            **measured,
            "setup": setup_facts(lm_eval=versions),
        }
        write_result(options.output_dir, f"lm_eval_tasks_{name}", body)


if __name__ == "__main__":
    main()
