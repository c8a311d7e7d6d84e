"""XQuAD's prompts beside lm-eval's published strings, filled in by plain replacement."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.conftest import SHARED
from tests.oracle.rendering import Row, read_rows
from tests.oracle.test_published_prompts import preview, same

pytestmark = pytest.mark.real_data

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")


@pytest.fixture(scope="module")
def published() -> Row:
    path = SHARED / "suites.yaml"
    if not path.is_file():
        pytest.skip("no published wordings at shared/suites.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))["xquad"]["wordings"][0]


def worded(text: str, row: Row) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: row[found.group(1)], text)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_prompts_of_lm_eval(
    version: str, published: Row, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = ",".join(f"xquad_{language}-{version}-lm-eval" for language in LANGUAGES)
    got = preview(capsys, real_data, "--tasks", tasks, "--limit", "200")
    expected = []
    for language in LANGUAGES:
        text = published["doc_to_text"][language]
        if version == "1.1":
            # The one word that 1.1 mends.
            text = re.sub(r"^سيا:", "سياق:", text)
        for row in read_rows(real_data / "xquad" / language / "validation.jsonl.gz")[:200]:
            expected.append(
                {
                    "prompt": worded(text, row),
                    "target": row["answers"]["text"][0],
                    "stop": published["until"],
                }
            )
    assert len(expected) == 2400
    same(got, expected)


def test_examples_stand_between_blank_lines(
    published: Row, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = "xquad_ar-1.0-lm-eval"
    got = preview(capsys, real_data, "--tasks", task, "--num_fewshot", "2", "--limit", "20")
    rows = {row["id"]: row for row in read_rows(real_data / "xquad" / "ar" / "validation.jsonl.gz")}
    text = published["doc_to_text"]["ar"]
    for one in got:
        shown = [rows[name] for name in one["examples"]]
        parts = [f"{worded(text, row)} {row['answers']['text'][0]}" for row in shown]
        assert len(parts) == 2
        assert one["prompt"] == "\n\n".join([*parts, worded(text, rows[one["doc_id"]])])
