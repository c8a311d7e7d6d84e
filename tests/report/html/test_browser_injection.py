"""Nothing that a model, a data set or a task's author wrote runs, loads or leaves the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.cli.report import write_report
from tests.browser import OpenPage, show
from tests.report.made_run import choice_row, config, result, write

CORPUS = (Path(__file__).parent / "injections.txt").read_text(encoding="utf-8").splitlines()

FORBIDDEN = {
    "script", "iframe", "object", "embed", "svg", "link", "meta", "base", "style", "form",
    "video", "audio", "source", "math", "portal",
}  # fmt: skip


def hostile_row(id: str, text: str, at: int) -> dict[str, Any]:
    """A document in which every text is hostile; every other one is a generation."""
    row = choice_row(
        id,
        0,
        document=f"{at} {text}",
        language=text,
        prompt=f"{text}\n\n{text}",
        parts=[0, len(text) + 2],
        examples=[text],
        group=text,
        choices=[text, text + "!", "c"],
        continuations=[" " + text, " " + text + "!", " c"],
        target=text,
        references=[text, text],
        stop=[text],
        outcomes=[{"metric": "acc", "value": float(at % 2), "answer": text, "predicted": 0}],
    )
    if at % 2:
        row |= {"logprobs": None, "choices": None, "continuations": None, "generated": text}
        row |= {"finish": text, "generated_tokens": 3}
        row |= {
            "thinking": text,
            "thinking_tokens": 3,
            "thinking_end": ("closed", text)[at % 3 == 0],
        }
    if at % 5 == 4:
        row |= {"failure_kind": text, "failure_message": text}
    return row


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    # Every string once as a task of its own, whose names are hostile too.
    ids = [f"{text}-1.0-{text}" for text in CORPUS]
    configs = {
        id: config(text, template=text, language=text, family=text, version=text, description=text,
                   filters={text: [{"function": "choice_letter_flexible"}]})
        for id, text in zip(ids, CORPUS, strict=True)
    }  # fmt: skip
    rows = [hostile_row(id, text, at) for id in ids[:2] for at, text in enumerate(CORPUS)] + [
        hostile_row(id, text, at)
        for at, (id, text) in enumerate(zip(ids, CORPUS, strict=True))
        if at > 1
    ]
    everything = " ".join(CORPUS)
    twins = {text: text for text in CORPUS}
    file = dict.fromkeys(("path", "sha256", "source", "version"), everything)
    measured = {"acc": {"n": 1, "failed": 0, "higher_is_better": True, "unit": ""}}
    document = result(
        configs,
        rows,
        model={"model": everything, "dtype": everything, **twins},
        engine={"name": everything, "mode": everything},
        date=everything,
        warnings=CORPUS,
        failures={ids[0]: dict.fromkeys(CORPUS, 1)},
        config={"tasks": CORPUS, "model": everything, "model_args": twins, "seed": 1},
        libraries=twins,
        data={id: {} for id in ids}
        | {ids[0]: {text: [{**file, "rows": 1, "verified": False}] for text in CORPUS}},
        groups={text: {"alias": text, "acc": 0.5, "acc_stderr": 0.1} for text in CORPUS},
        group_details=dict.fromkeys(CORPUS, measured),
        group_subtasks=dict.fromkeys(CORPUS, CORPUS),
        fingerprint=everything,
    )
    run = write(folder / "run", document, rows)
    with pytest.MonkeyPatch.context() as patched:
        # A chart of eighty such names takes long; charts have a test of their own.
        patched.setattr("tenbin.report.charts.differences._MOST_ROWS", 0)
        write_report([run, run], folder / "report.html")
    return folder / "report.html"


def test_the_corpus_is_large_enough() -> None:
    assert len(set(CORPUS)) >= 60


def test_views_show_hostile_text_as_text(hostile: Path, open_page: OpenPage) -> None:
    page = open_page(hostile)
    for view in ("overview", "samples", "details"):
        show(page, view)
        page.evaluate("() => document.querySelectorAll('summary').forEach((one) => one.click())")
        # Folds draw what they hold when the browser tells them that they were opened.
        page.wait_for_function(
            "() => [...document.querySelectorAll('details.as-figure')].every("
            "(one) => one.querySelector('img')?.complete)"
        )
        assert page.evaluate("() => window.canary") is None
        assert "<script>window.canary=1</script>" in page.locator("#page").inner_text()
        elements, attributes = page.evaluate(
            """() => {
              const all = [...document.querySelectorAll('#page *')];
              const names = all.flatMap((one) => one.getAttributeNames());
              return [all.map((one) => one.localName), names];
            }"""
        )
        assert not FORBIDDEN & set(elements), view
        assert not [name for name in attributes if name.startswith("on")], view


def test_every_hostile_document_opens_as_text(hostile: Path, open_page: OpenPage) -> None:
    page = open_page(hostile, "#/samples")
    page.wait_for_selector(".row")
    task = page.evaluate("() => document.querySelector('#by-task').options[1].value")
    page.select_option("#by-task", task)
    page.wait_for_function(
        "(n) => document.querySelector('.list .note')?.textContent.startsWith(n)",
        arg=f"{len(CORPUS)} of",
    )
    page.keyboard.press("Escape")
    page.locator(".rows").focus()
    page.keyboard.press("Home")
    for at, text in enumerate(CORPUS):
        page.wait_for_function(
            "(start) => document.querySelector('.sample h2 .mono')?.textContent.startsWith(start)",
            arg=f"{at} ",
        )
        shown = page.locator(".sample").evaluate("one => one.textContent")
        assert text in shown
        page.locator(".rows").focus()
        page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    assert page.evaluate("() => window.canary") is None


def test_a_hostile_address_is_only_an_address(hostile: Path, open_page: OpenPage) -> None:
    from urllib.parse import quote

    addresses = [
        f"samples?task={quote(text)}&doc={quote(text)}&text={quote(text)}" for text in CORPUS[:12]
    ]
    page = open_page(hostile, f"#/{addresses[0]}")
    for address in addresses:
        show(page, address)
        assert page.evaluate("() => window.canary") is None
    page = open_page(hostile, "#/constructor?run=__proto__&task=__proto__&state=toString")
    page.wait_for_selector("table.scores")
    show(page, "samples?run=__proto__&task=__proto__&state=toString")


def test_charts_are_pictures_in_which_nothing_runs(tmp_path: Path, open_page: OpenPage) -> None:
    texts = [text for text in CORPUS if "script" in text][:6]
    rows = [hostile_row(text, text, 0) for text in texts]
    document = result({text: config(text, template=text) for text in texts}, rows)
    run = write(tmp_path / "run", document, rows)
    write_report([run], tmp_path / "one.html")
    page = open_page(tmp_path / "one.html", "#/overview")
    page.wait_for_function("() => document.querySelector('figure img')?.naturalWidth > 0")
    source = page.locator("figure img").get_attribute("src") or ""
    assert source.startswith("data:image/svg+xml") and "window.canary" in source
    assert page.evaluate("() => window.canary") is None
