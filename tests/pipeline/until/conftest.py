"""Rows that all runs here ask."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipeline.until.early_stops import ROWS


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows whose question names the right answer: models are as good as a test wants them."""
    folder = tmp_path_factory.mktemp("data")
    place = folder / "jglue_v1.1" / "jcommonsenseqa"
    place.mkdir(parents=True)
    rows = []
    for at in range(ROWS):
        row = {"q_id": at, "question": f"問い{at}（{at % 5}）"}
        row |= {f"choice{one}": f"答え{at}-{one}" for one in range(5)}
        rows.append(json.dumps({**row, "label": at % 5}, ensure_ascii=False))
    for split in ("train", "validation"):
        (place / f"{split}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return folder
