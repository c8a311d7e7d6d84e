"""Any number of runs in a real browser: names, baselines, pairs, and documents side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tenbin.api import compare, evaluate
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli.report import write_report
from tests.browser import OpenPage, show
from tests.report.html.test_browser_access import faults
from tests.report.html.test_browser_views import listed, listed_after
from tests.report.made_run import choice_row, choice_run, config, result, write

WRONG = choice_row("made", 5)["outcomes"]
RIGHT = choice_row("made", 3)["outcomes"]


def changed_run(folder: Path, model: str, changes: dict[int, Any], **others: Any) -> Path:
    """A run of 40 documents of which some have another outcome."""
    rows = [choice_row("made", at, **others) for at in range(40)]
    for at, outcomes in changes.items():
        rows[at] = {**rows[at], "outcomes": outcomes}
    return write(folder, result({"made": config("made")}, rows, model={"model": model}), rows)


@pytest.fixture
def two_runs(tmp_path: Path) -> list[Path]:
    """A run, and the same with one document won, two lost and another model."""
    changes = {2: RIGHT, 3: WRONG, 6: WRONG}
    return [choice_run(tmp_path / "one", 40), changed_run(tmp_path / "two", "the other", changes)]


@pytest.fixture
def three_runs(tmp_path: Path) -> list[Path]:
    """Three models; the third is the second with its losses undone."""
    changes = {2: RIGHT, 3: WRONG, 6: WRONG}
    return [
        changed_run(tmp_path / "one", "alpha", {}),
        changed_run(tmp_path / "two", "beta", changes),
        changed_run(tmp_path / "three", "gamma", {2: RIGHT}),
    ]


def opened(runs: list[Path], tmp_path: Path, open_page: OpenPage, view: str, **more: Any) -> Any:
    write_report(runs, tmp_path / "r.html")
    return open_page(tmp_path / "r.html", f"#/{view}", **more)


def test_what_changed_between_runs(
    two_runs: list[Path], tmp_path: Path, open_page: OpenPage
) -> None:
    # An address of earlier versions, which named runs by their numbers.
    page = opened(two_runs, tmp_path, open_page, "samples?run=2&task=made&state=changed")
    assert listed(page) == 3
    assert listed_after(page, "#by-state", "only_a") == 2
    assert listed_after(page, "#by-state", "only_b") == 1
    assert listed_after(page, "#by-state", "all_right") == 23
    options = page.locator("#by-state option").all_inner_texts()
    assert "correct only in the other" in options and "correct only in made by hand" in options


def test_runs_are_compared(two_runs: list[Path], tmp_path: Path, open_page: OpenPage) -> None:
    write_report(two_runs, tmp_path / "r.html", charts=str(tmp_path / "figures"))
    page = open_page(tmp_path / "r.html", "#/compare")
    assert page.locator(".pair-title").inner_text() == "made by hand → the other"
    row = page.locator("table.pair tbody tr").first.inner_text()
    assert "38" in row and "−0.026" in row and "1 : 2" in row
    counts = page.locator("table.counts tbody tr")
    counts.first.wait_for()
    assert counts.locator("td a").all_inner_texts() == ["23", "2", "1", "14"]
    changes = page.locator("table.changes")
    assert changes.locator("tbody tr").count() == 3
    assert changes.get_by_text("better").count() == 1 and changes.get_by_text("worse").count() == 2
    assert (tmp_path / "figures" / "differences.svg").is_file()
    page.get_by_role("button", name="Swap").click()
    assert page.locator(".pair-title").inner_text() == "the other → made by hand"
    row = page.locator("table.pair tbody tr").first.inner_text()
    assert "+0.026" in row and "2 : 1" in row
    changes.get_by_text("better").nth(1).wait_for()
    changes.get_by_role("link", name="d000006").click()
    page.wait_for_function(
        "() => document.querySelector('.sample h2')?.innerText.includes('d000006')"
    )
    rows = page.locator("table.results tbody tr")
    assert [rows.nth(at).locator("th").inner_text() for at in range(2)] == [
        "the other",
        "made by hand",
    ]
    assert "wrong" in rows.nth(0).inner_text() and "correct" in rows.nth(1).inner_text()


def test_a_turned_pair_is_the_comparison_of_the_turned_runs(
    two_runs: list[Path], tmp_path: Path, open_page: OpenPage
) -> None:
    page = opened(two_runs, tmp_path, open_page, f"compare?base={quote('the other')}")
    (found,) = compare(two_runs[1], two_runs[0]).table()
    row = page.locator("table.pair tbody tr").first.inner_text()
    assert f"[−{-found['low']:.3f}, +{found['high']:.3f}]" in row
    assert f"{found['wins']} : {found['losses']}" in row
    assert f"{found['p_holm']:.3f}" in row


def test_the_baseline_and_the_pair_are_chosen(
    three_runs: list[Path], tmp_path: Path, open_page: OpenPage
) -> None:
    page = opened(three_runs, tmp_path, open_page, "compare")
    head = page.locator("table.grid thead th")
    assert head.all_inner_texts() == ["Task", "alpha\nBaseline", "beta", "gamma"]
    cells = page.locator("table.grid tbody tr").first.locator("td")
    assert "−0.026" in cells.nth(1).inner_text() and "+0.026" in cells.nth(2).inner_text()
    page.locator("#compare-base").focus()
    page.select_option("#compare-base", "gamma")
    assert head.all_inner_texts() == ["Task", "gamma\nBaseline", "alpha", "beta"]
    assert "−0.026" in cells.nth(1).inner_text() and "−0.053" in cells.nth(2).inner_text()
    assert page.evaluate("document.activeElement.id") == "compare-base"
    page.select_option("#compare-with", "beta")
    assert page.locator(".pair-title").inner_text() == "gamma → beta"
    page.reload()
    page.wait_for_selector(".pair-title")
    assert page.locator(".pair-title").inner_text() == "gamma → beta"
    page.locator("table.counts td a").nth(1).click()
    assert listed(page) == 2
    shown = page.locator("#by-state option:checked").inner_text()
    assert shown == "correct only in gamma"


def test_what_was_asked_otherwise_is_said_beside_its_score(
    tmp_path: Path, open_page: OpenPage
) -> None:
    """Of one id with other shots: it shares the row, with a note, and nothing there is the best."""
    runs = []
    for name, shots, count in (("two shots", 2, 40), ("five shots", 5, 30)):
        rows = [choice_row("made", at) for at in range(count)]
        made = result({"made": config("made", num_fewshot=shots)}, rows, model={"model": name})
        runs.append(write(tmp_path / name, made, rows))
    page = opened(runs, tmp_path, open_page, "overview")
    two, five = page.locator("table.matrix tbody tr").first.locator("td.of-run").all_inner_texts()
    assert "2-shot" in two and "n =" not in two
    assert "5-shot" in five and "n\u00a0=\u00a029" in five
    assert page.locator("table.matrix .best").count() == 0


def test_all_runs_answer_a_document_side_by_side(
    three_runs: list[Path], tmp_path: Path, open_page: OpenPage
) -> None:
    page = opened(three_runs, tmp_path, open_page, "samples?doc=d000003")
    page.wait_for_selector("table.results")
    assert page.locator("table.results tbody th").all_inner_texts() == ["alpha", "beta", "gamma"]
    marks = page.locator('.row[aria-selected="true"] .row-states .state')
    assert [text.split("\n")[0] for text in marks.all_inner_texts()] == ["✓", "✗", "✓"]
    heads = page.locator("table.together thead th").all_inner_texts()
    assert heads == ["Choice", "alpha", "beta", "gamma"]
    chosen = page.locator("table.together tbody tr").nth(1).locator("td.of-run")
    assert [("chosen" in text) for text in chosen.all_inner_texts()] == [False, True, False]
    assert page.get_by_text("the same in all runs").count() == 1
    assert page.locator("article ins, article del").count() == 0
    page.locator("table.results").get_by_role("link", name="beta").click()
    page.wait_for_function("() => new URLSearchParams(location.hash.split('?')[1]).get('run')")
    page.get_by_role("link", name="Side by side").click()
    page.wait_for_selector("table.results")


def test_differences_in_prompts_and_answers_are_marked(tmp_path: Path, open_page: OpenPage) -> None:
    written = {"logprobs": None, "choices": None, "continuations": None, "finish": "end"}
    runs = []
    for name, template, answer in (
        ("old", "質問に答えてください。\n", "The answer is A."),
        ("new", "質問に英語で答えてください。\n", "The answer is B."),
    ):
        prompt = f"例\n\n{template}次は?"
        row = choice_row("made", 0, **written, prompt=prompt, parts=[3], generated=answer)
        document = result({"made": config("made")}, [row], model={"model": name})
        runs.append(write(tmp_path / name, document, [row]))
    page = opened(runs, tmp_path, open_page, "samples?doc=d000000")
    page.wait_for_selector("table.results")
    columns = page.locator(".columns").nth(0).locator(".column")
    assert columns.nth(0).locator("ins, del").count() == 0, "others are held against the first"
    assert columns.nth(1).locator("ins").all_inner_texts() == ["B"]
    assert columns.nth(1).locator("del").all_inner_texts() == ["A"]
    prompts = page.locator(".columns").nth(1).locator(".column")
    assert prompts.nth(1).locator("ins").all_inner_texts() == ["英語で"]
    assert prompts.nth(1).locator("pre del").count() == 0
    show(page, "samples?doc=d000000&a=new&b=old")
    page.wait_for_function(
        "() => document.querySelector('table.results tbody th')?.innerText === 'new'"
    )
    assert page.locator(".columns").nth(1).locator("pre del").all_inner_texts() == ["英語で"]


def test_eight_runs_have_names_colours_and_room(tmp_path: Path, open_page: OpenPage) -> None:
    runs = [changed_run(tmp_path / f"r{at}", f"model {at}", {at: WRONG}) for at in range(8)]
    page = opened(runs, tmp_path, open_page, "overview")
    names = [f"model {at}" for at in range(8)]
    assert page.locator("table.matrix thead .run-name").all_inner_texts() == names
    show(page, "compare")
    assert page.locator("table.grid thead .run-name").all_inner_texts() == names
    show(page, "samples?doc=d000003")
    page.wait_for_selector("table.results")
    assert page.locator("table.together thead .run-name").all_inner_texts() == names
    colours = page.locator("table.results .swatch").evaluate_all(
        "all => all.map((one) => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(colours)) == 8
    assert listed_after(page, "#by-state", "differ") == 6, "documents that were right"
    for size in ({"width": 390, "height": 800}, {"width": 1280, "height": 720}):
        page.set_viewport_size(size)
        for view in ("overview", "compare", "compare?with=model+5", "samples?doc=d000003"):
            show(page, view)
            page.wait_for_timeout(100)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= size["width"], (view, size)


def test_runs_of_different_tasks_show_what_they_share(tmp_path: Path, open_page: OpenPage) -> None:
    def run(name: str, ids: dict[str, str], model: str) -> Path:
        configs = {id: config(task, template=id[-3:]) for id, task in ids.items()}
        rows = [choice_row(id, at) for id in ids for at in range(20)]
        return write(tmp_path / name, result(configs, rows, model={"model": model}), rows)

    runs = [
        run("a", {"jnli-0.2": "jnli", "marc-0.2": "marc"}, "alpha"),
        run("b", {"jnli-0.3": "jnli"}, "beta"),
    ]
    page = opened(runs, tmp_path, open_page, "overview")
    rows = page.locator("table.matrix tbody tr")
    assert [text.split("\n")[0] for text in rows.locator("th").all_inner_texts()] == [
        "jnli",
        "marc-0.2",
    ]
    said = rows.nth(0).inner_text()
    assert "Failed 1\n0.2\n" in said and said.endswith("Failed 1\n0.3")
    show(page, "compare")
    assert "0.2 → 0.3" in page.locator("table.pair tbody tr").first.inner_text()
    assert "alpha alone has marc-0.2" in page.locator("ul.warnings").inner_text()
    show(page, "samples?task=jnli&doc=d000003")
    page.wait_for_selector("table.results")
    assert page.locator("table.results tbody tr").count() == 2


def test_equal_runs_say_that_nothing_changed(tmp_path: Path, open_page: OpenPage) -> None:
    runs = [choice_run(tmp_path / "a", 40), choice_run(tmp_path / "b", 40)]
    page = opened(runs, tmp_path, open_page, "compare")
    page.get_by_text("No document that both runs scored changed.").wait_for()
    assert page.locator(".pair-title").inner_text() == "made by hand (a) → made by hand (b)"


def test_runs_that_asked_differently_are_not_compared(tmp_path: Path, open_page: OpenPage) -> None:
    rows = [choice_row("made", at, prompt="anders", parts=[0]) for at in range(40)]
    other = write(tmp_path / "b", result({"made": config("made")}, rows), rows)
    runs = [choice_run(tmp_path / "a", 40), other]
    page = opened(runs, tmp_path, open_page, "compare")
    refused = page.locator(".refused").inner_text()
    assert "Not comparable" in refused and "40 of 40 shared documents have other prompts" in refused
    assert page.locator("main table tbody tr").count() == 1, "side by side all the same"


def test_groups_are_compared(tmp_path: Path, open_page: OpenPage) -> None:
    paths = []
    for name, score in (("one", None), ("two", lambda prompt, text: -float(len(text)))):
        given = {} if score is None else {"score": score}
        backend = ScriptedBackend(fingerprint=name, **given)
        paths.append(tmp_path / f"{name}.json")
        evaluate(backend, "mlogiqa_mcq", num_fewshot=0, sample_data=True, output_path=paths[-1])
    (found,) = compare(*paths).groups()
    page = opened(paths, tmp_path, open_page, "compare")
    row = page.locator("table.pair tr.group")
    assert row.count() == 1
    shown = row.inner_text()
    assert "mlogiqa_mcq" in shown and "mean weighted by documents" in shown
    assert f"{found['wins']} : {found['losses']}" in shown
    assert f"{abs(found['difference']):.3f}" in shown


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_no_serious_fault_with_several_runs(
    three_runs: list[Path], tmp_path: Path, open_page: OpenPage, look: str
) -> None:
    size = {"width": 390, "height": 800} if look == "phone" else {"width": 1280, "height": 900}
    scheme = "dark" if look == "dark" else "light"
    page = opened(
        three_runs, tmp_path, open_page, "overview",
        viewport=size, color_scheme=scheme, bypass_csp=True,
    )  # fmt: skip
    for view in ("overview", "compare", "compare?with=beta", "samples?doc=d000003"):
        show(page, view)
        assert faults(page) == [], view
