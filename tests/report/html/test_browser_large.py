"""Many samples: only what is seen is drawn, and only what is looked at is inflated.

How long it takes and how much memory it needs is measured by benchmarks/report_browser.py.
"""

from __future__ import annotations

from pathlib import Path

from tenbin.cli.report import write_report
from tests.browser import OpenPage
from tests.report.made_run import choice_row, config, many_rows, result, write


def test_a_long_list_draws_and_inflates_little(tmp_path: Path, open_page: OpenPage) -> None:
    number = 8_000
    few = [choice_row("made", at) for at in range(51)]
    run = write(tmp_path / "run", result({"made": config("made")}, few), many_rows(number))
    write_report([run], tmp_path / "r.html")
    page = open_page(tmp_path / "r.html", "#/samples")
    page.wait_for_selector(".sample h2")
    blocks = page.evaluate("() => document.querySelectorAll('[id^=block-]').length")
    inflated = int(page.locator("html").get_attribute("data-inflated") or 0)
    assert blocks > 20 and inflated <= 3, "the index, one block, a chart"
    for place in (0.25, 0.5, 0.99, 0.1):
        page.evaluate(
            "(p) => { let e = document.querySelector('.rows'); e.scrollTop = p * e.scrollHeight }",
            arg=place,
        )
        page.wait_for_function(
            "([p, n]) => Math.abs(document.querySelector('.row')?.ariaPosInSet - p * n) < 60",
            arg=[place, number],
        )
        assert page.locator(".row").count() < 60
        assert page.evaluate("() => document.querySelectorAll('*').length") < 2_500
    assert int(page.locator("html").get_attribute("data-inflated") or 0) == inflated
    page.locator("#text-search").fill("質問7777は")
    page.wait_for_function(
        "() => document.querySelector('.list .note')?.textContent.startsWith('1 of')"
    )
    page.locator(".row").first.click()
    page.wait_for_function(
        "() => document.querySelector('.sample h2')?.textContent.includes('d007777')"
    )
