"""A real browser, and a page that complains of any error."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

OpenPage = Callable[..., Any]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's browser, driven by playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium on this machine (Debian: apt install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


# What a view shows last: it is complete once this is there.
_LAST = {
    "leaderboard": ".leaderboard :is(.board-legend, .nothing, svg.scatter)",
    "history": "svg.scatter, .note",
    "overview": "table.scores",
    "languages": "figure img",
    "templates": "ul.conclusions",
    "order": "ul.conclusions",
    "compare": ".changed-documents > *, .refused, table.grid",
    "curve": "figure img",
    "samples": ".sample :is(h2, .nothing)",
    "details": "details.wording",
}


def show(page: Any, view: str) -> None:
    """Go to a view of an open page, such as `samples?run=1`, and wait until it is complete."""
    page.evaluate("(address) => { location.hash = address; }", f"#/{view}")
    name = view.partition("?")[0]
    page.wait_for_selector(f'body[data-view="{name}"] {_LAST[name]}', state="attached")


@pytest.fixture
def open_page(chromium: Any) -> Iterator[OpenPage]:
    """Open a file; at the end, an error in its console or a request beyond it fails the test."""
    contexts, faults = [], []

    def open_file(path: Path | str, fragment: str = "", **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: faults.append(m.text) if m.type in ("error", "warning") else 0)
        page.on("pageerror", lambda error: faults.append(str(error)))
        address = path if isinstance(path, str) else path.resolve().as_uri()
        home = address.split("/")[2] if isinstance(path, str) else ""

        def watch(request: Any) -> None:
            inside = request.url.startswith(("data:", "blob:")) or (
                f"//{home}/" in request.url if home else request.url.startswith("file:")
            )
            if not inside:
                faults.append(f"request to {request.url}")

        page.on("request", watch)
        page.goto(address + fragment)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert not faults, faults
