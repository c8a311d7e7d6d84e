"""Builds a page from stored runs: samples, summaries, analyses and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenbin.analysis.curve.report import CurveReport
from tenbin.metrics import filters
from tenbin.metrics.extraction.explain import ReadingStep
from tenbin.metrics.patterns import TimeBudget
from tenbin.report.charts.curve import curve_charts
from tenbin.report.charts.differences import difference_chart
from tenbin.report.charts.distribution import distribution_chart
from tenbin.report.charts.draw import DARK, LIGHT, Chart, draw_svg, svg_size
from tenbin.report.charts.languages import language_charts
from tenbin.report.charts.leaderboard import leaderboard_chart
from tenbin.report.charts.option_order import option_order_chart
from tenbin.report.charts.scores import score_chart
from tenbin.report.charts.templates import template_chart
from tenbin.report.html.alignment import align_tasks
from tenbin.report.html.analyses import (
    review_languages,
    review_order,
    review_sweep,
)
from tenbin.report.html.comparison import baseline_rows, review_differences
from tenbin.report.html.curve import page_curve
from tenbin.report.html.leaderboard import review_leaderboard
from tenbin.report.html.messages import messages
from tenbin.report.html.model import PageChart, PageReading, PageStep, PageSummary, RunSummary
from tenbin.report.html.page import Page
from tenbin.report.html.run_names import differing_settings, name_page_runs
from tenbin.report.html.sample import Explain, Filters
from tenbin.report.html.sample_blocks import Blocks, pack_samples
from tenbin.report.html.summary import result_details, run_summary
from tenbin.report.html.watch import Watch, unwatched, watched
from tenbin.results.folder import run_name
from tenbin.results.read import StoredRun
from tenbin.version import __version__

_MOST_IN_TITLE = 3
"""Names of runs in a page's title."""


def build_page(
    runs: Sequence[StoredRun],
    language: str = "en",
    title: str | None = None,
    explain: Explain | None = None,
    home: str | None = None,
    curve: CurveReport | None = None,
    watch: Watch = unwatched,
) -> Page:
    """Return the page of one or several runs.

    Args:
        runs: The first is the baseline that the page opens with.
        language: Language of the interface.
        title: Title of the page; the models' names by default.
        explain: Explains how generated answers were read; an `Explainer` by default.
        home: Address of the list of runs, if a server shows the page.
        curve: Learning curves of a training, of which the run is the newest checkpoint's.
        watch: Told of progress.

    Raises:
        ConfigError: The interface is not available in the language.
        ResultError: Samples cannot be read.
    """
    messages(language)
    blocks = Blocks()
    explain = explain or Explainer()
    names = name_page_runs(runs)
    named_runs = watched(list(zip(names, runs, strict=True)), "packing documents", "runs", watch)
    summaries = [_run(name, run, blocks, explain) for name, run in named_runs]
    aligned = align_tasks([run.result for run in runs])
    named = title or _title(names, language)
    summary = PageSummary(
        tenbin_version=__version__,
        title=named,
        runs=summaries,
        settings=differing_settings(runs),
        aligned=aligned,
        sweeps=[review_sweep(run) for run in runs],
        orders=[review_order(run) for run in runs],
        consistency=review_languages(runs, names),
        comparison=review_differences(runs, names, aligned, blocks, watch),
        curve=None if curve is None else page_curve(curve),
        leaderboard=review_leaderboard(runs),
        home=home,
    )
    charts = choose_charts(summary, language)
    shown = watched([one for one in charts if one.on_page], "drawing", "charts", watch)
    drawn = {chart.name: _drawn(chart, blocks) for chart in shown}
    return Page(f"{named} – tenbin", replace(summary, charts=drawn), blocks, language)


def _title(names: Sequence[str], language: str) -> str:
    """Return the names of the runs, or of the first where there are many."""
    if len(names) <= _MOST_IN_TITLE:
        return " · ".join(names)
    shown = " · ".join(names[: _MOST_IN_TITLE - 1])
    more = len(names) - _MOST_IN_TITLE + 1
    return messages(language)["title_more"].format(names=shown, n=more)


def choose_charts(summary: PageSummary, language: str) -> list[Chart]:
    """Return the charts for a page's summary."""
    say = messages(language)
    charts: list[Chart | None] = [score_chart(summary.runs, summary.aligned, say)]
    if summary.curve is not None:
        charts += curve_charts(summary.curve, say)
    if summary.leaderboard is not None and summary.leaderboard.report is not None:
        charts.append(leaderboard_chart(summary.leaderboard.report, say))
    for number, sweep in enumerate(summary.sweeps, 1):
        if sweep is None:
            continue
        charts += [
            distribution_chart(found, f"distribution-{number}-{at}", say)
            for at, found in enumerate(sweep.distributions, 1)
        ]
        if sweep.tasks:
            charts.append(template_chart(sweep.tasks, number, say))
    for number, order in enumerate(summary.orders, 1):
        charts += [
            option_order_chart(one, f"order-{number}-{at}", say)
            for at, one in enumerate(order.templates if order else (), 1)
        ]
    for number, found in enumerate(summary.consistency, 1):
        charts += language_charts(found.sets, number, say)
    if summary.comparison is not None:
        names = [run.name for run in summary.runs]
        charts.append(difference_chart(baseline_rows(summary.comparison), names, say))
    return [chart for chart in charts if chart is not None]


def _drawn(chart: Chart, blocks: Blocks) -> PageChart:
    light = draw_svg(chart, LIGHT)
    width, height = svg_size(light)
    return PageChart(
        title=chart.title,
        note=chart.note,
        description=chart.description,
        width=width,
        height=height,
        light=blocks.add(light),
        dark=blocks.add(draw_svg(chart, DARK)),
    )


def _run(name: str, run: StoredRun, blocks: Blocks, explain: Explain) -> RunSummary:
    samples = pack_samples(run.result, run.samples(), blocks, explain)
    details = blocks.add(result_details(run.result))
    return run_summary(name, run_name(run.path), run.result, samples, details)


class Explainer:
    """Explains how generated answers were read; one instance per report.

    It shares a time budget among all answers, since stored runs bring their own patterns.
    """

    def __init__(self) -> None:
        self._budget = TimeBudget()

    def __call__(
        self, chains: Filters, text: str, language: str, choices: int
    ) -> list[PageReading]:
        """Return how each of a task's filters reads a text, step by step."""
        readings = []
        for name, steps in chains.items():
            chain = tuple(
                (str(step["function"]), {k: v for k, v in step.items() if k != "function"})
                for step in steps
            )
            found = filters.explain(chain, text, language, choices, self._budget)
            readings.append(PageReading(name, [_step(step) for step in found]))
        return readings


def _step(step: ReadingStep) -> PageStep:
    return PageStep(step.name, step.text, step.mentions, True if step.too_slow else None)
