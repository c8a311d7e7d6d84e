"""Consistency on a terminal: within 80 columns, readable for ten languages, honest about n."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

import tenbin
from tenbin.analysis.consistency.answers import ExaminedSamples
from tenbin.analysis.consistency.examine import examine
from tenbin.analysis.consistency.report import ConsistencyReport
from tenbin.backends.scripted import ScriptedBackend
from tenbin.report.terminal.consistency import print_consistency
from tenbin.results.schema import RunResult, Sample

pytestmark = pytest.mark.usefixtures("cache")


def shown(report: ConsistencyReport, items: int = 10, terminal: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=80,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
    )
    print_consistency(report, items, console)
    return stream.getvalue()


def examined(texts: str = "{'answer': 'B'}", **options: Any) -> ConsistencyReport:
    given = {"tasks": "mlogiqa_mcq,mlogiqa_gen", "sample_data": True, "no_cache": True, **options}
    run = tenbin.evaluate(ScriptedBackend(texts=lambda _: texts), **given)
    samples = [Sample.from_json(row) for row in run.samples]
    return examine([ExaminedSamples("run", RunResult.model_validate(run.document), samples)])


def test_ten_languages_fit_eighty_columns() -> None:
    text = shown(examined())
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text, "plain in a pipe"
    assert "mlogiqa_mcq: 10 languages, 12 items, answers read by acc" in text
    assert "12 items in 10 languages, aligned by `id`" in text
    assert "Precision with 12 items: the accuracy of one language to about ±28" in text
    matrix = text.split("Cohen's kappa")[1].splitlines()
    assert matrix[1].split() == ["ar", "en", "es", "fr", "ja", "ko", "pt", "th", "vi", "zh"]
    assert len(matrix[2].split()) == 11 and matrix[2].split()[1] == "·"
    assert "mlogiqa_mcq and mlogiqa_gen" in text


def test_one_answer_everywhere_has_no_agreement_beyond_chance() -> None:
    text = shown(examined(tasks="mlogiqa_gen"))
    assert "undefined: only one answer occurs" in text
    assert "100.0%" in text and "by chance 100.0%" in text


def test_answers_that_cannot_be_read_are_said() -> None:
    text = shown(examined("no idea"))
    assert "unreadable answers, counted as wrong and not compared: ar 12, en 12" in text
    assert "no agreement to measure" in text
    assert "nan" not in text.lower()


def test_items_are_listed_as_asked() -> None:
    report = examined(tasks="mlogiqa_mcq")
    flips = report.sets["mlogiqa_mcq"].flips
    text = shown(report, items=3)
    assert sum(line.startswith("s") and line[1:3].isdigit() for line in text.splitlines()) == 3
    assert flips[0].item in text
    assert "most varied" not in shown(report, items=0)


@pytest.mark.parametrize(
    ("chance", "swaps", "words"),
    [
        (5e-46, 0.24, "evidence, not proof: shuffled rows would all agree with probability 5e-46"),
        (0.0, 0.24, "probability below 1e-300"),
        (0.5, 0.33, "This proves little"),
        (1e-9, 0.97, "This proves little"),
    ],
)
def test_row_numbers_are_called_what_they_are(chance: float, swaps: float, words: str) -> None:
    report = examined(tasks="mlogiqa_mcq")
    family = replace(
        report.families["mlogiqa"],
        alignment="row",
        chance_of_agreement=chance,
        unseen_swaps=swaps,
    )
    text = " ".join(shown(replace(report, families={"mlogiqa": family})).split())
    assert "aligned by row number, since rows have no `id`: 12 of 12 gold answers agree" in text
    assert words in text and f"unnoticed in {swaps:.0%} of cases" in text


def test_no_reference_no_gap() -> None:
    text = shown(examined(tasks="mlogiqa_mcq_ja,mlogiqa_mcq_ko"))
    assert "gap" not in text
    assert "gap to en" in shown(examined(tasks="mlogiqa_mcq_en,mlogiqa_mcq_ko"))


def test_a_terminal_gets_colour() -> None:
    assert "\x1b[1m" in shown(examined(tasks="mlogiqa_mcq"), terminal=True)
