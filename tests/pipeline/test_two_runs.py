"""Several runs on one journal at the same time: the same results, and no answer is lost."""

from __future__ import annotations

import json
import multiprocessing
import sys
from pathlib import Path
from typing import Any

from tenbin.cli import main
from tenbin.journal.show import describe_journal, find_journals
from tenbin.results.read import read_run

RUNS = 3


def command(folder: Path, number: int, delay: str = "0.01") -> list[str]:
    return [
        "run", "--model", "scripted", "--model_args", f"delay={delay}", "--sample_data",
        "--tasks", "jnli,jsquad", "--cache_dir", str(folder / "cache"),
        "--output_path", str(folder / f"{number}.json"),
    ]  # fmt: skip


def run_and_exit(arguments: list[str]) -> None:
    sys.exit(main(arguments))


def outcome(path: Path) -> Any:
    document = json.loads(path.read_text(encoding="utf-8"))
    entries = {name: document[name] for name in ("results", "prompts", "engine", "answered_by")}
    return entries, list(read_run(path).samples())


def test_runs_side_by_side(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    runs = [
        context.Process(target=run_and_exit, args=(command(tmp_path, number),))
        for number in range(RUNS)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join(120)
    assert [run.exitcode for run in runs] == [0] * RUNS
    outcomes = [outcome(tmp_path / f"{number}.json") for number in range(RUNS)]
    assert outcomes[1:] == outcomes[:-1]
    (path,) = find_journals(tmp_path / "cache" / "journal")
    (engine,) = outcomes[0][0]["answered_by"]
    assert describe_journal(path).total == engine["answers"] == 36
    # Whoever was faster: all answers are there, and a further run asks nothing.
    assert main(command(tmp_path, RUNS, delay="1000")) == 0
    assert outcome(tmp_path / f"{RUNS}.json") == outcomes[0]
