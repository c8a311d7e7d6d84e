"""The view of learning curves: figures, charts, the command, and the page in a browser."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import tenbin
from tenbin.analysis.curve.report import CurveReport
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.report.charts.curve import curve_charts
from tenbin.report.charts.draw import DARK, LIGHT, draw_svg
from tenbin.report.html.curve import MOST_FIGURES, page_curve
from tenbin.report.html.messages import messages
from tests.browser import OpenPage, show

STEPS = (100, 200, 300, 20_000)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of four checkpoints under two wordings, answered by a script that learns."""
    folder = tmp_path_factory.mktemp("curve")
    for at, step in enumerate(STEPS):

        def score(prompt: str, text: str, step: int = step, at: int = at) -> float:
            drawn = hashlib.sha256(f"{step}{prompt}{text}".encode()).digest()[0] / 256
            return -4.0 + at * 0.5 - drawn

        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TENBIN_CACHE", str(folder / "cache"))
            tenbin.evaluate(
                ScriptedBackend(score=score, fingerprint=f"model {step}"),
                tasks=["jnli-1.3-0.2", "jnli-1.3-0.3", "plain_text_en"],
                num_fewshot=0,
                sample_data=True,
                extra_metrics="gold_bits_per_byte",
                output_path=str(folder / "runs" / f"checkpoint-{step}.json"),
            )
    return folder / "runs"


@pytest.fixture(scope="module")
def report(stored: Path) -> CurveReport:
    return tenbin.curve(stored).record


def test_wordings_of_a_task_share_a_figure(report: CurveReport) -> None:
    found = page_curve(report)
    shown = [
        (figure.heading, [report.curves[at].template for at in figure.curves])
        for figure in found.figures
    ]
    assert shown == [
        ("jnli 1.3, 0-shot", ["0.2", "0.3"]),
        ("jnli 1.3, 0-shot", ["0.2", "0.3"]),
        ("plain_text_en 1.0, 0-shot, default", ["default"]),
    ]
    assert found.without_figure == 0 and len({one.chart for one in found.figures}) == 3


def test_there_are_no_more_figures_than_anybody_reads(report: CurveReport) -> None:
    from dataclasses import replace

    one = report.curves[-1]
    many = tuple(replace(one, task=f"task {at}") for at in range(MOST_FIGURES + 7))
    found = page_curve(replace(report, curves=many))
    assert len(found.figures) == MOST_FIGURES and found.without_figure == 7


@pytest.mark.parametrize("language", ["en", "ja"])
def test_charts_show_bands_chance_and_steps(report: CurveReport, language: str) -> None:
    charts = curve_charts(page_curve(report), messages(language))
    drawn = [draw_svg(chart, palette) for chart in charts for palette in (LIGHT, DARK)]
    assert all("<svg" in svg and "NaN" not in svg for svg in drawn)
    # Two wordings: a legend names both. From 100 to 20,000 steps: 20k on a logarithmic axis.
    assert "0.2" in drawn[0] and "0.3" in drawn[0] and "20k" in drawn[0]
    assert drawn[0].count("stroke-dasharray") >= 1, "chance"
    assert charts[0].title.startswith("jnli 1.3, 0-shot · acc")


def test_the_command_writes_page_and_charts(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, charts = tmp_path / "c.html", tmp_path / "charts"
    given = ["report", "--curve", str(stored), "-o", str(page), "--charts", str(charts)]
    assert main(given) == 0
    assert "learning curves · 4 checkpoints, steps 100 to 20,000" in capsys.readouterr().out
    assert {"curve-1.svg", "curve-1.png", "curve-3.svg"} <= {one.name for one in charts.iterdir()}
    text = page.read_text(encoding="utf-8")
    summary = json.loads(text.partition('id="summary">')[2].partition("</script>")[0])
    assert [one["step"] for one in summary["curve"]["report"]["checkpoints"]] == list(STEPS)
    (newest,) = summary["runs"]
    bits = newest["cells"][0]["metrics"][-1]
    assert bits["value"] == summary["curve"]["report"]["curves"][1]["points"][-1]["value"]
    assert main(["report", str(stored / "checkpoint-100.json"), "--metric", "acc"]) == 1
    assert "add --curve" in capsys.readouterr().err


def test_the_page_in_a_browser(stored: Path, tmp_path: Path, open_page: OpenPage) -> None:
    file = tmp_path / "c.html"
    assert main(["report", "--curve", str(stored), "-o", str(file)]) == 0
    page = open_page(file, "")
    show(page, "curve")
    assert page.locator('nav a[data-view="curve"][aria-current="page"]').count() == 1
    assert page.locator("h2", has_text="4 checkpoints, steps 100 to").is_visible()
    assert page.locator("figure.chart img").count() == 3
    signals = page.locator("table.scores").nth(1).locator("tbody tr")
    assert signals.count() == 5 and signals.first.locator(".signal-no, .signal-yes").count() == 1
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
