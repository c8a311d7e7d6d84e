"""Open a folder of many runs in chromium: start of the server, leaderboard, list, memory.

    python benchmarks/serve_runs.py --output benchmarks/results/serve_runs.json

One run of the scripted backend on sample rows is the pattern. Every model has outcomes drawn anew
with its own skill, and a tag; files are written as runs write them. Further runs of a model have
its answers and another date. Times of the page are from navigation until rows stand on it, the
median of several openings in fresh contexts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]

import tenbin  # noqa: E402
from tenbin.results.folder import RunFolder  # noqa: E402
from tenbin.results.schema import RunResult, Sample, stderr_key  # noqa: E402
from tenbin.results.write import write_run  # noqa: E402

TASKS = "jnli,jcommonsenseqa,mlogiqa_mcq_en,mlogiqa_mcq_ja,mlogiqa_mcq_fr,xnli_en,xnli_de,marc_ja"
BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)
OPENINGS = 5


def pattern(folder: Path, documents: int) -> tuple[RunResult, list[Sample]]:
    """A real run, with each of its few sample rows so often that there are enough documents."""
    run = tenbin.evaluate(
        "scripted", tasks=TASKS, num_fewshot=0, sample_data=True, output_path=str(folder / "p.json")
    )
    by_task: dict[str, list[Sample]] = {}
    for sample in run.sample_records():
        by_task.setdefault(sample.id, []).append(sample)
    samples = [
        replace(own[at % len(own)], document=f"d{at:04}", group=None)
        for own in by_task.values()
        for at in range(documents)
    ]
    counts = {
        id: one.model_copy(update={"original": documents, "effective": documents})
        for id, one in run.result.n_samples.items()
    }
    empty: dict[str, Any] = {"groups": {}, "group_subtasks": {}, "group_details": {}}
    return run.result.model_copy(update={"n_samples": counts, **empty}), samples


def drawn(sample: Sample, skill: float, rng: random.Random) -> Sample:
    value = float(rng.random() < skill)
    return replace(sample, outcomes=[replace(one, value=value) for one in sample.outcomes])


def vary(
    result: RunResult, samples: Sequence[Sample], model: int, models: int
) -> tuple[RunResult, list[Sample]]:
    """The first run of another model."""
    rng = random.Random(model)
    skill = 0.3 + 0.6 * model / models
    own = [drawn(sample, skill, rng) for sample in samples]
    results, details = {}, {}
    for id, entries in result.results.items():
        values = [one.outcomes[0].value for one in own if one.id == id]
        mean = statistics.fmean(value for value in values if value is not None)
        error = math.sqrt(mean * (1 - mean) / len(values))
        names = list(result.details[id])
        results[id] = {**entries, **dict.fromkeys(names, mean)}
        results[id] |= {stderr_key(name): error for name in names}
        ends = {"n": len(values), "failed": 0, "low": mean - 2 * error, "high": mean + 2 * error}
        details[id] = {
            name: one.model_copy(update=ends) for name, one in result.details[id].items()
        }
    changed = {
        "results": results,
        "details": details,
        "fingerprint": f"model-{model}",
        "model": {**result.model, "model": f"team/model-{model:03}"},
        "date": BEGAN.isoformat(),
        "tags": [("baseline", "ablation", "candidate")[model % 3]],
    }
    return result.model_copy(update=changed), own


def make_runs(folder: Path, runs: int, models: int, documents: int) -> None:
    result, samples = pattern(folder.parent, documents)
    for model in range(models):
        first = folder / f"run-{model:04}-model-{model:03}"
        first.mkdir(parents=True)
        made, own = vary(result, samples, model, models)
        write_run(RunFolder(first, first / "result.json"), made, own, {})
        document = json.loads((first / "result.json").read_text())
        for at in range(model + models, runs, models):
            path = folder / f"run-{at:04}-model-{model:03}"
            shutil.copytree(first, path)
            document["date"] = (BEGAN + timedelta(hours=7 * at)).isoformat()
            (path / "result.json").write_text(json.dumps(document, ensure_ascii=False, indent=2))


def started(folder: Path) -> tuple[subprocess.Popen[str], str, float]:
    """The server, its address, and the seconds until it said it."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "tenbin", "serve", str(folder), "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdout is not None
    for line in server.stdout:
        if found := re.search(r"http://\S+", line):
            return server, found[0], round(time.perf_counter() - began, 2)
    raise SystemExit("the server did not start")


def opened(browser: Any, address: str, ready: str, expression: str | None = None) -> float:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    began = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(ready, timeout=600_000)
    if expression:
        page.wait_for_function(expression, timeout=600_000)
    taken = time.perf_counter() - began
    page.context.close()
    return round(taken, 2)


def median(measure: Callable[[], float]) -> float:
    return round(statistics.median(measure() for _ in range(OPENINGS)), 2)


def searched(browser: Any, address: str) -> float:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"{address}#/runs")
    page.wait_for_selector("table.scores tbody tr")
    began = time.perf_counter()
    page.get_by_label("Search runs").fill("model-007")
    page.wait_for_function(
        "() => [...document.querySelectorAll('table.scores tbody tr')]"
        ".every((row) => row.textContent.includes('model-007'))"
    )
    taken = round(time.perf_counter() - began, 2)
    page.context.close()
    return taken


def megabytes(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return round(int(re.findall(r"VmRSS:\s+(\d+)", text)[0]) / 1024)


def measure(folder: Path) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    server, address, start = started(folder)
    rows, listed = "table.board tbody tr", "table.scores tbody tr"
    ranked = "() => document.documentElement.dataset.board === 'ranked'"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            found = {
                "browser": browser.version,
                "start_of_the_server_seconds": start,
                "first_scores_after_start_seconds": opened(browser, address, rows),
                "ranks_after_first_scores_seconds": opened(browser, address, rows, ranked),
                "open_leaderboard_seconds": median(lambda: opened(browser, address, rows, ranked)),
                "open_list_of_runs_seconds": median(
                    lambda: opened(browser, f"{address}#/runs", listed)
                ),
                "open_history_seconds": median(
                    lambda: opened(browser, f"{address}#/history", "svg.scatter")
                ),
                "search_runs_seconds": searched(browser, address),
                "server_megabytes": megabytes(server.pid),
            }
            browser.close()
    finally:
        server.terminate()
        server.wait()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--documents", type=int, default=50, help="of each of the eight tasks")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "runs"
        make_runs(folder, options.runs, options.models, options.documents)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        found = {
            "runs": options.runs,
            "models": options.models,
            "tasks": len(TASKS.split(",")),
            "documents_per_task": options.documents,
            "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
            "machine": f"{platform.machine()}, 2 cores",
            "folder_megabytes": round(size / 1e6, 1),
            **measure(folder),
        }
    print(json.dumps(found, indent=2))
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
