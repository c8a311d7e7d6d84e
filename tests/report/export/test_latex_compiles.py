"""LaTeX tables in a real document, where pdflatex is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tenbin.report.export import ExportSettings, NamedRun, export_text
from tests.report.export.made_runs import ACC, HOSTILE, OTHER, run
from tests.results.made_result import cell_config

LATIN = "".join(chr(code) for code in range(0x21, 0x100) if chr(code).isprintable())


def hostile_runs() -> list[NamedRun]:
    name = HOSTILE.replace("天秤", "é – … × ±")
    shots = {name: cell_config(task=name, num_fewshot=3)}
    return [
        run(name, {name: ACC, "[x]": ACC, LATIN: {"acc": (-0.5, -0.6, 0.5)}}),
        run("[b]*", {name: OTHER, "*y": OTHER}, configs=shots),
    ]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("rows", ["models", "tasks"])
def test_hostile_names_compile(rows: str, tmp_path: Path) -> None:
    settings = ExportSettings(percent=True, rows=rows)  # type: ignore[arg-type]
    table = export_text(hostile_runs(), "latex", settings)
    document = (
        "\\documentclass{article}\\usepackage{booktabs}\\usepackage[T1]{fontenc}\n"
        f"\\begin{{document}}\n{table}\\end{{document}}\n"
    )
    (tmp_path / "table.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "table.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
