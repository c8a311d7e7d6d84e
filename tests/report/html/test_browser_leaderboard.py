"""The leaderboard in a real browser: table, cards, arrangements, filters, phones, access."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.cli.report import write_report
from tests.browser import OpenPage, show
from tests.report.html.test_browser_access import faults

TASKS = "japanese_nli,jnli-1.3-0.3,xnli_en,xnli_de"
SKILLS = {"weak": 0.0, "middle": 0.5, "strong": 0.95}


@pytest.fixture(scope="module")
def board_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENBIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def share(*parts: str) -> float:
    return int.from_bytes(hashlib.sha256("|".join(parts).encode()).digest()[:4]) / 2**32


def evaluate(path: Path, name: str, gold: dict[str, str], tasks: str, **options: Any) -> tenbin.Run:
    """A model that knows the answer to a share of the prompts."""

    def score(prompt: str, text: str) -> float:
        knows = share(name, prompt) < SKILLS.get(name, 0.0)
        return 0.0 if knows and gold.get(prompt) == text else -1.0 - share(name, prompt, text)

    backend = ScriptedBackend(score=score, fingerprint=f"{name}{options.pop('weights', '')}")
    given = {"num_fewshot": 0, "sample_data": True, **options}
    return tenbin.evaluate(backend, tasks=tasks, output_path=str(path), **given)


@pytest.fixture(scope="module")
def runs(board_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    known = evaluate(folder / "weak.json", "weak", {}, TASKS, tags="baseline", note="knows nothing")
    gold = {
        one.prompt: one.continuations[one.gold]
        for one in known.sample_records()
        if one.gold is not None and one.continuations
    }
    evaluate(folder / "middle.json", "middle", gold, TASKS)
    evaluate(folder / "strong.json", "strong", gold, "jnli,xnli_en,xnli_de", tags="final,large")
    evaluate(folder / "more" / "strong.json", "strong", gold, "jnli", weights="-later", seed=7)
    return folder


@pytest.fixture(scope="module")
def board(runs: Path) -> Path:
    """The report of the folder."""
    assert main(["report", str(runs), "-o", str(runs / "report.html")]) == 0
    return runs / "report.html"


def names(page: Any) -> list[str]:
    shown = page.locator("table.board tbody th.name").all_inner_texts()
    return [text.split()[0] for text in shown]


def cell(page: Any, model: str, column: str) -> Any:
    """The cell of a model in the first column whose head has these words."""
    at = next(
        number
        for number, text in enumerate(
            page.locator("table.board thead tr").nth(1).locator("> *").all_inner_texts()
        )
        if column in text.replace("\n", "")
    )
    return page.locator("table.board tbody tr", has_text=model).first.locator("> *").nth(at)


def test_a_folder_opens_on_its_leaderboard(board: Path, open_page: OpenPage) -> None:
    page = open_page(board)
    assert page.locator('nav a[aria-current="page"]').inner_text() == "Leaderboard"
    assert {"weak", "middle", "strong"} <= set(names(page))
    assert not {"1", "2", "3"} & set(names(page)), "models have names"
    sections = page.locator("table.board .section button").all_inner_texts()
    assert any("Groups" in one for one in sections) and any("japanese_nli" in s for s in sections)
    best = page.locator("table.board td.best").count()
    tied = page.locator("table.board .mark span[title]").count()
    assert best >= 1 and tied >= 1
    missing = page.locator("table.board td.none").first
    letter = missing.locator("sup").inner_text()
    assert letter in page.locator("dl.letters dt").all_inner_texts(), "missing cells say why"
    assert "ranks that a model may have" in page.locator(".board-legend").inner_text()


def test_heat_is_a_fixed_scale(board: Path, open_page: OpenPage) -> None:
    """Two columns of one metric shade the same score alike, whatever the others in them are."""
    page = open_page(board)
    shades: dict[str, set[str]] = {}
    for found in page.locator("table.board td:has(a.score)").all():
        at = int(found.locator("a.score").get_attribute("data-at"))
        column = page.evaluate(
            "(at) => JSON.parse(document.getElementById('summary').textContent)"
            ".leaderboard.report.columns[at].chance",
            at,
        )
        value = found.locator("a.score").inner_text()
        shade = found.evaluate("(one) => one.style.background")
        shades.setdefault(f"{value} of {column}", set()).add(shade)
    assert len(shades) > 5 and all(len(own) == 1 for own in shades.values())


def test_a_card_leads_to_documents_prompt_and_pair(board: Path, open_page: OpenPage) -> None:
    page = open_page(board)
    cell(page, "weak", "jnli").locator("a.score").hover()
    card = page.locator(".board-card:popover-open")
    card.wait_for()
    assert "knows nothing" in card.inner_text() and "baseline" in card.inner_text()
    assert "rank" in card.inner_text()
    card.get_by_role("link", name="Prompt").click()
    page.wait_for_selector(".sample h2")
    assert "doc=" in page.url
    page.goto(page.url.split("#")[0] + "#/leaderboard")
    page.wait_for_selector("table.board tbody")
    cell(page, "weak", "jnli").locator("a.score").click()
    page.wait_for_selector('body[data-view="samples"] .row')
    show(page, "leaderboard")
    cell(page, "weak", "jnli").locator("a.score").hover()
    card.wait_for()
    card.get_by_role("link", name="Compare with the best").click()
    page.wait_for_selector('body[data-view="compare"]')


def test_keys_move_between_cells(board: Path, open_page: OpenPage) -> None:
    page = open_page(board)
    first = page.locator('a.score[tabindex="0"]')
    assert first.count() == 1, "one stop for Tab"
    first.focus()
    row = first.get_attribute("data-row")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.row") != row
    page.locator(".board-card:popover-open").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("Boolean(document.activeElement.closest('.board-card'))")
    page.keyboard.press("Escape")
    assert page.locator(".board-card:popover-open").count() == 0
    assert page.evaluate("document.activeElement.matches('a.score')"), "focus is back in the table"


def test_sort_filter_and_fold(board: Path, open_page: OpenPage) -> None:
    page = open_page(board)
    head = page.locator("table.board thead tr").nth(1)
    head.get_by_role("button", name="Model").click()
    assert names(page) == sorted(names(page)) and "sort=name" in page.url
    page.get_by_label("Filter models").fill("final")
    page.wait_for_function("() => document.querySelectorAll('table.board tbody tr').length === 1")
    assert names(page) == ["strong"]
    assert "filtered out" in page.locator(".board-legend").inner_text()
    page.get_by_label("Filter models").fill("")
    page.wait_for_function("() => document.querySelectorAll('table.board tbody tr').length > 2")
    page.get_by_label("All languages").select_option("de")
    assert head.locator("th").count() == 2, "name, and one column"
    page.get_by_label("All languages").select_option("")
    columns = head.locator("th").count()
    page.locator("table.board .fold", has_text="japanese_nli").click()
    assert head.locator("th").count() < columns and "folded=" in page.url
    page.reload()
    page.wait_for_selector("table.board")
    assert head.locator("th").count() < columns, "the address keeps it"


def test_arrangements(board: Path, open_page: OpenPage) -> None:
    page = open_page(board)
    page.get_by_role("button", name="Languages").click()
    heads = page.locator("table.board thead tr").nth(1).inner_text()
    assert "en" in heads and "de" in heads and "jnli" not in heads
    gaps = page.locator("table.board tbody .rank").all_inner_texts()
    assert any(text.startswith(("+", "−", "0.000")) for text in gaps)
    page.get_by_label("Shading").select_option("gap")
    assert page.locator(".ramp.gap").count() == 1
    page.get_by_role("button", name="Templates").click()
    heads = page.locator("table.board thead tr").nth(1).inner_text()
    assert "0.2" in heads and "0.3" in heads
    page.get_by_role("button", name="Two columns").click()
    points = page.locator("svg.scatter .point").count()
    assert points == page.locator(".leaderboard tbody tr").count() >= 2
    before = page.locator("svg.scatter .axis").first.text_content()
    page.locator("#scatter-x").select_option(index=2)
    assert page.locator("svg.scatter .axis").first.text_content() != before


def test_the_history_of_a_model(board: Path, open_page: OpenPage) -> None:
    page = open_page(board)
    page.locator("table.board tbody th a", has_text="strong").first.click()
    page.wait_for_selector("svg.scatter")
    rows = page.locator("table.board tbody tr")
    assert rows.count() == 2 and "other weights than before" in rows.first.inner_text()
    assert page.locator("svg.scatter .weights").count() == 1


@pytest.mark.parametrize("by", ["suite", "languages", "templates", "scatter"])
def test_a_phone_needs_no_sideways_scrolling(board: Path, open_page: OpenPage, by: str) -> None:
    page = open_page(board, f"#/leaderboard?by={by}", viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator(".scroll").first
    assert box.evaluate("(one) => one.scrollWidth >= one.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault(board: Path, open_page: OpenPage, scheme: str) -> None:
    page = open_page(board, color_scheme=scheme, bypass_csp=True)
    for by in ("suite", "languages", "templates", "scatter"):
        show(page, f"leaderboard?by={by}")
        assert faults(page) == [], by
    show(page, "leaderboard")
    page.locator('a.score[tabindex="0"]').focus()
    page.keyboard.press("ArrowDown")
    page.locator(".board-card:popover-open").wait_for()
    assert faults(page) == [], "with a card"
    show(page, "history")
    assert faults(page) == []


def test_the_leaderboard_speaks_japanese(runs: Path, tmp_path: Path, open_page: OpenPage) -> None:
    figures = tmp_path / "figures"
    paths = [runs / "weak.json", runs / "middle.json", runs / "strong.json"]
    write_report(paths, tmp_path / "r.html", "ja", str(figures))
    page = open_page(tmp_path / "r.html")
    assert page.locator('nav a[aria-current="page"]').inner_text() == "リーダーボード"
    assert "最高の得点" in page.locator(".board-legend").inner_text()
    assert "実行していない" in page.locator("dl.letters dd").all_inner_texts()
    show(page, "compare?base=weak&with=middle")
    groups = page.locator("table.pair tbody tr.group").all_inner_texts()
    assert groups and all("acc · " in one and "平均" in one for one in groups)
    page.set_viewport_size({"width": 390, "height": 800})
    tabs = page.locator("nav a").evaluate_all("all => all.map((one) => one.clientHeight)")
    assert max(tabs) < 45, "no tab has its words one below the other"
    assert (figures / "leaderboard.svg").is_file() and (figures / "leaderboard.png").is_file()
