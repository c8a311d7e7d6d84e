"""The server in a real browser: list, reports, and a run that goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from tenbin.cli.report import write_report
from tenbin.report.serve.index import list_runs
from tenbin.report.serve.server import Server
from tenbin.results.progress import clear_progress, write_progress
from tests.browser import OpenPage, show
from tests.report.made_run import choice_run


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    root = tmp_path / "runs"
    choice_run(root / "first", 30)
    choice_run(root / "second", 30)
    server = Server(root, "127.0.0.1", 0, None)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server, root
    server.shutdown()
    server.server_close()


def test_runs_open_alone_and_together(served: tuple[Server, Path], open_page: OpenPage) -> None:
    server, _ = served
    page = open_page(server.address, "#/runs")
    page.get_by_role("link", name="second").click()
    page.wait_for_selector("table.scores")
    page.goto(page.url.split("#")[0] + "#/samples?run=1&task=made&doc=d000004")
    page.wait_for_selector(".sample h2")
    assert "質問4は何ですか。" in page.locator(".sample").inner_text()
    page.locator("a.brand").click()
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("Select first").check()
    page.get_by_label("Select second").check()
    page.get_by_role("link", name="Open selected runs").click()
    page.wait_for_selector("html[data-ready]")
    show(page, "overview")
    assert page.locator("table.matrix thead .run-name").count() == 2


def test_a_run_going_on_is_followed(served: tuple[Server, Path], open_page: OpenPage) -> None:
    server, root = served
    folder = root / "third"
    folder.mkdir()
    scores = {"acc": {"value": 0.5, "stderr": 0.25, "n": 4, "failed": 1, "unit": ""}}

    def progress(answered: int) -> None:
        now = datetime.now(timezone.utc).isoformat()
        cell = {"id": "<b>made</b>", "documents": 9, "answered": answered, "scores": scores}
        write_progress(
            folder,
            {"state": "asking", "model": "going", "started": now, "updated": now,
             "requests": 9, "answered": answered, "cells": [cell]},
        )  # fmt: skip

    progress(4)
    page = open_page(server.address, "#/runs")
    page.wait_for_selector(".running-run")
    shown = page.locator(".running-run").inner_text()
    assert "4 of 9 requests answered" in shown and "0.500" in shown and "0.250" in shown
    assert "<b>made</b>" in shown
    progress(7)
    page.wait_for_function("() => document.body.innerText.includes('7 of 9 requests')")
    choice_run(folder, 9)
    clear_progress(folder)
    page.wait_for_function("() => !document.querySelector('.running-run')")
    assert page.get_by_role("link", name="third").count() == 1


def test_a_damaged_run_is_named_beside_the_others(
    served: tuple[Server, Path], open_page: OpenPage
) -> None:
    server, root = served
    for name, content in (("i-bad", "[" * 50_000), ("worse", '{"schema_version": 99}')):
        (root / name).mkdir()
        (root / name / "result.json").write_text(content)
    page = open_page(server.address, "#/runs")
    page.wait_for_selector(".damaged-run")
    shown = page.locator(".running").inner_text()
    assert "i-bad" in shown and "result.json is nested too deeply" in shown
    assert "schema version 99" in shown
    page.get_by_role("link", name="first").click()
    page.wait_for_selector("table.scores")


def stopped_run(folder: Path) -> Path:
    """Twelve of forty documents, as a run that was stopped leaves them."""
    return choice_run(
        folder, 12, partial=True, warnings=["partial: the run was stopped"],
        **{"n-samples": {"made": {"original": 40, "effective": 12, "asked": 40}}},
    )  # fmt: skip


@pytest.mark.parametrize("progress", [False, True])
def test_a_stopped_run_is_listed_and_opened_as_partial(
    served: tuple[Server, Path], open_page: OpenPage, progress: bool
) -> None:
    """With its progress file and without it, as when only results were copied."""
    server, root = served
    folder = stopped_run(root / "third")
    now = datetime.now(timezone.utc).isoformat()
    if progress:
        told = {"state": "stopped", "model": "m", "started": now, "updated": now}
        write_progress(folder, {**told, "requests": 40, "answered": 12, "cells": []})
    page = open_page(server.address, "#/runs")
    page.wait_for_selector(".running-run" if progress else "table.scores")
    if progress:
        assert "stopped early" in page.locator(".running-run").inner_text()
        page.get_by_role("link", name="Open the available result").click()
    else:
        (marked,) = [row for row in page.locator("tr").all_inner_texts() if "partial" in row]
        assert "third" in marked and "partial: stopped after 12 of 40 documents" in marked
        page.get_by_role("link", name="third").click()
    page.wait_for_selector(".run-facts")
    (banner,) = page.get_by_role("alert").all_inner_texts()
    assert "Partial: the run was stopped. Scores are based on 12 of 40 documents" in banner


def test_the_report_of_a_stopped_run_says_so(tmp_path: Path, open_page: OpenPage) -> None:
    path = tmp_path / "report.html"
    write_report([stopped_run(tmp_path / "one"), choice_run(tmp_path / "two", 30)], path)
    page = open_page(path, "#/overview")
    (banner,) = page.get_by_role("alert").all_inner_texts()
    assert "Partial: the run was stopped." in banner
    assert "Scores are based on 12 of 40 documents" in banner
    assert "(one)" in banner, "which of the runs it is"


def test_a_mark_that_is_no_truth_value_is_damage(served: tuple[Server, Path]) -> None:
    _, root = served
    choice_run(root / "third", 5)
    path = root / "third" / "result.json"
    path.write_text(
        path.read_text().replace('"schema_version": 1', '"schema_version": 1, "partial": "x"')
    )
    assert {row["name"]: row["state"] for row in list_runs(root)} == {
        "first": "finished", "second": "finished", "third": "damaged"
    }  # fmt: skip
