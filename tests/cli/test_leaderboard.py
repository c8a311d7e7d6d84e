"""`tenbin leaderboard` as a user meets it, and its Python form."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

import tenbin
from tenbin.analysis.leaderboard.build import build_leaderboard
from tenbin.cli import main
from tenbin.report.charts.draw import LIGHT, import_altair
from tenbin.report.charts.leaderboard import leaderboard_chart
from tenbin.report.html.messages import messages
from tenbin.report.stored_runs import read_sources
from tenbin.report.terminal.leaderboard import Notes, print_leaderboard

NAMES = ("first_model", "second", "a-model-with-quite-a-long-name-of-its-own")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Three scripted models, one of which was asked less."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENBIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        for at, name in enumerate(NAMES):
            tasks = "jnli,mlogiqa_gen_ja" if at else "mlogiqa_mcq,jnli,mlogiqa_gen_ja"
            given = ["--tasks", tasks, "--model_args", f"text={{'answer': '{'ABC'[at]}'}}"]
            target = str(folder / f"{name}.json")
            run = ["run", "--model", "scripted", "--sample_data", *given, "--output_path", target]
            assert main(run) == 0
    broken = folder / "broken"
    broken.mkdir()
    (broken / "result.json").write_text("{}")
    yield folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_folder_of_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "leaderboard", str(folder))
    assert code == 0, err
    for word in (*NAMES[:2], "groups", "10 tasks", "mlogiqa_gen_ja", "exact_match", "n = "):
        assert word in out
    assert "a: not run" in out and "* best; = not shown to differ" in out
    assert f"not read: {folder / 'broken'}" in out
    assert out.index("mlogiqa_mcq") < out.index("jnli"), "groups first"
    assert "\x1b" not in out, "no colour codes in a pipe"


@pytest.mark.parametrize("by", ["suite", "language", "template"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_any_width_is_kept(
    width: int, by: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    report = build_leaderboard(read_sources([folder / f"{name}.json" for name in NAMES])[0], by)
    print_leaderboard(report, Console(width=width, color_system=None))
    out = capsys.readouterr().out
    assert max(cell_len(line.rstrip()) for line in out.splitlines()) <= width
    assert "jnli" in out and "a-model" in out and "its-own" in out


def test_formats(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = {
        form: run(capsys, "leaderboard", str(folder), "--format", form)[1]
        for form in ("csv", "md", "latex", "json")
    }
    document = json.loads(written["json"])
    assert document["schema_version"] == 1 and set(document["unread"]) == {str(folder / "broken")}
    assert {one["name"] for one in document["models"]} == set(NAMES)
    rows = list(csv.DictReader(io.StringIO(written["csv"])))
    assert len(rows) == len(document["models"]) * len(document["columns"])
    assert {row["missing"] for row in rows} == {"", "not run"}
    (row,) = [
        one
        for one in rows
        if one["model"] == NAMES[0] and one["column"] == "jnli" and one["metric"] == "acc"
    ]
    assert float(row["value"]) == float(
        tenbin.load_run(folder / f"{NAMES[0]}.json").scores["jnli-1.3-0.2"]["acc"]
    )
    assert row["run"].endswith(f"{NAMES[0]}.run") and row["ranked"] == "true"
    assert "| first\\_model |" in written["md"] and "**" in written["md"]
    assert "acc ↑, n = 18 |" in written["md"] and "- a: not run" in written["md"]
    assert "| mlogiqa\\_gen\\_ja default, 0-shot, exact\\_match" in written["md"]
    assert "first\\_model &" in written["latex"] and "\\toprule" in written["latex"]
    assert written["latex"].count("\\begin{tabular}") == written["latex"].count("\\end{tabular}")
    assert "bold: best" in written["md"] and "* best" not in written["md"] + written["latex"]
    notes = written["latex"].partition("\\footnotesize")[2]
    assert "a: not run" in notes and "%" not in notes.replace("\\%", ""), "no comment: it is set"
    shared = "mlogiqa\\_mcq $\\cdot$ default, 0-shot $\\cdot$ acc"
    assert shared in written["latex"] and written["latex"].count("default, 0-shot") < 10
    by_language = run(capsys, "leaderboard", str(folder), "--by", "language", "--format", "md")[1]
    assert len(re.findall(r"\([+-]0\.\d{3}\)", by_language)) == 9, "the gap of nine languages"
    assert "- With a sign: the difference to the same model's" in by_language
    file = tmp_path / "board.md"
    assert run(capsys, "leaderboard", str(folder), "--format", "md", "-o", str(file))[1] == ""
    assert file.read_text(encoding="utf-8") == written["md"]


def test_what_cannot_be_shown(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "leaderboard", str(tmp_path))
    assert code == 1 and "no stored run there" in err
    code, _, err = run(capsys, "leaderboard", str(folder / "broken"))
    assert code == 1 and "result.json" in err
    code, _, err = run(capsys, "leaderboard", str(folder), "--allow", "colour")
    assert code == 1 and "--allow colour: unknown" in err


def test_from_python(folder: Path) -> None:
    board = tenbin.leaderboard(folder)
    frame = board.to_pandas()
    assert len(frame) == len(board.table()) and set(frame["model"]) == set(NAMES)
    assert str(frame["rank_low"].dtype) == "Int64" and str(frame["best"].dtype) == "boolean"
    assert board.document["by"] == "suite" and repr(board).startswith("Leaderboard of 3 models")
    page = board._repr_html_()
    assert "<b>" in page and "first_model" in page and "<script" not in page
    loaded = [tenbin.load_run(folder / f"{name}.json") for name in NAMES]
    again = tenbin.leaderboard(*loaded, by="suite")
    assert _values(again) == _values(board)


def _values(board: tenbin.Leaderboard) -> set[tuple[object, ...]]:
    names = ("model", "column", "value", "rank_low", "rank_high", "missing")
    return {tuple(row[name] for name in names) for row in board.table()}


def test_notes_have_letters() -> None:
    notes = Notes()
    letters = [notes.letter(f"reason {at}") for at in range(54)]
    assert letters[:2] == ["a", "b"] and letters[25:28] == ["z", "aa", "ab"]
    assert letters[52] == "ba" and notes.letter("reason 0") == "a" and len(set(letters)) == 54


def test_columns_of_one_id_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other shots are another column: in the list of those without ranks, and in the chart."""
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path / "cache"))
    for shots in ("0", "1"):
        given = ["--tasks", "jnli", "--num_fewshot", shots, "--model_args", f"fingerprint={shots}"]
        target = str(tmp_path / f"shots{shots}.json")
        start = ["run", "--model", "scripted", "--sample_data", "--output_path", target]
        assert main([*start, *given]) == 0
    files = sorted(tmp_path.glob("*.json"))
    _, out, _ = run(capsys, "leaderboard", *map(str, files), "--by", "template")
    assert "no ranks: jnli-1.3-0.2 (0-shot), jnli-1.3-0.2 (1-shot): no other" in out
    chart = leaderboard_chart(build_leaderboard(read_sources(files)[0]), messages("en"))
    assert chart is not None
    drawn = json.dumps(chart.build(import_altair(), LIGHT).to_dict())
    assert "jnli-1.3-0.2 0-shot  acc" in drawn and "jnli-1.3-0.2 1-shot  acc" in drawn


def test_ids_in_headers_are_not_cut(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = build_leaderboard(read_sources([folder / f"{name}.json" for name in NAMES])[0])
    longer = "one-1.1-of-17-more"
    columns = [replace(one, label=longer) for one in report.columns]
    capsys.readouterr()
    print_leaderboard(replace(report, columns=columns), Console(width=120, color_system=None))
    assert longer in capsys.readouterr().out
