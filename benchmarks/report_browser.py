"""Open a report of many samples in chromium: time until it can be used, scrolling, memory.

    python benchmarks/report_browser.py --output benchmarks/results/report_browser.json

Times are from navigation until the list of documents stands on the page, as a reader waits for it.
Memory is the private memory of all processes that render the page, read from the system, beside the
script's own heap; both after scrolling through the list and opening documents on the way.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.report.made_run import choice_row, config, many_rows, result, write  # noqa: E402

from tenbin.cli.report import write_report  # noqa: E402


def make_report(samples: int, folder: Path) -> dict[str, Any]:
    few = [choice_row("made", at) for at in range(51)]
    document = result({"made": config("made")}, few)
    run = write(folder / "run", document, many_rows(samples))
    started = time.perf_counter()
    path = folder / "report.html"
    write_report([run], path)
    return {
        "path": path,
        "write_seconds": round(time.perf_counter() - started, 2),
        "megabytes": round(path.stat().st_size / 1e6, 1),
        "samples_megabytes": round((run / "samples.parquet").stat().st_size / 1e6, 1),
    }


def private_megabytes(pids: list[int]) -> float:
    """Memory that these processes share with nobody."""
    total = 0
    for pid in pids:
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Private_Clean", "Private_Dirty")):
                    total += int(line.split()[1])
        except OSError:
            continue
    return round(total / 1024, 1)


def renderers(browser: Any) -> list[int]:
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return [one["id"] for one in found if one["type"] == "renderer"]


def measure(path: Path) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        opened = []
        for fragment, ready in (("#/overview", "table.scores"), ("#/samples", ".row")):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            started = time.perf_counter()
            page.goto(path.as_uri() + fragment)
            page.wait_for_selector(ready)
            opened.append(round(time.perf_counter() - started, 2))
            if fragment == "#/overview":
                page.context.close()
        frames = page.evaluate(SCROLL)
        page.wait_for_timeout(500)
        started = time.perf_counter()
        page.locator("#text-search").fill("質問77777は")
        page.wait_for_function(
            "() => /^1 of/.test(document.querySelector('.list .note').textContent)", timeout=120_000
        )
        searched = round(time.perf_counter() - started, 2)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
        found = {
            "browser": browser.version,
            "open_overview_seconds": opened[0],
            "open_samples_seconds": opened[1],
            **frames,
            "search_all_texts_seconds": searched,
            "script_heap_megabytes": round(metrics["JSHeapUsedSize"] / 1e6, 1),
            "dom_nodes": int(metrics["Nodes"]),
            "renderer_private_megabytes": private_megabytes(renderers(browser)),
        }
        browser.close()
    return found


SCROLL = """async () => {
  const list = document.querySelector('.rows');
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const round = (value) => Math.round(value * 10) / 10;
  const paces = async (name, steps, place) => {
    const times = [];
    let last = performance.now();
    for (let step = 0; step <= steps; step += 1) {
      list.scrollTop = place(step);
      await frame();
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    times.sort((a, b) => a - b);
    const at = (share) => round(times[Math.floor(times.length * share)]);
    return {
      [`${name}_frame_median_milliseconds`]: at(0.5),
      [`${name}_frame_95th_milliseconds`]: at(0.95),
    };
  };
  const wheel = await paces('wheel', 300, (step) => 120 * step);
  const whole = await paces('whole_list', 240, (step) => (list.scrollHeight * step) / 240);
  const opened = [];
  for (let at = 0; at < 10; at += 1) {
    list.scrollTop = (list.scrollHeight * at) / 10;
    await frame();
    const row = document.querySelectorAll('.row')[8];
    const name = row.querySelector('.mono').textContent;
    const started = performance.now();
    row.click();
    while (!document.querySelector('.sample h2')?.innerText.includes(name)) await frame();
    opened.push(performance.now() - started);
  }
  opened.sort((a, b) => a - b);
  return {
    ...wheel,
    ...whole,
    open_document_median_milliseconds: round(opened[5]),
    open_document_longest_milliseconds: round(opened[9]),
    rows_in_page: document.querySelectorAll('.row').length,
    blocks_inflated: Number(document.documentElement.dataset.inflated),
  };
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = make_report(options.samples, Path(folder))
        path = made.pop("path")
        found = {
            "samples": options.samples,
            "machine": f"{platform.machine()}, 2 cores",
            **made,
            **measure(path),
        }
    print(json.dumps(found, indent=2))
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
