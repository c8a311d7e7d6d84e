"""Stored runs and progress files as `tenbin report` and `tenbin serve` show them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from tenbin.report.charts.draw import Chart, Palette, import_altair
from tenbin.report.html.build import build_page
from tenbin.report.html.page import Place, page_text
from tenbin.report.serve.index import list_runs
from tenbin.results.read import read_run
from tests.fuzz.mutation import damage_bytes, damage_tree, write_json
from tests.fuzz.target import Target
from tests.fuzz.targets.seed_run import put_run, seed_run
from tests.fuzz.targets.stored import make_result, make_samples

_CHARTS_EVERY = 20
"""Charts take a hundred times as long as all the rest."""
_PROGRESS: tuple[dict[str, Any], ...] = (
    {
        "state": "asking", "model": "m", "started": "2026-01-02T03:04:05+00:00",
        "updated": "2026-01-02T03:04:06+00:00", "requests": 10, "answered": 3,
        "cells": [
            {
                "id": "jnli", "documents": 5, "answered": 2,
                "scores": {
                    "acc": {
                        "value": 0.5, "stderr": 0.1, "n": 2, "failed": 0,
                        "higher_is_better": True, "unit": "",
                    }
                },
            }
        ],
    },
    {"state": "stopped", "model": None, "started": None, "updated": None, "cells": []},
)  # fmt: skip


def _make_progress(rng: Random) -> bytes:
    tree = json.loads(json.dumps(rng.choice(_PROGRESS)))
    written = write_json(rng, damage_tree(rng, tree, ("loading", "writing", "2026-13-01", "9999")))
    return damage_bytes(rng, written) if rng.randrange(4) == 0 else written


def _listed(name: str) -> Callable[[bytes, Path], None]:
    def check(data: bytes, folder: Path) -> None:
        (folder / "run").mkdir()
        (folder / "run" / name).write_bytes(data)
        (folder / "other").mkdir()
        put_run(folder / "other", seed_run().result, b"")
        listed = list_runs(folder)
        json.dumps({"runs": listed}, ensure_ascii=False, allow_nan=False).encode()
        # A damaged run must not take the others with it.
        assert "other" in [row["name"] for row in listed]

    return check


def _make_page(rng: Random) -> bytes:
    if rng.randrange(2):
        return b"r" + make_result(rng)
    return b"s" + make_samples(rng)


def _described(chart: Chart, look: Palette) -> str:
    """A chart as it is handed over for drawing."""
    chart.build(import_altair(), look).to_json()
    return '<svg width="1" height="1"></svg>'


def _check_page(data: bytes, folder: Path) -> None:
    without = json.dumps(seed_run().tree(digest=False)).encode()
    given = data[1:]
    run = (given, seed_run().samples) if data[:1] == b"r" else (without, given)
    put_run(folder, *run)
    # Drawing itself is another program's; it needs more address space than a worker has.
    with ExitStack() as patched:
        patched.enter_context(patch("tenbin.report.html.build.draw_svg", _described))
        if len(data) % _CHARTS_EVERY:
            name = "tenbin.report.html.build.choose_charts"
            patched.enter_context(patch(name, lambda summary, language: []))
        page = build_page([read_run(folder)])
    "".join(page_text(page, Place("file", ""))).encode()


TARGETS = (
    Target(
        "progress",
        _make_progress,
        _listed("progress.json"),
        lambda: [json.dumps(one).encode() for one in _PROGRESS],
        share=2.0,
    ),
    Target(
        "result_listing",
        make_result,
        _listed("result.json"),
        lambda: [seed_run().result],
        share=2.0,
    ),
    Target(
        "report",
        _make_page,
        _check_page,
        lambda: [b"r" + seed_run().result, b"s" + seed_run().samples],
        share=0.25,
    ),
)
