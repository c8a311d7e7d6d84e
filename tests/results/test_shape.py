"""Stored runs that are damaged, edited, or of another program: refused when they are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tenbin.api import compare, load_run
from tenbin.errors import ResultError
from tenbin.results.read import read_run
from tests.report.made_run import choice_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return choice_run(tmp_path / "run", 20)


def _damage(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = folder / "result.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda d: d.pop("configs"), "configs"),
        (lambda d: d.update(configs={}), "configs"),
        (lambda d: d.update(details=[]), "details"),
        (lambda d: d["details"].pop("made"), "details: lacks made"),
        (lambda d: d["details"]["made"]["acc"].update(n="5"), "details.made.acc.n"),
        (lambda d: d["details"]["made"]["acc"].update(n=10**400), "details.made.acc.n"),
        (lambda d: d["details"]["made"]["acc"].pop("unit"), "details.made.acc.unit"),
        (lambda d: d["details"].update(made={}), "details.made"),
        (lambda d: d["results"]["made"].pop("acc"), "has no number acc"),
        (lambda d: d["results"]["made"].update(acc=[]), "results.made.acc"),
        (lambda d: d["results"]["made"].update(acc="high"), "has no number acc"),
        (lambda d: d["configs"]["made"].update(task=None), "configs.made.task"),
        (lambda d: d["configs"]["made"].update(seed=1.5), "configs.made.seed"),
        (lambda d: d["config"].pop("seed"), "config.seed"),
        (lambda d: d.update(failures={"made": {"memory": -1}}), "failures.made.memory"),
        (lambda d: d.update(groups={"g": {}}), "lacks g"),
        (lambda d: d.pop("fingerprint"), "fingerprint"),
        (lambda d: d.update(model="m"), "model"),
        (lambda d: d["data"].pop("made"), "data: lacks made"),
        (lambda d: d.update(partial=True), "n-samples.made: lacks asked"),
        (lambda d: d.update(partial="yes"), "partial"),
    ],
)
def test_a_damaged_result_is_refused_by_key(
    folder: Path, change: Callable[[dict[str, Any]], Any], where: str
) -> None:
    _damage(folder, change)
    with pytest.raises(ResultError) as caught:
        read_run(folder)
    assert where in caught.value.message
    assert "result.json" in caught.value.message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"schema_version": 2, "x": NaN}', "NaN"),
        ('{"schema_version": 2, "x": 1e999}', "too large"),
        ('{"x": ' + "[" * 100 + "]" * 100 + "}", "nested"),
        ("[" * 100_000, "nested"),
        ('{"x": "\\ud800"}', "surrogate"),
        ('{"x": ' + "9" * 5_000 + "}", "cannot be read"),
        ("null", "no result"),
    ],
)
def test_json_that_nothing_can_hold_is_refused(folder: Path, text: str, reason: str) -> None:
    (folder / "result.json").write_text(text)
    with pytest.raises(ResultError, match=reason):
        read_run(folder)


def _rewrite(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    path = folder / "samples.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    _damage(folder, lambda document: document.pop("samples", None))


def _with(table: pa.Table, name: str, value: Any) -> pa.Table:
    at = table.column_names.index(name)
    values = [*table.column(name).to_pylist()[:-1], value]
    return table.set_column(at, name, pa.array(values, type=table.schema.field(name).type))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda t: t.drop_columns(["outcomes"]), "column outcomes is missing"),
        (lambda t: t.drop_columns(["document"]), "column document is missing"),
        (lambda t: t.append_column("id", t.column("id")), "comes twice"),
        (
            lambda t: t.set_column(
                t.column_names.index("seed"), "seed", t.column("seed").cast(pa.string())
            ),
            "column seed holds string",
        ),
        (lambda t: _with(t, "document", None), "row 20: document is null"),
        (lambda t: _with(t, "outcomes", None), "row 20: outcomes is null"),
        (lambda t: _with(t, "outcomes", [None]), "an entry of outcomes is null"),
        (lambda t: _with(t, "outcomes", [{"value": 1.0}]), "names no metric"),
        (
            lambda t: _with(t, "outcomes", [{"metric": "acc", "value": float("nan")}]),
            "acc is not a finite number",
        ),
        (
            lambda t: _with(t, "outcomes", [{"metric": "acc", "value": 1.0, "predicted": -1}]),
            "acc names choice -1",
        ),
        (lambda t: _with(t, "gold", -5), "gold is -5"),
        (lambda t: _with(t, "id", "other"), "has no such task"),
    ],
)
def test_damaged_samples_are_refused_by_row(
    folder: Path, change: Callable[[pa.Table], pa.Table], reason: str
) -> None:
    _rewrite(folder, change)
    with pytest.raises(ResultError, match=reason):
        list(load_run(folder).samples)


def test_columns_that_earlier_runs_lack_are_null(folder: Path) -> None:
    _rewrite(folder, lambda table: table.drop_columns(["row", "item", "parts", "num_choices"]))
    run = load_run(folder)
    assert {sample["row"] for sample in run.samples} == {None}
    assert compare(run, run).document["comparisons"]
