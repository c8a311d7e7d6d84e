"""Sweeps on a budget drawn from a real full sweep: errors and coverage against the full grid.

A table holds which document was answered right under which prompt, all cells of it. Many random
designs show a part of the table each, and what is stated from the part is compared with the whole.

    python benchmarks/prompt_matrix.py --from_run RUN --task jcommonsenseqa --table FILE
    python benchmarks/prompt_matrix.py --table FILE [--designs 200] [--budgets 2 4 8]

The first makes a table of a stored run over all prompts, the second measures. A table is JSON:

    about      task, version, metric, model, and whatever else is worth knowing
    prompts    the id of each prompt
    levels     for each dimension of the grammar, the level of each prompt; may be empty
    documents  the id of each document
    clusters   for each document what it shares with others, or null
    rows       for each document its answers in hexadecimal: bits from the left are the prompts in
               their order, 1 is right; the last byte is filled up with 0
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from common import RESULTS, say, setup_facts, write_result
from prompt_simulation import QUANTILES, ROUNDING, judge, summarise
from tests.statistics.prompts.worlds import Sweep

from tenbin.results.read import read_run
from tenbin.statistics.prompts.design import PromptMatrix, assign
from tenbin.statistics.prompts.mean import mean_score


@dataclass(frozen=True)
class Table:
    """A full grid of right and wrong answers."""

    about: Mapping[str, str]
    prompts: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    documents: tuple[str, ...]
    clusters: tuple[str | None, ...]
    right: np.ndarray
    """Documents × prompts, of bool."""

    @property
    def names(self) -> list[str]:
        """The cluster of each document; one of its own has its own name."""
        return [
            f"document {document}" if cluster is None else f"cluster {cluster}"
            for document, cluster in zip(self.documents, self.clusters, strict=True)
        ]


def write_table(path: Path, table: Table) -> None:
    body = {
        "about": dict(table.about),
        "prompts": table.prompts,
        "levels": dict(table.levels),
        "documents": table.documents,
        "clusters": table.clusters,
        "rows": [bytes(np.packbits(row)).hex() for row in table.right.astype(bool)],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def read_table(path: Path) -> Table:
    body = json.loads(path.read_text(encoding="utf-8"))
    prompts = tuple(body["prompts"])
    rows = [np.frombuffer(bytes.fromhex(row), dtype=np.uint8) for row in body["rows"]]
    right = np.stack([np.unpackbits(row, count=len(prompts)) for row in rows]).astype(bool)
    levels = {name: tuple(given) for name, given in body["levels"].items()}
    table = Table(
        body["about"], prompts, levels, tuple(body["documents"]), tuple(body["clusters"]), right
    )
    assert len(table.documents) == len(table.clusters) == len(right), f"{path}: rows are missing"
    assert all(len(given) == len(prompts) for given in levels.values()), f"{path}: levels"
    return table


def table_of_run(folder: str, task: str, metric: str) -> Table:
    """The table of a stored run in which every document was asked under every prompt."""
    run = read_run(folder)
    configs = {id: one for id, one in run.result.configs.items() if one.task == task}
    prompts = tuple(sorted(configs))
    columns: dict[str, dict[str, bool]] = {id: {} for id in prompts}
    clusters: dict[str, str | None] = {}
    for sample in run.samples():
        if sample.id not in columns:
            continue
        for outcome in sample.outcomes:
            if outcome.metric == metric:
                assert outcome.value in (0.0, 1.0), f"{sample.id}, {sample.document}: not answered"
                columns[sample.id][sample.document] = bool(outcome.value)
                clusters[sample.document] = sample.group
    documents = tuple(sorted(clusters))
    right = np.array([[columns[id][document] for id in prompts] for document in documents])
    formats = [getattr(configs[id], "format", None) or {} for id in prompts]
    levels = {
        name: tuple(str(one.get(name, "")) for one in formats)
        for name in dict.fromkeys(name for one in formats for name in one)
    }
    first = configs[prompts[0]]
    about = {"task": task, "version": first.version, "metric": metric}
    return Table(about, prompts, levels, documents, tuple(clusters[d] for d in documents), right)


def observe(table: Table, budget: int, seed: int) -> Sweep:
    """What one random design shows of the table."""
    grid = table.right.astype(float)
    names = table.names
    numbers = np.unique(names, return_inverse=True)[1]
    asked = assign(names, len(table.prompts), budget, seed)
    return Sweep(grid, PromptMatrix(np.where(asked, grid, np.nan), asked, numbers))


def measure(table: Table, budget: int, designs: int) -> dict[str, Any]:
    """Errors and coverage over random designs."""
    truth = float(table.right.mean())
    rows, inside, started = [], 0, time.perf_counter()
    for seed in range(designs):
        swept = observe(table, budget, seed)
        mean = mean_score(swept.matrix)
        assert mean.low is not None and mean.high is not None
        inside += mean.low - ROUNDING <= truth <= mean.high + ROUNDING
        rows.append(judge(swept, budget, seed))
    return {
        **summarise(rows),
        "mean_coverage": round(inside / designs, 4),
        "cells": round(min(budget / len(table.prompts), 1.0), 4),
        "seconds_per_design": round((time.perf_counter() - started) / designs, 2),
    }


def main() -> None:
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--table", type=Path, required=True)
    flags.add_argument("--from_run", help="make the table of this stored run, and end")
    flags.add_argument("--task", help="of that run")
    flags.add_argument("--metric", default="acc", help="of that run; right or wrong")
    flags.add_argument("--about", default="", help="more about it: model=NAME,shots=3")
    flags.add_argument("--designs", type=int, default=200)
    flags.add_argument("--budgets", type=int, nargs="+", default=[2, 4, 8])
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    options = flags.parse_args()
    if options.from_run:
        table = table_of_run(options.from_run, options.task, options.metric)
        more = dict(pair.split("=", 1) for pair in options.about.split(",") if pair)
        write_table(options.table, Table(**{**vars(table), "about": {**table.about, **more}}))
        say(f"written: {options.table}, {len(table.documents)} × {len(table.prompts)}")
        return
    table = read_table(options.table)
    truth = np.quantile(table.right.mean(axis=0), QUANTILES)
    found: dict[str, Any] = {}
    for budget in options.budgets:
        found[f"{budget}x"] = row = measure(table, budget, options.designs)
        say(f"{budget}x: {json.dumps(row)}")
    body = {
        "about": dict(table.about),
        "documents": len(table.documents),
        "prompts": len(table.prompts),
        "mean": round(float(table.right.mean()), 4),
        "quantiles": [round(float(one), 4) for one in truth],
        "designs": found,
        "setup": setup_facts(),
    }
    write_result(options.output_dir, f"prompt_matrix_{options.table.stem}", body)


if __name__ == "__main__":
    main()
