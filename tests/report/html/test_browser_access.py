"""Whether everybody can use the report: axe finds no serious fault in any view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.cli.report import write_report
from tests.browser import OpenPage, show

VIEWS = [
    "overview",
    "languages",
    "samples?run=1&task=mlogiqa_gen_ja",
    "samples?run=1&task=jnli-1.3-0.2",
    "details",
]


def faults(page: Any) -> list[str]:
    """Serious and critical faults, each with the first element that has it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault(report: Path, open_page: OpenPage, scheme: str) -> None:
    # The checker itself is a script that the page's policy would refuse.
    page = open_page(report, color_scheme=scheme, bypass_csp=True)
    for view in VIEWS:
        show(page, view)
        assert faults(page) == [], view


@pytest.fixture(scope="module")
def two_sweeps(sweep_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweeps") / "r.html"
    write_report([sweep_run, sweep_run], path)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_in_a_sweep(two_sweeps: Path, open_page: OpenPage, scheme: str) -> None:
    page = open_page(two_sweeps, color_scheme=scheme, bypass_csp=True)
    for view in ("templates", "compare"):
        show(page, view)
        assert page.locator("main table").count() > 0
        assert faults(page) == [], view


def test_no_serious_fault_on_a_phone(report: Path, open_page: OpenPage) -> None:
    size = {"width": 390, "height": 800}
    page = open_page(report, "#/samples?run=1&task=jnli-1.3-0.2", viewport=size, bypass_csp=True)
    page.wait_for_selector(".row")
    assert faults(page) == []
    page.locator(".row").first.click()
    page.wait_for_selector(".sample h2")
    assert faults(page) == []


def test_the_list_tells_how_long_it_is(report: Path, open_page: OpenPage) -> None:
    page = open_page(report, "#/samples")
    page.wait_for_selector(".row")
    row = page.locator(".row").nth(3)
    assert row.get_attribute("aria-setsize") == "132"
    assert row.get_attribute("aria-posinset") == "4"
    assert page.locator(".rows").get_attribute("aria-activedescendant") == "row-0"
