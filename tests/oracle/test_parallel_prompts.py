"""`tenbin preview` of the parallel benchmarks against renderings from the published strings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenbin.cli import main
from tests.conftest import SHARED
from tests.oracle import parallel_rendering as oracle
from tests.oracle.rendering import read_rows

pytestmark = pytest.mark.real_data

Row = dict[str, Any]
LIMIT = 100
BMLAMA = ("ar", "en", "es", "fr", "ja", "ko", "pt", "th", "vi", "zh")
PAWSX = ("de", "en", "es", "fr", "ja", "ko", "zh")
XCOPA = ("et", "ht", "it", "id", "qu", "sw", "zh", "ta", "th", "tr", "vi")
BELEBELE = ("arb_Arab", "eng_Latn", "jpn_Jpan", "swh_Latn", "tha_Thai", "zho_Hant")
GLOBAL_MMLU = ("ar", "en", "ja", "sw", "zh")
SAMPLES = Path(__file__).parents[2] / "src" / "tenbin" / "catalog" / "sample_data"
XNLI = ("ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")


@pytest.fixture(scope="module")
def facts() -> Row:
    path = SHARED / "suites.yaml"
    if not path.is_file():
        pytest.skip("no published wordings at shared/suites.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


Preview = Callable[..., list[Row]]


@pytest.fixture
def preview(real_data: Path, capsys: pytest.CaptureFixture[str]) -> Preview:
    def rendered(task: str, samples: bool = False) -> list[Row]:
        rows = ["--sample_data"] if samples else ["--data_dir", str(real_data)]
        options = ["--format", "jsonl", "--limit", str(LIMIT), *rows]
        code = main(["preview", "--tasks", task, *options])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return [json.loads(line) for line in captured.out.splitlines()]

    return rendered


def same(got: list[Row], expected: list[Row]) -> None:
    assert len(got) == len(expected) > 0
    for ours, theirs in zip(got, expected, strict=True):
        assert {key: ours[key] for key in theirs} == theirs, ours["doc_id"]


@pytest.mark.parametrize("language", XNLI)
def test_xnli(language: str, facts: Row, real_data: Path, preview: Preview) -> None:
    rows = read_rows(real_data / "xnli" / language / "validation.jsonl.gz")
    expected = [oracle.xnli(facts, language, row) for row in rows[:LIMIT]]
    same(preview(f"xnli_{language}-1.0-lm-eval"), expected)


@pytest.mark.parametrize("language", XCOPA)
def test_xcopa(language: str, facts: Row, real_data: Path, preview: Preview) -> None:
    rows = read_rows(real_data / "xcopa" / language / "test.jsonl.gz")
    expected = [oracle.xcopa(facts, language, row) for row in rows[:LIMIT]]
    same(preview(f"xcopa_{language}-1.0-lm-eval"), expected)


@pytest.mark.parametrize("language", PAWSX)
def test_pawsx(language: str, facts: Row, real_data: Path, preview: Preview) -> None:
    rows = read_rows(real_data / "pawsx" / language / "validation.jsonl.gz")
    translated = [row for row in rows if "NS" not in (row["sentence1"], row["sentence2"])]
    expected = [oracle.pawsx(facts, language, row) for row in translated[:LIMIT]]
    same(preview(f"pawsx_{language}-1.0-lm-eval"), expected)


@pytest.mark.parametrize("language", BMLAMA)
def test_bmlama53(language: str, real_data: Path, preview: Preview) -> None:
    rows = read_rows(real_data / "bmlama53" / language / "test.jsonl.gz")
    scored = [(n, row) for n, row in enumerate(rows) if row["Ans"] != row["Candidate Ans"]]
    expected = [oracle.bmlama53(row, number) for number, row in scored[:LIMIT]]
    same(preview(f"bmlama53_{language}-1.0-fill"), expected)


# There are no real rows of these two: the shipped samples have their fields.


def sample_rows(*place: str) -> list[Row]:
    return [json.loads(line) for line in SAMPLES.joinpath(*place).open(encoding="utf-8")]


@pytest.mark.parametrize("language", BELEBELE)
@pytest.mark.parametrize(
    ("task", "template", "wording"),
    [
        ("belebele", "lm-eval", "lm-eval"),
        ("belebele", "paper", "paper"),
        ("belebele_gen", "paper", "zero-shot"),
    ],
)
def test_belebele(
    language: str, task: str, template: str, wording: str, facts: Row, preview: Preview
) -> None:
    rows = sample_rows("belebele", language, "test.jsonl")
    expected = [oracle.belebele(facts, wording, row) for row in rows]
    same(preview(f"{task}_{language}-1.0-{template}", samples=True), expected)


@pytest.mark.parametrize("language", GLOBAL_MMLU)
def test_global_mmlu(language: str, facts: Row, preview: Preview) -> None:
    rows = sample_rows("global_mmlu", language, "test.jsonl")
    expected = [oracle.global_mmlu(facts, row) for row in rows]
    same(preview(f"global_mmlu_{language}-1.0-lm-eval", samples=True), expected)


@pytest.mark.parametrize("language", GLOBAL_MMLU)
def test_global_mmlu_lite(language: str, facts: Row, preview: Preview) -> None:
    rows = sample_rows("global_mmlu_lite", language, "test.jsonl")
    expected = [oracle.global_mmlu(facts, row) for row in rows]
    same(preview(f"global_mmlu_lite_{language}-1.0-lm-eval", samples=True), expected)
