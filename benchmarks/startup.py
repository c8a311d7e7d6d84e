"""Start-up and bookkeeping, beside lm-eval.

Two things, each a whole process as a user starts it:

- From the start of the process to the first scored document: one document of jcommonsenseqa with
  three examples, SmolLM2-135M in float32 on the CPU. lm-eval reads the same rows through a plain
  task file. tenbin is started twice: with an empty cache folder, so that the model is asked how it
  can be scored ("first"), and with that verdict in the folder and no answers ("later"). All
  programs have run once before, so that their files are in memory.
- All 1,119 validation documents dry, with a model that answers at once (tenbin's `scripted`,
  lm-eval's `dummy`): what is left is planning and bookkeeping. The cost a document is measured
  within a process; a profile says where it goes.

    python benchmarks/startup.py --data_dir DATA --lm_eval_python PY
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from common import HERE, embedded_model, parser, say, setup_facts, write_result

from tenbin.config import build_config
from tenbin.data import DataChoice, load_documents
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.records import Dataset

TASK = "jcommonsenseqa-1.1-0.1"
FIRST, LATER, PEER = "tenbin, first", "tenbin, later", "lm_eval"
TARGETS = {"start_ratio": 0.25, "milliseconds_a_document": 1.0}
STAGES = {
    "read and check rows": ("prepare.py", "load_data"),
    "make prompts and plan requests": ("run.py", "_plan"),
    "ask, answer and keep answers": ("ask.py", "ask"),
    "judge": ("judge.py", "judge_fresh"),
    "summarise": ("score.py", "summarise_cells"),
    "record": ("record.py", "record"),
    "write results and samples": ("write.py", "write_run"),
}
"""Stages of a run and the function that does each."""


def lm_eval_task(folder: Path, data_dir: str) -> None:
    """The same wording as a task file of lm-eval over two JSON files."""
    choice = DataChoice(data_dir=Path(data_dir), offline=True)
    for split in ("train", "validation"):
        rows = load_documents(Dataset("jglue/jcommonsenseqa"), split, choice).documents
        lines = [json.dumps(dict(row.fields), ensure_ascii=False) for row in rows]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    choices = ", ".join(f"{{{{choice{at}}}}}" for at in range(5))
    task = {
        "task": "plain_jcommonsenseqa",
        "dataset_path": "json",
        "dataset_kwargs": {
            "data_files": {s: str(folder / f"{s}.jsonl") for s in ("train", "validation")}
        },
        "validation_split": "validation",
        "fewshot_split": "train",
        "output_type": "multiple_choice",
        "description": "[問題]に対する[答え]を[選択肢]の中から選んでください。\n\n",
        "doc_to_text": f"[問題]:{{{{question}}}}\n[選択肢]:[{choices}]\n[答え]:",
        "doc_to_choice": "{{[choice0, choice1, choice2, choice3, choice4]}}",
        "doc_to_target": "label",
        "target_delimiter": "",
        "num_fewshot": 3,
        "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
    }
    text = yaml.safe_dump(task, allow_unicode=True, sort_keys=False)
    (folder / "plain_jcommonsenseqa.yaml").write_text(text, encoding="utf-8")


class Programs:
    """The two command lines."""

    def __init__(self, options: Any, folder: Path) -> None:
        self.folder, self.options = folder, options
        self.pythons = {"tenbin": sys.executable, "lm_eval": options.lm_eval_python}
        self.model = embedded_model()
        self._run = 0
        lm_eval_task(folder, options.data_dir)

    def arguments(
        self, program: str, model: str, limit: int | None, cache: Path | None = None
    ) -> list[str]:
        self._run += 1
        output = self.folder / f"out-{self._run}.json"
        cache = cache or self.folder / f"cache-{self._run}"
        limited = ["--limit", str(limit)] if limit else []
        if program == "tenbin":
            named = (
                ["--model", "scripted"]
                if model == "dry"
                else ["--model_args", f"pretrained={self.model}", "--dtype", "float32"]
            )
            return [
                "run",
                *named,
                *("--device", "cpu", "--tasks", TASK, "--num_fewshot", "3"),
                *("--data_dir", self.options.data_dir, "--output_path", str(output)),
                *("--cache_dir", str(cache), *limited),
            ]
        named = (
            ["--model", "dummy"]
            if model == "dry"
            else ["--model", "hf", "--model_args", f"pretrained={self.model},dtype=float32"]
        )
        return [
            *named,
            *("--device", "cpu", "--tasks", "plain_jcommonsenseqa", "--num_fewshot", "3"),
            *("--include_path", str(self.folder), "--output_path", str(output)),
            *("--log_samples", *limited),
        ]

    def first_answer(self, name: str) -> dict[str, float]:
        """A start of tenbin, for the first time or later, or of lm-eval."""
        program = name.partition(",")[0]
        cache = self.folder / ("cache-later" if name == LATER else f"cache-{self._run}")
        # The verdict stays, the answers go: they would spare the model.
        shutil.rmtree(cache / "journal", ignore_errors=True)
        noted = self.folder / f"first-{self._run}"
        script = [str(HERE / "first_answer.py"), program, str(noted)]
        given = [*script, *self.arguments(program, "hf", 1, cache)]
        began, wall = self._start(program, given, cache)
        clock, processor = map(float, noted.read_text().split())
        noted.unlink()
        return {
            "first_answer": clock - began,
            "first_answer_processor": processor,
            "whole_process": wall,
        }

    def dry(self, program: str, limit: int | None) -> float:
        module = {"tenbin": "tenbin.cli", "lm_eval": "lm_eval.__main__"}[program]
        function = {"tenbin": "main", "lm_eval": "cli_evaluate"}[program]
        code = f"from {module} import {function}; {function}()"
        return self._start(program, ["-c", code, *self.arguments(program, "dry", limit)])[1]

    def _start(
        self, program: str, arguments: list[str], cache: Path | None = None
    ) -> tuple[float, float]:
        environment = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_CACHE": str(self.folder / "datasets"),
            "TENBIN_CACHE": str(cache or self.folder / "cache-later"),
        }
        # As users start it: installed libraries are compiled, and so is tenbin after its first run.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        began = time.time()
        done = subprocess.run(
            [self.pythons[program], *arguments],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        took = time.time() - began
        if done.returncode:
            raise SystemExit(f"{program} failed:\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
        return began, took


def bookkeeping(data_dir: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Seconds a document of a dry run within this process, and where they go."""

    def run(name: str) -> float:
        config = build_config(
            {
                "model": "scripted",
                "tasks": TASK,
                "num_fewshot": 3,
                "data_dir": data_dir,
                "cache_dir": str(folder / f"cache-{name}"),
                "output_path": str(folder / f"{name}.json"),
            }
        )
        began = time.perf_counter()
        finished = execute(config, Listener())
        took = time.perf_counter() - began
        assert len(finished.judged) == 1119
        return took

    run("warm")
    seconds = [run(f"round-{at}") for at in range(rounds)]
    profile = cProfile.Profile()
    profile.enable()
    run("profiled")
    profile.disable()
    return {
        "documents": 1119,
        "seconds": seconds,
        "milliseconds_a_document": round(statistics.median(seconds) / 1119 * 1000, 3),
        "share_of_profile": stage_shares(profile),
    }


