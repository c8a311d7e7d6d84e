"""Stored runs that are damaged, as the commands read them that need no model."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tenbin.analysis.compare import Side, Wanted, compare_runs
from tenbin.analysis.compare.comparability import KINDS
from tenbin.analysis.consistency.answers import COLUMNS, ExaminedSamples
from tenbin.analysis.consistency.examine import examine
from tenbin.api import load_run
from tenbin.report.terminal.comparison import print_comparison
from tenbin.report.terminal.consistency import print_consistency
from tenbin.report.terminal.scores import print_results
from tenbin.results.read import read_run
from tenbin.results.schema import RunResult, Sample, arrow_schema
from tests.fuzz.mutation import damage_bytes, damage_tree, write_json
from tests.fuzz.target import Target
from tests.fuzz.targets.seed_run import put_run, seed_run

_WORDS = (
    "id", "choice", "generate", "roll", "configs", "details", "acc", "exact_match", "en", "ja", "%",
    "validation", "score", "select", "mean", "analytic", "parallel", "jnli", 1234, "samples",
)  # fmt: skip


def make_result(rng: Random) -> bytes:
    """A damaged result.json; its samples are those of the seed."""
    written = write_json(rng, damage_tree(rng, seed_run().tree(rng.randrange(2) == 0), _WORDS))
    return damage_bytes(rng, written) if rng.randrange(8) == 0 else written


def _result_seeds() -> list[bytes]:
    return [seed_run().result, json.dumps(seed_run().tree(digest=False)).encode()]


def _strict(document: Any) -> None:
    """What is written as JSON is JSON, which knows no NaN, and is UTF-8."""
    json.dumps(document, ensure_ascii=False, allow_nan=False).encode()


def _seldom(folder: Path) -> bool:
    """Whether to do what takes long, for some inputs of eight."""
    return (folder / "result.json").stat().st_size % 8 == 0


def _compare(folder: Path) -> None:
    allow = KINDS
    metrics = ["all"] if _seldom(folder) else []
    known, run = seed_run().run, read_run(folder)
    samples = [Sample.from_json(row) for row in known.samples]
    first = Side("known", RunResult.model_validate(known.document), samples)
    sides = [first, Side(str(folder), run.result, list(run.samples()))]
    report = compare_runs(sides, Wanted(metrics=tuple(metrics), allow=tuple(allow)))
    _strict(report.to_json())
    with redirect_stdout(io.StringIO()):
        print_comparison(report, 5)


def _consistency(folder: Path) -> None:
    run = read_run(folder)
    report = examine([ExaminedSamples(str(folder), run.result, run.samples(COLUMNS))])
    _strict(report.to_json())
    with redirect_stdout(io.StringIO()):
        print_consistency(report, 5)


def _table(folder: Path) -> None:
    run = load_run(folder)
    _strict([run.scores, run.groups, run.table()])
    with redirect_stdout(io.StringIO()):
        print_results(read_run(folder).result)
    if _seldom(folder):
        _strict(run.sweep().report)


def _of_result(read: Callable[[Path], None]) -> Callable[[bytes, Path], None]:
    return lambda data, folder: read(put_run(folder, data, seed_run().samples))


def _of_samples(read: Callable[[Path], None]) -> Callable[[bytes, Path], None]:
    def check(data: bytes, folder: Path) -> None:
        result = json.dumps(seed_run().tree(digest=False)).encode()
        read(put_run(folder, result, data))

    return check


def make_samples(rng: Random) -> bytes:
    """A samples file whose bytes, rows or columns are damaged."""
    if rng.randrange(2):
        return damage_bytes(rng, seed_run().samples)
    rows = json.loads(json.dumps(list(seed_run().run.samples)))
    while True:
        try:
            tree = damage_tree(rng, rows, _WORDS)
            schema = arrow_schema() if rng.randrange(3) else None
            table = pa.Table.from_pylist(tree, schema=schema)
            if rng.randrange(6) == 0:
                table = table.drop_columns([rng.choice(table.column_names)])
            file = io.BytesIO()
            pq.write_table(table, file, compression="none")
            return file.getvalue()
        except Exception:
            # No table holds these rows.
            rows = json.loads(json.dumps(list(seed_run().run.samples)))


def _both(folder: Path) -> None:
    _compare(folder)
    _consistency(folder)


TARGETS = (
    Target("result_compare", make_result, _of_result(_compare), _result_seeds, share=0.5),
    Target("result_consistency", make_result, _of_result(_consistency), _result_seeds, share=0.5),
    Target("result_table", make_result, _of_result(_table), _result_seeds, share=0.5),
    Target("samples", make_samples, _of_samples(_both), lambda: [seed_run().samples], share=0.5),
)
