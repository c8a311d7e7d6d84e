"""What axe-core finds in every view of reports, light, dark and on a phone.

    python benchmarks/report_pages.py FOLDER
    python benchmarks/report_axe.py FOLDER/*.html --output benchmarks/results/report_axe.json

Everything that can be folded is unfolded first. Of samples, the first document of each task of
each run is looked at, of a few tasks where there are many.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

MOST_TASKS = 4
BOARDS = ("languages", "templates", "scatter")
SIZES = {"wide": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 800}}


def addresses(page: Any) -> list[str]:
    """What stands behind the # of every view."""
    views = page.locator("nav a").evaluate_all("all => all.map((a) => a.dataset.view)")
    tasks = page.evaluate(
        "() => JSON.parse(document.getElementById('summary').textContent)"
        ".runs.map((run) => run.cells.map((cell) => cell.id))"
    )
    samples = [
        f"samples?run={number}&task={quote(task)}"
        for number, known in enumerate(tasks, 1)
        for task in known[:: max(1, len(known) // MOST_TASKS)]
    ]
    boards = [f"leaderboard?by={by}" for by in BOARDS if "leaderboard" in views]
    return [view for view in views if view != "samples"] + boards + samples + together(page)


def together(page: Any) -> list[str]:
    """The views of several runs: the last as the baseline, one pair, and documents side by side."""
    names, tasks = page.evaluate(
        "() => { const known = JSON.parse(document.getElementById('summary').textContent);"
        " return [known.runs.map((run) => run.name), known.aligned.map((task) => task.name)]; }"
    )
    if len(names) < 2:
        return []
    last, first = quote(names[-1]), quote(names[0])
    documents = [
        f"samples?task={quote(task)}" for task in tasks[:: max(1, len(tasks) // MOST_TASKS)]
    ]
    return [f"compare?base={last}", f"compare?base={last}&with={first}", *documents]


def check(page: Any) -> dict[str, Any]:
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("() => document.querySelectorAll('details').forEach((one) => (one.open = true))")
    found = Axe().run(page).response
    return {
        "passed": len(found["passes"]),
        "needs_a_person": [one["id"] for one in found["incomplete"]],
        "violations": [
            {"id": one["id"], "impact": one["impact"], "elements": len(one["nodes"])}
            for one in found["violations"]
        ],
    }


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for report in options.reports:
            for scheme, size in (("light", "wide"), ("dark", "wide"), ("light", "phone")):
                # The checker itself is a script that the page's policy would refuse.
                context = browser.new_context(
                    viewport=SIZES[size], color_scheme=scheme, bypass_csp=True
                )
                page = context.new_page()
                page.goto(report.resolve().as_uri())
                page.wait_for_selector("html[data-ready]")
                for view in addresses(page):
                    page.goto(f"{report.resolve().as_uri()}#/{view}")
                    page.wait_for_timeout(500)
                    row = {"report": report.name, "view": view, "look": f"{scheme}, {size}"}
                    rows.append({**row, **check(page)})
                context.close()
        browser.close()
    serious = sum(v["impact"] in ("serious", "critical") for r in rows for v in r["violations"])
    found = {"checked": len(rows), "serious_or_critical": serious, "views": rows}
    print(json.dumps(found, indent=1)[:3000])
    if options.output:
        options.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
