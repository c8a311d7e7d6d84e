"""A million documents: memory, disk, time a document, and how soon a run goes on from its journal.

Half of the documents are choices between three numbers, half are texts to be written; prompts are
short, so that what is measured is the program's own work and not a tokenizer's or a model's. The
scripted backend answers in the driver's process, then on two workers. Each run is a process of its
own:

    first       all documents, with an empty journal
    rest        the same command after one answer in a hundred was taken out of the journal
    again       the same command when the journal knows all answers
    small       ten documents on that journal

    nice -n 15 python benchmarks/million.py --documents 1000000 --folder /tmp/million
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from common import RESULTS, peak_mib, say, setup_facts, write_result
from ray_scale import unnamed_files

from tenbin.config import build_config
from tenbin.pipeline.progress import Listener

WAYS = ("scripted", "workers_2")
PASSES = ("first", "rest", "again", "small")
_TASK = """
task: {name}
title: {name}
language: en
dataset_path: json
dataset_kwargs: {{data_files: {{test: {name}.jsonl}}}}
test_split: test
versions: {{"1.0": {{}}}}
{rest}
"""
_CHOICE = """
output_type: multiple_choice
doc_to_choice: choices
doc_to_target: label
target_delimiter: " "
metric_list: [{metric: acc}]
templates: {default: {meant_for: any model, doc_to_text: "Which number follows {{ number }}?"}}
"""
_TEXT = """
output_type: generate_until
generation_kwargs: {until: ["\\n"], max_gen_toks: 8}
doc_to_target: sum
target_delimiter: " "
metric_list: [{metric: exact_match}]
templates: {default: {meant_for: any model, doc_to_text: "{{ number }} + 2 ="}}
"""


def write_tasks(folder: Path, documents: int) -> None:
    """Two tasks and their rows."""
    folder.mkdir(parents=True)
    (folder / "following.yaml").write_text(_TASK.format(name="following", rest=_CHOICE))
    (folder / "adding.yaml").write_text(_TASK.format(name="adding", rest=_TEXT))
    with (folder / "following.jsonl").open("w") as file:
        for at in range(documents // 2):
            row = {"id": at, "number": at, "choices": [f"{at + step}" for step in (1, 2, 3)]}
            file.write(json.dumps({**row, "label": 0}) + "\n")
    with (folder / "adding.jsonl").open("w") as file:
        for at in range(documents // 2):
            file.write(json.dumps({"id": at, "number": at, "sum": f"{at + 2}"}) + "\n")


STAGES = ("load_data", "_plan", "_journal", "ask", "finish", "write_completed")


class Clock(Listener):
    """Notes when the answers that are known have been looked up, and when a new one has come."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self.began = time.perf_counter()

    def _now(self, name: str) -> None:
        self.stages.setdefault(name, round(time.perf_counter() - self.began, 2))

    def start(self, total: int, work: float) -> None:
        self._now("known answers looked up")

    def advance(self, work: float) -> None:
        self._now("first new answer")


