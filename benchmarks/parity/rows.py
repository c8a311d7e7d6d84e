"""Writes the rows that both programs read: a folder as `--data_dir` of tenbin takes it.

Real rows come from a folder of published data sets (`../shared/data`), put under the data set names
of the tasks. A split that is not there (a train file, mostly) is made of other real rows of the
same set. The rest is hand-made.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from handmade import ROWS, Row

XNLI = ("en", "zh", "th")
PAWS = ("en", "ja", "de")
XCOPA = ("et", "zh", "vi")
MGSM = ("en", "ja", "zh")
XQUAD = ("en", "zh", "ru")
TESTED, SHOWN = 12, 10
"""Scored rows of a task, and rows that examples are taken from."""


def write_rows(folder: Path, shared: Path | None, tested: int = TESTED) -> None:
    """Write all data sets.

    Args:
        folder: Where they go.
        shared: The folder of published rows; None writes the hand-made ones only.
        tested: Scored rows of each task over real rows.
    """
    for name, splits in ROWS.items():
        for split, rows in splits.items():
            write(folder / name / f"{split}.jsonl", rows)
    if shared is not None:
        for name, splits in real_rows(shared, tested).items():
            for split, rows in splits.items():
                write(folder / name / f"{split}.jsonl", rows)


def write(path: Path, rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(path: Path, start: int, count: int | None) -> list[dict[str, Any]]:
    end = None if count is None else start + count
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in islice(file, start, end)]


def real_rows(shared: Path, tested: int) -> Mapping[str, Mapping[str, list[dict[str, Any]]]]:
    """Folder below `--data_dir` → splits → rows."""

    def part(name: str, start: int, count: int | None) -> list[dict[str, Any]]:
        return read(shared / f"{name}.jsonl.gz", start, count)

    sets: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for language in XNLI:
        name = f"xnli/{language}/validation"
        sets[f"facebook/xnli/{language}"] = {
            "train": part(name, 2000, SHOWN),
            "validation": part(name, 0, tested),
        }
    for language in PAWS:
        name = f"pawsx/{language}/validation"
        rows = [row for row in part(name, 0, None) if row["sentence1"] != "NS"]
        sets[f"google-research-datasets/paws-x/{language}"] = {
            "train": rows[1000 : 1000 + SHOWN],
            "validation": rows[500 : 500 + SHOWN],
            "test": rows[:tested],
        }
    for language in XCOPA:
        sets[f"cambridgeltl/xcopa/{language}"] = {
            "validation": part(f"xcopa/{language}/validation", 0, SHOWN),
            "test": part(f"xcopa/{language}/test", 0, tested),
        }
    for language in MGSM:
        sets[f"juletxara/mgsm/{language}"] = {
            "train": part(f"mgsm/{language}/train", 0, None),
            "test": part(f"mgsm/{language}/test", 0, tested),
        }
    for language in XQUAD:
        sets[f"google/xquad/xquad.{language}"] = {
            "validation": part(f"xquad/{language}/validation", 0, tested)
        }
    sets["EleutherAI/logiqa/logiqa"] = {
        "train": [_logiqa(row) for row in part("logiqa_standin/en/validation", 300, SHOWN)],
        "validation": [_logiqa(row) for row in part("logiqa_standin/en/validation", 0, SHOWN)],
        "test": [_logiqa(row) for row in part("logiqa_standin/en/test", 0, tested)],
    }
    for config, name, train, start in (
        ("JNLI", "jnli", "jnli/train", 0),
        ("JCommonsenseQA", "jcommonsenseqa", "jcommonsenseqa/train", 0),
        ("JSQuAD", "jsquad", "jsquad/validation", 2000),
    ):
        sets[f"Rakuten/JGLUE/{config}"] = {
            "train": part(f"jglue_v1.1/{train}", start, SHOWN),
            "validation": part(f"jglue_v1.1/{name}/validation", 0, tested),
        }
    return sets


def _logiqa(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in the form of the hub's set: the answer as a letter."""
    return {
        "label": "abcd"[row["answer"]],
        **{name: row[name] for name in ("context", "question", "options")},
    }