def stage_shares(profile: cProfile.Profile) -> dict[str, float]:
    """What part of the whole each stage took, under the profiler."""
    table: Any = pstats.Stats(profile)
    total = table.total_tt
    cumulative = {
        (Path(file).name, function): entry[3]
        for (file, _, function), entry in table.stats.items()
        if "tenbin" in Path(file).parts
    }
    shares = {stage: cumulative[place] / total for stage, place in STAGES.items()}
    return {stage: round(share, 3) for stage, share in shares.items()}


def main() -> None:
    flags = parser(__doc__ or "")
    flags.add_argument("--lm_eval_python", required=True, help="an interpreter with lm-eval")
    flags.add_argument("--rounds", type=int, default=3)
    options = flags.parse_args()
    options.data_dir = str(Path(options.data_dir).resolve())
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(options, Path(folder))
        body: dict[str, Any] = {
            "what": "start to first scored document; 1,119 documents dry",
            "against": "lm-eval",
            "targets": TARGETS,
        }
        starts: dict[str, list[dict[str, float]]] = {FIRST: [], LATER: [], PEER: []}
        dry: dict[str, list[float]] = {"tenbin": [], PEER: []}
        # Files into memory, lm-eval's copy of the rows into its cache, a verdict into tenbin's.
        for name in (LATER, PEER):
            programs.first_answer(name)
        for at in range(options.rounds):
            for name, found in starts.items():
                found.append(programs.first_answer(name))
                say(f"round {at + 1}: {name} {found[-1]}")
        for at in range(options.rounds):
            for program, seconds in dry.items():
                seconds.append(programs.dry(program, None))
                say(f"round {at + 1}: {program} dry {seconds[-1]:.2f} s")
        body["start"] = starts
        for key, suffix in (("first_answer", ""), ("first_answer_processor", "_processor")):
            first = {p: statistics.median(one[key] for one in f) for p, f in starts.items()}
            body[f"{key}_median"] = first
            ratios = {p: round(first[p] / first[PEER], 3) for p in (FIRST, LATER)}
            body[f"start_ratios{suffix}"] = ratios
        body["dry_whole_process"] = dry
        body["dry_median"] = {p: statistics.median(found) for p, found in dry.items()}
        body["bookkeeping"] = bookkeeping(options.data_dir, Path(folder), max(3, options.rounds))
    body["setup"] = setup_facts(lm_eval=_versions_of(options.lm_eval_python))
    say(f"start ratios {body['start_ratios']}, dry {body['dry_median']}, {body['bookkeeping']}")
    write_result(options.output_dir, "startup", body)


def _versions_of(python: str) -> dict[str, str]:
    code = (
        "from importlib.metadata import version; "
        "print(*(f'{n}={version(n)}' for n in ('lm_eval', 'torch', 'transformers', 'datasets')))"
    )
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return dict(part.split("=", 1) for part in said.split())


if __name__ == "__main__":
    main()