def clock_stages(clock: Clock) -> dict[str, dict[str, float]]:
    """Wall and processor seconds of each stage, filled in as the run goes on."""
    from tenbin.pipeline import run as pipeline

    spent: dict[str, dict[str, float]] = {}

    def clocked(name: str) -> None:
        original = getattr(pipeline, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            clock._now(f"{name} began")
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                return original(*arguments, **options)
            finally:
                one = spent.setdefault(name, {"wall": 0.0, "cpu": 0.0, "peak_mib": 0.0})
                one["wall"] = round(one["wall"] + time.perf_counter() - wall, 2)
                one["cpu"] = round(one["cpu"] + time.process_time() - cpu, 2)
                one["peak_mib"] = round(peak_mib(), 1)

        setattr(pipeline, name, wrapped)

    for name in STAGES:
        clocked(name)
    return spent


def one_pass(way: str, name: str, folder: Path) -> None:
    """One run, within a process of its own; prints what it took."""
    from tenbin.pipeline import run as pipeline

    clock = Clock()
    spent = clock_stages(clock)
    tag = "small" if name == "small" else "all"
    given: dict[str, Any] = {
        "model": "scripted",
        "include_path": [str(folder / "tasks")],
        "tasks": "following,adding",
        "data_dir": str(folder / "tasks"),
        "cache_dir": str(folder / way / "cache"),
        "output_path": str(folder / way / f"{tag}.json"),
    }
    if name == "small":
        given["limit"] = 5
    if way == "workers_2":
        given["workers"] = 2
    cpu = time.process_time()
    finished = pipeline.execute(build_config(given), clock)
    seconds = time.perf_counter() - clock.began
    judged = len(finished.judged)
    print(
        json.dumps(
            {
                "documents": judged,
                "answers_from_journal": finished.document["answers_from_journal"],
                "seconds": round(seconds, 2),
                "milliseconds_a_document": round(seconds / judged * 1000, 3),
                "driver_cpu_seconds": round(time.process_time() - cpu, 2),
                "peak_mib": round(peak_mib(), 1),
                "scratch_bytes": unnamed_files(),
                "since_start": clock.stages,
                "stages": spent,
                "load": os.getloadavg(),
            }
        )
    )


def disk(folder: Path) -> dict[str, int]:
    """Bytes that a run leaves."""

    def size(place: Iterator[Path]) -> int:
        return sum(path.stat().st_size for path in place if path.is_file())

    return {
        "journal_bytes": size((folder / "cache" / "journal").iterdir()),
        "samples_bytes": size((folder / "all.run").glob("samples.parquet")),
        "result_bytes": size((folder / "all.run").glob("result.json")),
    }


def forget_some(folder: Path) -> int:
    """Take one answer in a hundred out of the journal."""
    (file,) = (folder / "cache" / "journal").glob("*.sqlite")
    with closing(sqlite3.connect(file)) as connection:
        # Keys are hashes in hexadecimal: two digits out of 256.
        gone = connection.execute("DELETE FROM answers WHERE substr(key, 1, 2) < '03'").rowcount
        connection.commit()
    return gone


def journal_alone(folder: Path) -> dict[str, float]:
    """Opening the journal, and looking all keys up in it as a run does."""
    from tenbin.journal.store import Journal

    (file,) = (folder / "cache" / "journal").glob("*.sqlite")
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        fingerprint = connection.execute("SELECT fingerprint FROM answers LIMIT 1").fetchone()[0]
        keys = [row[0] for row in connection.execute("SELECT key FROM answers ORDER BY key")]
    began = time.perf_counter()
    journal = Journal(file.parent, fingerprint)
    opened = time.perf_counter()
    found = sum(len(journal.sources_of(keys[at : at + 500])) for at in range(0, len(keys), 500))
    looked_up = time.perf_counter()
    journal.close()
    assert found == len(keys)
    return {
        "keys": found,
        "open_seconds": round(opened - began, 3),
        "look_up_seconds": round(looked_up - opened, 2),
    }


def measure(way: str, folder: Path, passes: list[str]) -> dict[str, Any]:
    """All passes of one way, on one journal."""
    found: dict[str, Any] = {}
    for name in passes:
        if name == "rest":
            found["answers_taken_out"] = forget_some(folder / way)
        done = subprocess.run(
            [sys.executable, __file__, "--one_pass", way, name, str(folder)],
            capture_output=True,
            text=True,
            env={**os.environ, "TMPDIR": str(folder / "scratch")},
        )
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
        found[name] = json.loads(done.stdout.splitlines()[-1])
        say(f"{way}, {name}: {found[name]}")
    found["disk"] = disk(folder / way)
    found["journal"] = journal_alone(folder / way)
    return found


def main() -> None:
    if sys.argv[1:2] == ["--one_pass"]:
        one_pass(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
        return
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--documents", type=int, default=1_000_000)
    flags.add_argument("--folder", type=Path, required=True, help="about 3 GB a million documents")
    flags.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    flags.add_argument("--passes", nargs="+", choices=PASSES, default=PASSES)
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    flags.add_argument("--name", default="million")
    options = flags.parse_args()
    write_tasks(options.folder / "tasks", options.documents)
    (options.folder / "scratch").mkdir()
    body: dict[str, Any] = {"what": "a run of very many documents", "documents": options.documents}
    try:
        for way in options.ways:
            body[way] = measure(way, options.folder, list(options.passes))
            body["setup"] = {**setup_facts(), "load": os.getloadavg(), "nice": os.nice(0)}
            write_result(options.output_dir, options.name, body)
            shutil.rmtree(options.folder / way)
    finally:
        shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
