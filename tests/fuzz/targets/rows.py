"""Data files of every format, read into documents as a run reads them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tenbin.data.ids import documents_of
from tenbin.data.readers.formats import RowFile
from tenbin.data.schemas import SCHEMAS
from tenbin.errors import DataError
from tests.fuzz.mutation import damage_bytes, damage_tree, write_json
from tests.fuzz.target import PropertyError, Target

_ROWS: dict[str, list[dict[str, Any]]] = {
    "jcommonsenseqa": [
        {"q_id": 1, "question": "何?", **{f"choice{n}": f"c{n}" for n in range(5)}, "label": 2},
        {"q_id": 2, "question": "誰?", **{f"choice{n}": f"d{n}" for n in range(5)}, "label": 0},
    ],
    "jnli": [
        {"sentence_pair_id": "7", "sentence1": "a", "sentence2": "b", "label": "neutral"},
        {"sentence_pair_id": "8", "sentence1": "c", "sentence2": "d", "label": 1},
    ],
    "marc_ja": [{"review_id": "R1", "sentence": "良い", "label": "positive"}],
    "squad": [
        {
            "id": "s1", "title": "t", "context": "c [SEP] d", "question": "q",
            "answers": {"text": ["d"], "answer_start": [4]}, "is_impossible": False,
        }
    ],
    "mlogiqa": [
        {"id": 3, "context": "c", "question": "q", "options": ["a", "b", "c", "d"], "answer": 1},
        {"id": 4, "context": "c", "question": "q", "options": "['a','b','c','d']", "label": "B"},
    ],
    "text": [{"id": "t1", "text": "天秤"}, {"text": "balance"}],
}  # fmt: skip
_KINDS = tuple(_ROWS)
_TEXT = "一行目\n\n二行目 [SEP]\r\n三\u2028行目\n".encode()
_SQUAD = {
    "version": "1",
    "data": [
        {
            "title": "t",
            "paragraphs": [
                {
                    "context": "c",
                    "qas": [{"id": "1", "question": "q", "answers": [{"text": "a",
                    "answer_start": 0}]}],
                }
            ],
        }
    ],
}  # fmt: skip
_WORDS = (
    "id",
    "label",
    "options",
    "answers",
    "text",
    "data",
    "paragraphs",
    "qas",
    5,
    "entailment",
    "[1,",
)
_PIECES = (
    b"\n",
    b"\r",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\x00",
    b'"',
    b"\\ud800",
    b"NaN",
    b"\xc0\x80",
    b",",
    b"{}",
)


def _mark(rng: Random, data: bytes) -> bytes:
    """The first byte chooses the schema that rows must have."""
    return bytes([rng.randrange(len(_KINDS) + 1)]) + data


def _make_jsonl(rng: Random) -> bytes:
    rows = json.loads(json.dumps(_ROWS[rng.choice(_KINDS)]))
    tree = damage_tree(rng, rows, _WORDS)
    lines = [
        write_json(rng, row).replace(b"\n", b"")
        for row in (tree if isinstance(tree, list) else [tree])
    ]
    data = b"\n".join(lines)
    return _mark(rng, damage_bytes(rng, data, _PIECES) if rng.randrange(4) == 0 else data)


def _make_json(rng: Random) -> bytes:
    tree = json.loads(json.dumps(rng.choice((_SQUAD, _SQUAD, _ROWS[rng.choice(_KINDS)]))))
    data = write_json(rng, damage_tree(rng, tree, _WORDS))
    return _mark(rng, damage_bytes(rng, data, _PIECES) if rng.randrange(4) == 0 else data)


def _csv(rows: list[dict[str, Any]], quoting: int = csv.QUOTE_MINIMAL) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), quoting=quoting)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def _make_csv(rng: Random) -> bytes:
    pieces = (
        *_PIECES,
        b'""',
        b"1e999",
        b"nan",
        b"_1",
        b"\r\r\n",
        b"," * 40,
        b"9" * 5_000,
        b'"' + b"x" * 140_000,
    )
    rows = _ROWS[rng.choice(("jcommonsenseqa", "jnli", "marc_ja", "text"))]
    written = _csv(rows, rng.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL)))
    delimiter = rng.choice((b",", b",", b",", b"\t", b"", b",,", b"\n", b'"', b"\xe3\x80\x81"))
    return _mark(rng, delimiter + b"\x00" + damage_bytes(rng, written, pieces))


_XML = """<?xml version="1.0" encoding="UTF-8"?>
<questions>
<question id="1"><text>山は？</text><answers><answer>富士山</answer></answers>
<meta><A.3></A.3><B1>は &amp; が</B1></meta></question>
<question id="2"><text><![CDATA[海は？]]></text><answers><answer>赤</answer></answers></question>
</questions>
""".encode()


def _make_xml(rng: Random) -> bytes:
    pieces = (
        *_PIECES,
        b"<!DOCTYPE q [<!ENTITY a 'b'>]>",
        b"&a;",
        b"&#xD800;",
        b"<![CDATA[",
        b"]]>",
        b"<?x y?>",
        b"<a>" * 500,
        b"</question>",
        b"UTF-16",
    )
    return _mark(rng, damage_bytes(rng, _XML, pieces))


def _make_text(rng: Random) -> bytes:
    return _mark(rng, damage_bytes(rng, _TEXT, _PIECES))


def _make_gzip(rng: Random) -> bytes:
    rows = _ROWS[rng.choice(_KINDS)] * rng.choice((1, 50))
    data = b"\n".join(write_json(rng, row).replace(b"\n", b"") for row in rows)
    return _mark(rng, damage_bytes(rng, gzip.compress(data, mtime=0)))


def _parquet(rows: list[dict[str, Any]], **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file, **options)
    return file.getvalue()


_PARQUET = tuple(
    _parquet(_ROWS[kind], compression=compression)
    for kind in ("jcommonsenseqa", "squad", "text")
    for compression in ("snappy", "none")
)


def _make_parquet(rng: Random) -> bytes:
    if rng.randrange(3):
        return _mark(rng, damage_bytes(rng, rng.choice(_PARQUET)))
    while True:
        rows = damage_tree(rng, json.loads(json.dumps(_ROWS[rng.choice(_KINDS)])), _WORDS)
        try:
            return _mark(rng, _parquet(rows, compression="none"))
        except Exception:
            continue  # no table holds these rows


def _read(name: str, **options: Any) -> Callable[[bytes, Path], None]:
    def check(data: bytes, folder: Path) -> None:
        kind = data[0] if data else 0
        path = folder / name
        path.write_bytes(data[1:])
        _read_rows(path, _KINDS[kind] if kind < len(_KINDS) else None, **options)

    return check


def _read_rows(path: Path, kind: str | None, **options: Any) -> None:
    file = RowFile(path, **options)
    if kind is None:
        documents = list(documents_of(file.rows()))
    else:
        make = SCHEMAS[kind]
        documents = [make(row, number) for number, row in enumerate(file.rows())]
    if not documents:
        raise PropertyError("a file without documents was accepted")
    for document in documents:
        # What a prompt is made of is hashed, sent and stored as UTF-8.
        json.dumps([document.id, document.fields], ensure_ascii=False, default=str).encode()


def _check_csv(data: bytes, folder: Path) -> None:
    delimiter, _, rest = data[1:].partition(b"\x00")
    path = folder / "rows.csv"
    path.write_bytes(rest)
    kind = data[0] if data else 0
    name = _KINDS[kind] if kind < len(_KINDS) else None
    _read_rows(path, name, delimiter=delimiter.decode("utf-8", "replace"))


def _check_text(data: bytes, folder: Path) -> None:
    _read("rows.txt", by_line=bool(data) and data[0] % 2 == 0)(data, folder)


def _refuse_empty(check: Callable[[bytes, Path], None]) -> Callable[[bytes, Path], None]:
    def checked(data: bytes, folder: Path) -> None:
        if not data:
            raise DataError("no input")
        check(data, folder)

    return checked


def _with_schema(write: Callable[[list[dict[str, Any]]], bytes], *names: str) -> list[bytes]:
    """Valid files: of each of these data sets, and of one that is not known."""
    written = [bytes([_KINDS.index(name)]) + write(_ROWS[name]) for name in names]
    return [*written, bytes([len(_KINDS)]) + write(_ROWS["text"])]


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


TARGETS = tuple(
    Target(
        name,
        make,
        _refuse_empty(check),
        seeds,
        share=share,
        # A page says how long it is, up to 2 GiB, and the library makes room before it reads it.
        megabytes=2_300 if name == "rows_parquet" else 256,
    )
    for name, make, check, seeds, share in (
        ("rows_jsonl", _make_jsonl, _read("rows.jsonl"), lambda: _with_schema(_lines, *_KINDS), 2),
        (
            "rows_json",
            _make_json,
            _read("rows.json"),
            lambda: [
                *_with_schema(lambda rows: json.dumps(rows).encode(), *_KINDS),
                bytes([_KINDS.index("squad")]) + json.dumps(_SQUAD).encode(),
            ],
            2,
        ),
        (
            "rows_csv",
            _make_csv,
            _check_csv,
            lambda: _with_schema(lambda rows: b",\0" + _csv(rows), "jcommonsenseqa", "jnli"),
            1,
        ),
        ("rows_xml", _make_xml, _read("rows.xml"), lambda: [bytes([len(_KINDS)]) + _XML], 1),
        ("rows_text", _make_text, _check_text, lambda: [b"\x05" + _TEXT, b"\x06" + _TEXT], 1),
        (
            "rows_gzip",
            _make_gzip,
            _read("rows.jsonl.gz"),
            lambda: _with_schema(lambda rows: gzip.compress(_lines(rows)), *_KINDS),
            1,
        ),
        (
            "rows_parquet",
            _make_parquet,
            _read("rows.parquet"),
            lambda: _with_schema(_parquet, "jcommonsenseqa", "squad", "text"),
            1,
        ),
    )
)
