"""Stored runs → a report: joins results, the readers of answers, and the page.

Reads what runs have written and computes nothing that changes a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenbin.metrics import filters
from tenbin.metrics.extraction.explain import ReadingStep
from tenbin.metrics.patterns import TimeBudget
from tenbin.report.charts.differences import difference_chart
from tenbin.report.charts.draw import DARK, LIGHT, Chart, draw_svg, svg_size
from tenbin.report.charts.languages import language_charts
from tenbin.report.charts.scores import score_chart
from tenbin.report.charts.templates import template_chart
from tenbin.report.html.analyses import review_differences, review_languages, review_sweep
from tenbin.report.html.messages import messages
from tenbin.report.html.page import Page
from tenbin.report.html.sample import Explain
from tenbin.report.html.sample_blocks import Blocks, pack_samples
from tenbin.report.html.summary import honest_details, run_summary
from tenbin.results.read import StoredRun
from tenbin.version import __version__


def build_page(
    runs: Sequence[StoredRun],
    language: str = "en",
    title: str | None = None,
    explain: Explain | None = None,
) -> Page:
    """Everything that a report of these runs shows.

    Args:
        runs: One run, or several to be compared; the first is what others are compared with.
        language: Of the interface.
        title: The page's; by default the models' names.
        explain: Tells how written answers are read; by default `Reading`.

    Raises:
        ConfigError: The interface does not speak the language.
        ResultError: Samples cannot be read.
    """
    messages(language)
    blocks = Blocks()
    explain = explain or Reading()
    summaries = [_run(run, blocks, explain) for run in runs]
    named = title or " · ".join(dict.fromkeys(one["model"] for one in summaries))
    summary = {
        "format": 1,
        "tenbin_version": __version__,
        "title": named,
        "runs": summaries,
        "sweeps": [review_sweep(run) for run in runs],
        "consistency": review_languages(runs),
        "comparison": review_differences(runs),
    }
    charts = choose_charts(summary, language)
    summary["charts"] = {chart.name: _drawn(chart, blocks) for chart in charts}
    return Page(f"{named} – tenbin", summary, blocks, language)


def choose_charts(summary: Mapping[str, Any], language: str) -> list[Chart]:
    """The charts that a report's summary gives."""
    say = messages(language)
    charts = [score_chart(summary["runs"], say)]
    for number, sweep in enumerate(summary["sweeps"], 1):
        if sweep and sweep["tasks"]:
            charts.append(template_chart(sweep, number, say))
    for number, document in enumerate(summary["consistency"], 1):
        charts += language_charts(document, number, say)
    if summary["comparison"]:
        charts.append(difference_chart(summary["comparison"], say))
    return [chart for chart in charts if chart is not None]


def _drawn(chart: Chart, blocks: Blocks) -> dict[str, Any]:
    light = draw_svg(chart, LIGHT)
    width, height = svg_size(light)
    return {
        "title": chart.title,
        "note": chart.note,
        "description": chart.description,
        "width": width,
        "height": height,
        "light": blocks.add(light),
        "dark": blocks.add(draw_svg(chart, DARK)),
    }


def _run(run: StoredRun, blocks: Blocks, explain: Explain) -> dict[str, Any]:
    packed = pack_samples(run.document, run.sample_rows(), blocks, explain)
    return {
        **run_summary(run.path.name.removesuffix(".run"), run.document, packed),
        "details": blocks.add(honest_details(run.document)),
    }


class Reading:
    """Tells how written answers were read; one for each report."""

    def __init__(self) -> None:
        self._budget = TimeBudget()

    def __call__(
        self,
        chains: Mapping[str, Sequence[Mapping[str, Any]]],
        text: str,
        language: str,
        choices: int,
    ) -> list[dict[str, Any]]:
        """How each of a task's filters reads a text, step by step."""
        told = []
        for name, steps in chains.items():
            chain = tuple(
                (str(step["function"]), {k: v for k, v in step.items() if k != "function"})
                for step in steps
            )
            found = filters.explain(chain, text, language, choices, self._budget)
            told.append({"filter": name, "steps": [_step(step) for step in found]})
        return told


def _step(step: ReadingStep) -> dict[str, Any]:
    slow = {"too_slow": True} if step.too_slow else {}
    return {"name": step.name, "text": step.text, "mentions": step.mentions, **slow}
