"""The Python API: typed keywords, short texts, tables, samples that are read when asked for."""

from __future__ import annotations

import inspect
import io
import pickle
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

import tenbin
from tenbin.api.progress import choose_listener
from tenbin.api.run import Samples, samples_of
from tenbin.config import RunConfig
from tenbin.config.run_options import RunOptions
from tenbin.errors import ConfigError
from tenbin.report.terminal.progress import BarProgress
from tenbin.results.schema import RunResult

HOSTILE = "<script>alert(1)</script>\x1b[31m天秤"


@pytest.fixture(scope="module")
def run() -> tenbin.Run:
    return tenbin.evaluate(
        "scripted", ["jnli-1.3-0.2", "jsquad-1.1-0.2"], sample_data=True, limit=5, no_cache=True
    )


@pytest.fixture(scope="module")
def sweep() -> tenbin.Sweep:
    return tenbin.sweep("scripted", "jnli", sample_data=True, limit=6, no_cache=True)


@pytest.fixture(scope="module")
def consistency() -> tenbin.Consistency:
    options: dict[str, Any] = {"sample_data": True, "limit": 4, "no_cache": True}
    return tenbin.consistency(tenbin.evaluate("scripted", "mlogiqa_mcq", **options))


@pytest.fixture(scope="module")
def comparison(sweep: tenbin.Sweep) -> tenbin.Comparison:
    return tenbin.compare(sweep.run, cells=["jnli-1.3-0.2", "jnli-1.3-0.3"])


def test_the_package_shows_its_public_names_and_nothing_else() -> None:
    assert dir(tenbin) == sorted(tenbin.__all__)
    for name in tenbin.__all__:
        assert getattr(tenbin, name) is not None
    assert tenbin.Compared is tenbin.Comparison
    with pytest.raises(AttributeError):
        tenbin.build_config  # noqa: B018


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(tenbin.__file__).parent / "py.typed").is_file()


def test_every_option_of_a_run_is_a_keyword() -> None:
    options = set(RunConfig.options) - {"model", "tasks"}
    assert set(RunOptions.__annotations__) == options
    for function in (tenbin.evaluate, tenbin.sweep, tenbin.doctor, tenbin.evaluate_models):
        shown = inspect.signature(function).parameters
        assert options <= set(shown)
        assert all(one.kind is not one.VAR_KEYWORD for one in shown.values())
    assert inspect.signature(tenbin.evaluate).parameters["encoding"].default == "joint"


def test_a_wrong_keyword_is_an_error() -> None:
    """Of type checkers, which read the annotation, and when it is called."""
    for function in (tenbin.evaluate, tenbin.sweep, tenbin.doctor, tenbin.evaluate_models):
        assert function.__annotations__["options"] == "Unpack[RunOptions]"
    with pytest.raises(ConfigError, match="num_fewshots"):
        tenbin.evaluate("scripted", "jnli", num_fewshots=3)  # type: ignore[call-arg]


def test_a_run_is_shown_as_a_table(run: tenbin.Run) -> None:
    first, heads, *lines = repr(run).splitlines()
    assert first == "Run of scripted: 2 tasks"
    assert heads.split() == [
        *("id", "shots", "metric", "value", "stderr", "low", "high", "n", "failed"),
    ]
    assert len(lines) == len(run.table())
    assert lines[0].split()[:4] == [
        *("jnli-1.3-0.2", "0", "acc", f"{run.scores['jnli-1.3-0.2']['acc']:.4f}"),
    ]


def test_others_are_shown_as_tables(
    sweep: tenbin.Sweep, comparison: tenbin.Comparison, consistency: tenbin.Consistency
) -> None:
    for shown, rows in ((sweep, 5), (comparison, 1), (consistency, 10)):
        assert len(repr(shown).splitlines()) == 2 + rows == 2 + len(shown.table())
        assert shown._repr_html_().count("<tr>") == 1 + rows
    assert repr(sweep).startswith(f"Sweep; chosen: {sweep.chosen[0]}")
    assert [row["chosen"] for row in sweep.table()].count(True) == 1
    assert consistency["sets"]["mlogiqa_mcq"]["answers"]["ja"]["read"] == 4


def renamed(run: tenbin.Run, name: str) -> tenbin.Run:
    """The run with the id of its first task changed."""
    document = {
        part: {name if key == "jnli-1.3-0.2" else key: one for key, one in value.items()}
        if part in ("configs", "results", "details")
        else value
        for part, value in run.document.items()
    }
    return replace(run, result=RunResult.model_validate(document))


def test_columns_stay_in_line_where_characters_are_wide(run: tenbin.Run) -> None:
    from rich.cells import cell_len

    _, heads, first, *_ = repr(renamed(run, "日本語の課題")).splitlines()
    assert cell_len(first[: first.index("acc")]) == heads.index("metric")


def test_what_strangers_wrote_is_escaped(run: tenbin.Run) -> None:
    strange = renamed(run, HOSTILE)
    page = strange._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "\x1b" not in page and "\x1b" not in repr(strange)
    assert "\\x1b[31m天秤" in repr(strange)


