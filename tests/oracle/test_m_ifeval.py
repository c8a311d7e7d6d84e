"""M-IFEval's prompts: the prompt of each row and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.rendering import read_rows
from tests.oracle.test_published_prompts import preview, same

pytestmark = pytest.mark.real_data


@pytest.mark.parametrize("version", ["0.9", "1.0", "1.1"])
def test_prompts_of_all_rows(
    version: str, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    languages = ("ja", "en", "es", "fr")
    tasks = ",".join(f"m_ifeval_{language}-{version}-m-ifeval" for language in languages)
    got = preview(capsys, real_data, "--tasks", tasks, "--limit", "1000")
    expected = [
        {"prompt": row["prompt"], "stop": []}
        for language in languages
        for row in read_rows(real_data / "m_ifeval" / language / "test.jsonl.gz")
    ]
    assert len(expected) == 172 + 541 + 115 + 235
    same(got, expected)
