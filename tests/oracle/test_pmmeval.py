"""P-MMEval's prompts beside its published strings, filled in by plain replacement."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tenbin.cli import main
from tests.conftest import SHARED
from tests.oracle.rendering import Row, read_rows
from tests.oracle.test_published_prompts import preview, same

pytestmark = pytest.mark.real_data

LANGUAGES = ("en", "ko", "zh")
ROWS = {"mmmlu": (400, 400, 400), "mhellaswag": (120, 120, 114), "xnli": (120, 120, 120)}


@pytest.fixture(scope="module")
def published() -> Row:
    path = SHARED / "suites.yaml"
    if not path.is_file():
        pytest.skip("no published wordings at shared/suites.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))["pmmeval"]


def worded(text: str, row: Row) -> str:
    values = dict(row)
    values |= {f"option_{at}": one for at, one in enumerate(row.get("endings", ()), start=1)}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found.group(1)], text)


def letter(subset: str, row: Row) -> str:
    if subset == "mhellaswag":
        return "ABCD"[row["label"]]
    return row["Answer" if subset == "mmmlu" else "answer"]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("subset", ROWS)
def test_letters(
    subset: str,
    version: str,
    published: Row,
    real_data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tasks = ",".join(f"pmmeval_{subset}_{one}-{version}-p-mmeval" for one in LANGUAGES)
    got = preview(capsys, real_data, "--tasks", tasks)
    rows = [read_rows(real_data / "pmmeval" / subset / one / "test.jsonl.gz") for one in LANGUAGES]
    assert tuple(map(len, rows)) == ROWS[subset]
    same(
        got,
        [
            {
                "prompt": worded(published[subset]["doc_to_text"], row),
                "target": f'{{"answer": "{letter(subset, row)}"}}',
                "continuations": None,
                "stop": [],
            }
            for language in rows
            for row in language
        ],
    )


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_word_problems(
    version: str, published: Row, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = ",".join(f"pmmeval_mgsm_{language}-{version}-p-mmeval" for language in LANGUAGES)
    got = preview(capsys, real_data, "--tasks", tasks)
    expected = []
    for language in LANGUAGES:
        rows = read_rows(real_data / "pmmeval" / "mgsm" / language / "test.jsonl.gz")
        assert len(rows) == 250
        phrase = published["mgsm"]["phrase"][language]
        expected += [
            {
                "prompt": worded(published["mgsm"]["doc_to_text"], {**row, "phrase": phrase}),
                "target": phrase + row["answer"].replace(",", ""),
                "doc_id": row["id"],
                "stop": [],
            }
            for row in rows
            if row["question"]
        ]
    assert len(expected) == 744, "six Korean rows have no question"
    same(got, expected)


def test_phrases_of_languages_without_rows_here(
    published: Row, capsys: pytest.CaptureFixture[str]
) -> None:
    """The languages of which no rows were found, on the rows that come with tenbin."""
    names = ",".join(f"pmmeval_mgsm_{one}-1.0-p-mmeval" for one in published["mgsm"]["phrase"])
    arguments = ["preview", "--format", "jsonl", "--sample_data", "--tasks", names, "--limit", "1"]
    assert main(arguments) == 0
    prompts = [json.loads(line)["prompt"] for line in capsys.readouterr().out.splitlines()]
    for prompt, phrase in zip(prompts, published["mgsm"]["phrase"].values(), strict=True):
        assert prompt.count(f'"{phrase}"') == 2