def test_long_tables_are_cut(run: tenbin.Run) -> None:
    metric = {f"m{at}": 0.5 for at in range(60)}
    errors = {f"m{at}_stderr": 0.1 for at in range(60)}
    detail = dict(next(iter(run.document["details"]["jnli-1.3-0.2"].values())))
    config = run.document["configs"]["jnli-1.3-0.2"]
    document = {
        **run.document,
        "configs": {"a": config},
        "results": {"a": {**metric, **errors}},
        "details": {"a": dict.fromkeys(metric, detail)},
    }
    many = replace(run, result=RunResult.model_validate(document))
    assert repr(many).splitlines()[-1] == "… 20 more rows: table() has all of them"
    assert "… 20 more rows" in many._repr_html_()


def test_pandas_has_the_values_of_the_table(
    run: tenbin.Run, sweep: tenbin.Sweep, comparison: tenbin.Comparison,
    consistency: tenbin.Consistency,
) -> None:  # fmt: skip
    for one in (run, sweep, comparison, consistency):
        frame = one.to_pandas()
        assert list(frame.columns) == list(one.columns)
        shown = frame.astype(object).where(frame.notna(), None).to_dict("records")
        assert shown == one.table()
    types = run.to_pandas().dtypes
    assert (types["value"], types["n"]) == ("float64", "Int64")
    assert pandas.api.types.is_string_dtype(types["metric"])


def test_polars_has_the_values_of_the_table(
    run: tenbin.Run, sweep: tenbin.Sweep, comparison: tenbin.Comparison,
    consistency: tenbin.Consistency,
) -> None:  # fmt: skip
    for one in (run, sweep, comparison, consistency):
        assert one.to_polars().to_dicts() == one.table()
    schema = run.to_polars().schema
    assert (schema["value"], schema["n"], schema["id"]) == (
        polars.Float64(),
        polars.Int64(),
        polars.String(),
    )


def test_a_column_without_values_keeps_its_type(run: tenbin.Run) -> None:
    (detail,) = list(run.document["details"]["jsquad-1.1-0.2"].values())[:1]
    bare = {key: value for key, value in detail.items() if key not in ("low", "high", "clusters")}
    document = {
        **run.document,
        "configs": {"a": run.document["configs"]["jsquad-1.1-0.2"]},
        "results": {"a": {"m": None, "m_stderr": None}},
        "details": {"a": {"m": bare}},
    }
    empty = replace(run, result=RunResult.model_validate(document))
    assert empty.to_pandas().dtypes["value"] == "float64"
    assert empty.to_pandas().dtypes["clusters"] == "Int64"
    assert empty.to_polars().schema["stderr"] == polars.Float64()
    assert empty.to_polars().to_dicts() == empty.table()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named(
    run: tenbin.Run, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError, match=f"needs {library}, which is not installed"):
        getattr(run, f"to_{library}")()


def test_samples_are_read_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.json"
    fresh = tenbin.evaluate(
        "scripted", "jnli", sample_data=True, limit=7, no_cache=True, output_path=path
    )
    stored = tenbin.load_run(path)
    samples = tmp_path / "r.run" / "samples.parquet"
    assert len(stored.samples) == 7
    assert repr(stored.samples) == "Samples(7 documents)"
    assert stored.samples == fresh.samples
    assert stored.samples[2] == list(fresh.samples)[2] == stored.samples[-5]
    assert stored.samples[1:6:2] == list(fresh.samples)[1:6:2]
    assert stored.samples[0] == fresh.samples[0]
    with pytest.raises(IndexError):
        stored.samples[7]
    assert pickle.loads(pickle.dumps(fresh)).samples == stored.samples
    samples.unlink()
    with pytest.raises(tenbin.TenbinError, match="samples"):
        list(stored.samples)
    assert len(fresh.samples[:3]) == 3


def test_going_through_samples_reads_each_once() -> None:
    read: list[int] = []

    def rows() -> Any:
        for at in range(2_500):
            read.append(at)
            yield {"at": at}

    samples = Samples(rows, lambda: 2_500)
    assert [samples[at]["at"] for at in range(2_500)] == list(range(2_500))
    assert len(read) == 2_500
    assert samples[2_400]["at"] == 2_400 and len(read) == 2_500
    assert samples != samples_of([{"at": 0}])


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    own = tenbin.Listener()
    assert choose_listener(own, True) is own
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert type(choose_listener(None, None)) is tenbin.Listener
    monkeypatch.setattr(sys, "stderr", _Terminal())
    assert isinstance(choose_listener(None, None), BarProgress)
    assert type(choose_listener(None, False)) is tenbin.Listener


def test_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    class ZMQInteractiveShell:
        pass

    class Handle:
        def update(self, page: str) -> None:
            drawn.append(page)

    kernel: Any = types.ModuleType("IPython")
    kernel.get_ipython = ZMQInteractiveShell
    output: Any = types.ModuleType("IPython.display")
    output.HTML = str
    output.display = lambda page, display_id: Handle()
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", output)
    listener = choose_listener(None, None)
    listener.message("<b>a notice</b>")
    options: dict[str, Any] = {"sample_data": True, "limit": 5, "no_cache": True}
    tenbin.evaluate("scripted", "jnli", listener=listener, **options)
    assert "&lt;b&gt;a notice&lt;/b&gt;" in drawn[-1]
    assert '<progress value="5" max="5">' in drawn[-1]
