"""Every document of a run as a row of a Parquet file that pandas, polars and duckdb open.

Knows the table's columns and the file; `rows` says what goes into them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tenbin.errors import ResultError

# Rows a group of the file: small enough to be made and read on demand, large enough to compress.
_ROWS_A_GROUP = 1_000


def _schema() -> Any:
    import pyarrow as pa

    text, whole, real = pa.string(), pa.int64(), pa.float64()
    thought = [("thinking", text), ("thinking_tokens", whole), ("thinking_end", text)]
    drawn = pa.struct([("text", text), ("finish", text), ("tokens", whole), *thought])
    outcome = pa.struct(
        [
            ("metric", text),
            ("value", real),
            ("answer", text),
            ("predicted", whole),
            ("weight", real),
            ("values", pa.list_(real)),
            ("answers", pa.list_(text)),
        ]
    )
    columns: list[tuple[str, Any]] = [
        *((name, text) for name in ("id", "task", "version", "template", "language")),
        ("shots", whole),
        ("seed", whole),
        ("document", text),
        ("row", whole),
        *((name, text) for name in ("item", "group", "prompt")),
        ("continuations", pa.list_(text)),
        ("choices", pa.list_(text)),
        ("num_choices", whole),
        ("logprobs", pa.list_(real)),
        ("token_counts", pa.list_(whole)),
        ("greedy", pa.list_(pa.bool_())),
        ("unconditional_logprobs", pa.list_(real)),
        ("picked_by", text),
        ("labels", pa.list_(text)),
        ("label_logprobs", pa.list_(real)),
        ("added", text),
        ("generated", text),
        ("finish", text),
        ("generated_tokens", whole),
        *thought,
        ("samples", pa.list_(drawn)),
        ("truncated_tokens", whole),
        ("stop", pa.list_(text)),
        ("max_gen_toks", whole),
        ("gold", whole),
        ("target", text),
        ("references", pa.list_(text)),
        ("examples", pa.list_(text)),
        ("dropped_examples", whole),
        ("parts", pa.list_(whole)),
        ("outcomes", pa.list_(outcome)),
        ("failure_kind", text),
        ("failure_message", text),
    ]
    return pa.schema(columns)


def write_samples(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows in groups, so that memory does not grow with their number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for group in _grouped(rows):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))


def _grouped(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    group: list[Mapping[str, Any]] = []
    for row in rows:
        group.append(row)
        if len(group) == _ROWS_A_GROUP:
            yield group
            group = []
    if group:
        yield group


def read_samples(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a samples file, a group at a time, whole or in some columns.

    Raises:
        ResultError: When the file is missing or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS_A_GROUP, columns=columns):
                yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise ResultError(f"{path}: the samples cannot be read: {error}") from error
