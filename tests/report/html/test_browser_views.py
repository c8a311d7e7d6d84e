"""The report in a real browser: views, filters, links, keys, looks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tenbin.api import consistency, evaluate, sweep
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.cli.report import write_report
from tenbin.metrics import steps
from tenbin.results.read import read_run
from tests.browser import OpenPage, show
from tests.report.made_run import choice_row, choice_run, config, result, write


def listed(page: Any) -> int:
    """How many documents the list says it has."""
    page.wait_for_function(
        "() => /^[\\d,]+ of|件中/.test(document.querySelector('.list .note')?.textContent ?? '')"
    )
    return int(page.locator(".list .note").inner_text().split(" of ")[0].replace(",", ""))


def listed_after(page: Any, field: str, value: str) -> int:
    """How many documents the list has after a choice in one of its fields."""
    page.evaluate("() => { document.querySelector('.list .note').textContent = ''; }")
    page.select_option(field, value)
    return listed(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_opens(report: Path, open_page: OpenPage, scheme: str) -> None:
    page = open_page(report, "#/details", color_scheme=scheme)
    for view in ("overview", "languages", "samples", "details"):
        show(page, view)
        assert page.locator(f'nav a[data-view="{view}"][aria-current="page"]').count() == 1
        assert len(page.locator("main").inner_text()) > 300
        ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert (max(map(int, re.findall(r"\d+", ground)[:3])) < 60) == (scheme == "dark")


def test_scores_sort_filter_and_copy(report: Path, open_page: OpenPage) -> None:
    page = open_page(report, "#/overview")
    rows = page.locator("table.scores").first.locator("tbody tr")
    assert rows.count() == 22, "the first metric of every task"
    page.get_by_label("all metrics").check()
    assert rows.count() == 5 + 2 + 10 * 2 + 10 * 4
    page.get_by_label("all metrics").uncheck()
    page.locator("#task-filter").fill("mcq ja")
    assert rows.count() == 1 and "mlogiqa_mcq_ja" in rows.first.inner_text()
    page.locator("#task-filter").fill("")
    page.get_by_role("button", name="n", exact=True).first.click()
    head = page.locator("table.scores thead").first
    assert head.locator('th[aria-sort="descending"]').inner_text().startswith("n")
    copied: list[str] = []
    page.expose_function("keep", lambda text: copied.append(text))
    page.evaluate("() => { navigator.clipboard.writeText = async (text) => window.keep(text); }")
    for name in ("Markdown", "LaTeX", "CSV"):
        page.get_by_role("button", name=name).first.click()
    page.wait_for_function("() => document.querySelectorAll('.copies').length > 0")
    while len(copied) < 3:
        page.wait_for_timeout(20)
    markdown, latex, table = copied
    assert markdown.splitlines()[1].startswith("| --- |") and len(markdown.splitlines()) == 24
    assert "\\begin{tabular}" in latex and "jnli" in latex and "mlogiqa\\_mcq\\_ja" in latex
    assert len(table.strip().split("\r\n")) == 23


def test_states_languages_and_words_filter(report: Path, open_page: OpenPage) -> None:
    page = open_page(report, "#/samples")
    everything = listed(page)
    assert everything == 22 * 6
    counts = {}
    for state in ("right", "wrong", "partly", "failed"):
        counts[state] = listed_after(page, "#by-state", state)
    assert sum(counts.values()) == everything and counts["right"] and counts["wrong"]
    listed_after(page, "#by-state", "")
    assert listed_after(page, "#by-language", "th") == 12
    listed_after(page, "#by-language", "ja")
    page.locator("#text-search").fill("仮説:")
    page.wait_for_function(
        "() => document.querySelector('.list .note')?.textContent.startsWith('6 of')"
    )


def test_a_link_leads_to_one_document(report: Path, open_page: OpenPage) -> None:
    page = open_page(report, "#/samples?run=1&task=jnli-1.3-0.2&doc=sv03")
    page.wait_for_selector(".sample h2")
    assert "sv03" in page.locator(".sample h2").inner_text()
    assert page.locator('.row[aria-selected="true"] .row-id').inner_text().startswith("sv03")
    page.locator(".row").nth(1).click()
    page.wait_for_function(
        "() => document.querySelector('.sample h2')?.textContent.includes('sv01')"
    )
    assert "doc=sv01" in page.url
    missing = open_page(report, "#/samples?run=1&task=jnli-1.3-0.2&doc=nowhere")
    missing.wait_for_selector(".sample .nothing")


def test_the_prompt_is_shown_exactly_and_folds(
    report: Path, scripted_run: Path, open_page: OpenPage
) -> None:
    page = open_page(report, "#/samples?run=1&task=jnli-1.3-0.2&doc=sv02")
    page.wait_for_selector(".sample pre")
    stored = next(
        row
        for row in read_run(scripted_run).sample_rows()
        if row["id"] == "jnli-1.3-0.2" and row["document"] == "sv02"
    )
    assert page.locator(".examples pre").count() == 0, "examples are made when unfolded"
    page.locator("details.examples summary").click()
    question = page.locator("details.examples + pre").evaluate("one => one.textContent")
    parts = page.locator(".parts pre").evaluate_all("all => all.map((one) => one.textContent)")
    assert len(parts) == 3, "description and two examples"
    assert "".join([*parts, question]) == stored["prompt"]
    page.keyboard.press("x")
    shown = page.locator("details.examples + pre").evaluate("one => one.textContent")
    assert shown == question.replace("\n", "↵\n").replace(" ", "·")


def test_keys_move_through_documents(report: Path, open_page: OpenPage) -> None:
    page = open_page(report, "#/overview")
    page.keyboard.press("3")
    page.wait_for_selector(".sample h2")
    first = page.locator(".sample h2").inner_text()
    page.keyboard.press("j")
    page.wait_for_function(
        "(old) => document.querySelector('.sample h2')?.innerText !== old", arg=first
    )
    page.keyboard.press("k")
    page.wait_for_function(
        "(old) => document.querySelector('.sample h2')?.innerText === old", arg=first
    )
    page.locator(".rows").focus()
    page.keyboard.press("End")
    page.wait_for_function(
        "() => document.querySelector('.row[aria-selected=true]')?.ariaPosInSet === '132'"
    )
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "text-search"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 1


def test_choices_carry_probabilities(tmp_path: Path, open_page: OpenPage) -> None:
    write_report([choice_run(tmp_path / "run", 40)], tmp_path / "r.html")
    page = open_page(tmp_path / "r.html", "#/samples?run=1&task=made&doc=d000002")
    page.wait_for_selector("table.choices")
    rows = page.locator("table.choices tbody tr")
    # exp(-3), exp(-0.5), exp(-5.5) over their sum.
    assert [rows.nth(at).locator("td.number").first.inner_text() for at in range(3)] == [
        "7.5\u202f%",
        "91.8\u202f%",
        "0.6\u202f%",
    ]
    assert "Gold" in rows.nth(0).inner_text() and "chosen" in rows.nth(1).inner_text()
    assert "-0.500" in (rows.nth(1).locator(".bar").get_attribute("title") or "")
    page.goto(page.url.replace("d000002", "d000016"))
    page.wait_for_selector(".failure")
    assert "no room for it" in page.locator(".failure").inner_text()


def test_languages_are_compared_item_by_item(
    report: Path, scripted_run: Path, open_page: OpenPage
) -> None:
    page = open_page(report, "#/languages")
    found = consistency(scripted_run)["sets"]["mlogiqa_mcq"]
    heading = page.get_by_role("heading", name="mlogiqa_mcq")
    section = page.locator("section").filter(has=heading).first
    rows = section.locator("table.scores").first.locator("tbody tr")
    assert rows.count() == 10
    for at, (language, row) in enumerate(found["answers"].items()):
        shown = rows.nth(at).inner_text()
        assert shown.startswith(language) and f"{100 * row['accuracy']['value']:.1f}" in shown
    assert "NaN" not in page.locator("main").inner_text()
    cells = section.locator("table.heat tbody td")
    assert cells.count() == 100
    pair = found["pairs"][0]["agreement"]["value"]
    assert cells.nth(10).inner_text() == f"{100 * pair:.0f}", "below the diagonal"
    assert page.get_by_role("heading", name="Multiple choice and generation").count() == 1
    page.wait_for_function("() => document.querySelector('figure img')?.naturalWidth > 0")
    section.get_by_role("link").last.click()
    page.wait_for_selector(".row")


def test_items_tell_unreadable_answers(tmp_path: Path, open_page: OpenPage) -> None:
    def answer(prompt: str) -> str:
        if prompt.isascii():
            return "{'answer': 'A'}"
        return "{'answer': 'B'}" if re.search("[가-힣]", prompt) else "hm"

    evaluate(
        model=ScriptedBackend(texts=answer),
        tasks=["mlogiqa_gen_en", "mlogiqa_gen_ja", "mlogiqa_gen_ko"],
        sample_data=True,
        no_cache=True,
        output_path=str(tmp_path / "r.json"),
    )
    write_report([tmp_path / "r.json"], tmp_path / "r.html")
    page = open_page(tmp_path / "r.html", "#/languages")
    row = page.locator("table").filter(has_text="Item").last.locator("tbody tr").first
    assert row.get_by_role("link").all_inner_texts() == ["A", "?", "B"]
    assert row.get_by_title("Unreadable").count() == 1


def test_a_sweep_shows_every_template(sweep_run: Path, tmp_path: Path, open_page: OpenPage) -> None:
    write_report([sweep_run], tmp_path / "r.html", charts=str(tmp_path / "figures"))
    page = open_page(tmp_path / "r.html", "#/templates")
    heat = page.locator("table.heat")
    assert heat.locator("tbody tr").count() == 2
    assert heat.locator("thead th").all_inner_texts()[1:-2] == ["0.2", "0.3", "0.4", "0.5", "0.6"]
    assert heat.locator("td.best").count() == 2 and heat.locator("td.chosen").count() == 2
    best = heat.locator("tbody tr", has_text="jnli").locator("td.best")
    above = max(0.0, (float(best.locator("a").inner_text()) - 1 / 3) / (1 - 1 / 3))
    assert f"{round(45 * above)}%" in best.get_attribute("style"), "from chance, not from the worst"
    shown = page.locator("main").inner_text()
    assert shown.count("Honest score") == 3, "a column and a line for each task"
    assert shown.count("Chosen on ") == 2
    assert (tmp_path / "figures" / "templates-1.png").stat().st_size > 5_000
    page.get_by_role("link", name="0.4").first.click()
    assert listed(page) == 18


def test_two_templates_among_many_tasks_are_no_sweep_to_open_on(
    tmp_path: Path, open_page: OpenPage
) -> None:
    tasks = ["jnli-1.3-0.2", "jnli-1.3-0.3", "mlogiqa_mcq"]
    evaluate(
        ScriptedBackend(), tasks, limit=2, sample_data=True, no_cache=True,
        output_path=tmp_path / "r.json",
    )  # fmt: skip
    write_report([tmp_path / "r.json"], tmp_path / "r.html")
    page = open_page(tmp_path / "r.html")
    assert page.locator('nav a[aria-current="page"]').inner_text() == "Languages"
    assert page.locator('nav a[data-view="templates"]').count() == 1
    show(page, "overview")
    names = page.locator(".card-name").all_inner_texts()
    assert [name.split() for name in names] == [
        ["mlogiqa_mcq", "10", "tasks"], ["jnli", "0.2"], ["jnli", "0.3"],
    ]  # fmt: skip
    assert page.get_by_text("10 more in the table.").count() == 1


def test_a_sweep_on_a_budget_shows_its_distribution(tmp_path: Path, open_page: OpenPage) -> None:
    found = sweep(
        ScriptedBackend(), "jcommonsenseqa", sample_data=True, formats=23, budget=6,
        output_path=tmp_path / "r.json",
    ).record.distributions  # fmt: skip
    assert found is not None
    write_report([tmp_path / "r.json"], tmp_path / "r.html")
    page = open_page(tmp_path / "r.html", "#/templates")
    page.wait_for_function("() => document.querySelector('figure img')?.naturalWidth > 0")
    shown = page.locator("main").inner_text()
    assert "30 prompts on 20 documents" in shown
    assert f"{found[0].quantiles[3].value:.3f}" in shown
    places = page.locator("table.scores").first.locator("tbody tr")
    assert places.count() == 7, "the published templates"
    page.get_by_label("All 30 prompts").check()
    assert places.count() == 30
    page.locator("table.scores").first.get_by_role("link").first.click()
    assert listed(page) == found[0].places[0].n
    show(page, "overview")
    assert page.locator("table.scores tbody tr").filter(has_text="jcommonsenseqa").count() == 0


def test_arabic_runs_from_right_to_left(report: Path, open_page: OpenPage) -> None:
    page = open_page(report, "#/samples?run=1&task=mlogiqa_mcq_ar&doc=s03")
    page.wait_for_selector(".sample pre")
    assert page.locator(".sample pre").first.get_attribute("lang") == "ar"
    # In a line of its own an Arabic text begins at the right edge.
    starts = page.evaluate(
        """() => {
          const block = document.querySelector('.sample pre');
          block.textContent = 'Choices:\\nأيّ العبارات الآتية صحيحة حتمًا؟';
          const range = document.createRange();
          range.setStart(block.firstChild, 9);
          range.setEnd(block.firstChild, 10);
          const box = block.getBoundingClientRect();
          const letter = range.getBoundingClientRect();
          return [letter.right - box.left, box.width];
        }"""
    )
    assert starts[0] > 0.8 * starts[1]


def test_a_phone_shows_list_then_document(report: Path, open_page: OpenPage) -> None:
    page = open_page(report, "#/overview", viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto(page.url.replace("overview", "samples"))
    page.wait_for_selector(".row")
    assert not page.locator(".sample").is_visible()
    page.locator(".row").first.click()
    page.wait_for_selector(".sample h2")
    assert page.locator(".sample").is_visible() and not page.locator(".rows").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="← List").click()
    assert page.locator(".rows").is_visible()


def test_the_interface_speaks_japanese(
    scripted_run: Path, tmp_path: Path, open_page: OpenPage
) -> None:
    write_report([scripted_run], tmp_path / "r.html", "ja", str(tmp_path / "figures"))
    page = open_page(tmp_path / "r.html")
    assert page.locator("html").get_attribute("lang") == "ja"
    assert page.locator("nav").inner_text().split() == ["概要", "言語", "サンプル", "詳細"]
    shown = page.locator("#page").inner_text()
    for view in ("languages", "samples", "details"):
        show(page, view)
        shown += page.locator("#page").inner_text()
    for word in ("Overview", "Template", "Prompt", "Warnings", "Choices"):
        assert word not in re.sub(r"Choices:", "", shown)
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".svg", ".png"}


def test_blocks_in_a_folder_open_from_a_disk(tmp_path: Path, open_page: OpenPage) -> None:
    from tenbin.report.html.build import build_page
    from tenbin.report.html.write import write_page

    page = build_page([read_run(choice_run(tmp_path / "run", 40))])
    assert write_page(page, tmp_path / "r.html", largest=0) is not None
    opened = open_page(tmp_path / "r.html", "#/samples?run=1&task=made&doc=d000003")
    opened.wait_for_selector(".sample h2")
    assert "質問3は何ですか。" in opened.locator(".sample").inner_text()


def test_a_thought_is_folded_before_its_answer(tmp_path: Path, open_page: OpenPage) -> None:
    thought = {"thinking": "<b>まず</b> A", "thinking_tokens": 7, "thinking_end": "budget"}
    written = {"logprobs": None, "choices": None, "continuations": None, "generated": "B"}
    drawn = [
        {"text": "B", "finish": "end", "tokens": 1, **thought},
        {"text": "", "finish": "length", "tokens": 0, **thought, "thinking_end": "open"},
    ]
    row = choice_row("made", 0, **written, **thought, finish="end", samples=drawn)
    ends = {"none": 0, "closed": 1, "budget": 2, "open": 0}
    lengths = {"answers": 3, "answer_tokens": 1.2, "thinking_tokens": 934.4, "thoughts": ends}
    document = result({"made": config("made")}, [row], lengths={"made": lengths})
    write_report([write(tmp_path / "run", document, [row])], tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    facts = page.locator("dl.facts").inner_text()
    assert "934 tokens of thinking and 1 of answer on average, 2 of 3 cut at the budget" in facts
    page = open_page(tmp_path / "report.html", "#/samples?doc=d000000")
    folded = page.locator("details.thinking").first
    assert "cut off at its budget · 7 tokens" in folded.inner_text()
    text = folded.locator("pre")
    assert not text.is_visible()
    folded.locator("summary").click()
    assert text.is_visible() and text.inner_text() == "<b>まず</b> A"
    page.get_by_text("All 2 sampled answers").click()
    assert "never closed: no answer follows" in page.locator("ol.steps").inner_text()


def test_a_choice_that_was_named_shows_its_labels(tmp_path: Path, open_page: OpenPage) -> None:
    named = {"logprobs": None, "token_counts": None, "greedy": None, "generated": "イ です"}
    labels = {"picked_by": "letter_logprobs", "labels": ["ア", "イ", "<b>"], "added": "記号で。"}
    rows = [
        choice_row("made", 2, **named, **labels, label_logprobs=[-2.0, -0.25, None]),
        choice_row("made", 0, **{**named, **labels, "picked_by": "generated", "generated": ""}),
    ]
    rows[1]["outcomes"][0]["predicted"] = None
    document = result({"made": config("made")}, rows)
    write_report([write(tmp_path / "run", document, rows)], tmp_path / "report.html")
    page = open_page(tmp_path / "report.html", "#/samples?doc=d000002")
    page.wait_for_selector("table.choices")
    shown = page.locator("table.choices tbody tr")
    assert [shown.nth(at).locator("th").inner_text() for at in range(3)] == labels["labels"]
    # exp(-2), exp(-0.25), and one that the server did not show.
    assert [shown.nth(at).locator("td.number").inner_text() for at in range(3)] == [
        "13.5\u202f%",
        "77.9\u202f%",
        "–",
    ]
    assert "Gold" in shown.nth(0).inner_text() and "chosen" in shown.nth(1).inner_text()
    text = page.locator(".sample").inner_text()
    assert "Picked by the likeliest label among the first tokens" in text and "イ です" in text
    page.goto(page.url.replace("d000002", "d000000"))
    page.get_by_text("returned no log-probabilities").wait_for()
    assert page.locator("table.choices .notes").all_inner_texts() == ["Gold"]
    assert "–" in page.locator("table.choices td.number").first.inner_text()


def test_too_few_documents_have_no_interval_in_any_view(
    tmp_path: Path, open_page: OpenPage
) -> None:
    command = ["--model", "scripted", "--sample_data", "--no_cache", "--limit", "2"]
    runs = []
    for name in "ab":
        runs.append(tmp_path / f"{name}.json")
        args = ["--model_args", f"fingerprint={name}", "--output_path", str(runs[-1])]
        tasks = ["--tasks", "jnli-1.3,mlogiqa_mcq_en,mlogiqa_mcq_ja", "--templates", "all"]
        assert main(["sweep", *command, *args, *tasks]) == 0
    write_report(runs, tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    for view in ("compare", "templates", "languages"):
        show(page, view)
        page.wait_for_selector("td.interval")
        shown = set(page.locator("td.interval:not(.minor)").all_inner_texts())
        assert shown <= {"too few documents", "–", ""} and "too few documents" in shown, view


def test_a_hostile_pattern_of_a_stored_run_is_tried_once_and_said_to_be_slow(
    tmp_path: Path, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    honest = steps.find_all

    def counted(source: str, text: str) -> Any:
        tried.append(source)
        return honest(source, text)

    monkeypatch.setattr(steps, "find_all", counted)
    monkeypatch.setattr("tenbin.sandbox.patterns.SECONDS", 0.1)
    slow = {"slow": [{"function": "regex", "regex_pattern": "(a|aa)+$"}]}
    made = config("made", filters=slow, output_type="generate")
    unweighed = {"choices": None, "continuations": None, "logprobs": None, "gold": None}
    rows = [choice_row("made", at, generated="a" * 50 + f"b{at}", **unweighed) for at in range(30)]
    write(tmp_path / "run", result({"made": made}, rows), rows)
    write_report([tmp_path / "run"], tmp_path / "r.html")
    assert tried == ["(a|aa)+$"]
    page = open_page(tmp_path / "r.html", "#/samples?run=1&task=made&doc=d000021")
    page.wait_for_selector(".sample h2")
    shown = page.locator(".reading").first.inner_text()
    assert "the pattern is too slow to show its matches" in shown


def test_details_name_the_files_of_lm_eval_tasks(tmp_path: Path, open_page: OpenPage) -> None:
    function = {"file": "/tasks/xnli/utils.py", "name": "clean", "sha256": "f" * 64}
    origin = {
        "path": "/tasks/xnli/<b>xnli_ja.yaml",
        "sha256": "e" * 64,
        "package": "lm_eval 0.4.13",
        "functions": [function],
    }
    configs = {"xnli_ja": config("xnli_ja", origin=origin), "own": config("own")}
    rows = [choice_row(id, at) for id in configs for at in range(3)]
    folder = write(tmp_path / "r.run", result(configs, rows), rows)
    page_file = tmp_path / "page.html"
    write_report([folder], page_file)
    page = open_page(page_file, "#/details")
    heading = page.get_by_role("heading", name="Task files")
    heading.wait_for()
    table = page.locator("h2:text-is('Task files') ~ *").locator("table").first
    shown = table.locator("tbody tr")
    assert shown.count() == 1
    text = shown.first.inner_text()
    for part in ("xnli_ja", "lm_eval 0.4.13", "e" * 12, "<b>xnli_ja.yaml", "utils.py: clean"):
        assert part in text


def test_recall_by_position_is_shown(tmp_path: Path, open_page: OpenPage) -> None:
    run = evaluate(
        model="scripted", tasks="jcommonsenseqa-1.1-0.2", rotations=True, sample_data=True,
        output_path=tmp_path / "runs", no_cache=True, progress=False,
    )  # fmt: skip
    assert run.path is not None
    write_report([run.path], tmp_path / "report.html")
    page = open_page(tmp_path / "report.html", "#/overview")
    assert page.locator('nav a[data-view="templates"]').count() == 0, "one template, rotated"
    show(page, "order")
    assert page.locator("section.order table tbody tr").count() == 5
    assert page.locator("section.order figure img").count() == 1
    text = page.locator("section.order ul.conclusions").inner_text()
    assert "mean over all orders" in text and "prior" in text.lower()
