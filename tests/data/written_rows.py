"""Small rows of every pinned set, and files written from them."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]

JCQA: Rows = [
    {"q_id": 7 + n, "question": f"問{n}", **{f"choice{c}": f"答{c}" for c in range(5)}, "label": n}
    for n in range(3)
]
JNLI: Rows = [
    {"sentence_pair_id": str(n), "sentence1": f"前{n}", "sentence2": f"後{n}", "label": n}
    for n in range(3)
]
MARC: Rows = [{"sentence": f"評{n}", "label": n % 2} for n in range(3)]
SQUAD: Rows = [
    {
        "id": f"a{n}",
        "title": "梅雨",
        "context": "梅雨 [SEP] 梅雨は雨季。",
        "question": f"問{n}",
        "answers": {"text": ["雨季", "雨"], "answer_start": [12, 12]},
        "is_impossible": False,
    }
    for n in range(3)
]
MLOGIQA: Rows = [
    {"context": " 文 ", "question": "問\n", "options": ["い", "ろ", "は", "に"], "answer": n}
    for n in range(4)
]


def git_blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def as_lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def as_squad(rows: Rows) -> bytes:
    questions = [
        {
            "id": row["id"],
            "question": row["question"],
            "is_impossible": False,
            "answers": [
                {"text": text, "answer_start": start}
                for text, start in zip(*row["answers"].values(), strict=True)
            ],
        }
        for row in rows
    ]
    paragraph = {"context": rows[0]["context"], "qas": questions}
    whole = {"version": 1, "data": [{"title": rows[0]["title"], "paragraphs": [paragraph]}]}
    return json.dumps(whole, ensure_ascii=False, indent=1).encode()


def write_rows(path: Path, rows: Rows, *, squad: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        return path
    content = as_squad(rows) if squad else as_lines(rows)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
