"""Renders charts as SVG and PNG, in the light and dark colours of the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenbin.errors import ConfigError
from tenbin.files.atomic import atomic_file, write_atomically
from tenbin.files.disk_errors import writing

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one theme, the same as the page's."""

    ink: str
    soft: str
    rule: str
    accent: str
    other: str
    paper: str
    heat: tuple[str, ...]
    """From low to high."""
    runs: tuple[str, ...]
    """One for each run of several, the same as the page's `--run-1` to `--run-8`."""


LIGHT = Palette(
    "#1d2126", "#5a6068", "#dedad1", "#24517f", "#a83a1e", "#fbfaf7",
    ("#f3f1ea", "#b8cadb", "#6f97bd", "#24517f"),
    ("#24517f", "#a83a1e", "#0b6e63", "#8a6a00", "#6d3b8f", "#3d7a1f", "#b0327a", "#5a6068"),
)  # fmt: skip
DARK = Palette(
    "#e5e3dd", "#a3a8ae", "#2e3439", "#8fb8e0", "#f09a7c", "#14171a",
    ("#1e2429", "#2f475d", "#5582ac", "#a9cdf0"),
    ("#8fb8e0", "#f09a7c", "#6fc9b8", "#d9b95b", "#c9a0e6", "#9fd07a", "#ef9cc8", "#b4b9bf"),
)  # fmt: skip

_FONT = "'Noto Sans', 'Noto Sans CJK JP', 'Hiragino Sans', 'Segoe UI', system-ui, sans-serif"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart that is not rendered yet."""

    name: str
    """Name of its file."""
    title: str
    description: str
    """Alternative text."""
    build: Callable[[Any, Palette], Any]
    """(the altair module, the colours) → an altair chart."""
    note: str = ""
    on_page: bool = True
    """Whether pages show it; those that have a heat map of their own leave theirs to files."""


def import_altair() -> Any:
    """Return the chart library.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"reports and charts need a library that is not installed: {error.name}",
            "pip install 'tenbin[report]', or python -m pip install altair vl-convert-python",
        ) from error
    return altair


def values(altair: Any, rows: Sequence[Row]) -> Any:
    """Return rows as a chart's data."""
    return altair.Data(values=list(rows))


def run_colour(altair: Any, palette: Palette, names: Sequence[str]) -> Any:
    """Return the colour of each run, by its name."""
    colours = [palette.runs[at % len(palette.runs)] for at in range(len(names))]
    return altair.Color(
        "run:N",
        sort=None,
        title=None,
        scale=altair.Scale(domain=list(names), range=colours),
        legend=altair.Legend(orient="top", labelLimit=240, columns=3),
    )


def draw_svg(chart: Chart, palette: Palette) -> str:
    """Return the chart as SVG."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(_specification(chart, palette)))


def draw_png(chart: Chart) -> bytes:
    """Return the chart as PNG at twice its size, on white."""
    import vl_convert

    described = {**_specification(chart, LIGHT), "background": "#ffffff"}
    return bytes(vl_convert.vegalite_to_png(described, scale=2))


def svg_size(svg: str) -> tuple[int, int]:
    """Return width and height of an SVG chart."""
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    return (round(float(found[1])), round(float(found[2]))) if found else (640, 400)


def write_charts(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Write every chart as SVG and PNG.

    Raises:
        StorageError: The folder cannot be written.
    """
    written = []
    with writing(folder, "name another folder with --charts"):
        folder.mkdir(parents=True, exist_ok=True)
        for chart in charts:
            svg, png = folder / f"{chart.name}.svg", folder / f"{chart.name}.png"
            write_atomically(svg, draw_svg(chart, LIGHT))
            with atomic_file(png) as partial:
                partial.write_bytes(draw_png(chart))
            written += [svg, png]
    return written


def _specification(chart: Chart, palette: Palette) -> dict[str, Any]:
    altair = import_altair()
    built = chart.build(altair, palette)
    axis = {
        "labelColor": palette.soft,
        "titleColor": palette.soft,
        "domainColor": palette.rule,
        "tickColor": palette.rule,
        "gridColor": palette.rule,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 320,
    }
    described: dict[str, Any] = json.loads(built.to_json())
    described["background"] = "transparent"
    described["config"] = {
        "font": _FONT,
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"domain": False, "ticks": False, "labelPadding": 8},
        "header": {"labelColor": palette.ink, "labelFontSize": 13, "titleColor": palette.soft},
        "legend": {
            "labelColor": palette.soft,
            "titleColor": palette.soft,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
        },
        "text": {"color": palette.ink, "fontSize": 12},
        "padding": {"left": 2, "right": 8, "top": 4, "bottom": 2},
    }
    return described
