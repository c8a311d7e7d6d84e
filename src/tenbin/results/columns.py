"""The columns of samples.parquet, and whether a file has them.

Knows names, types and what is never null; docs/results.md says what they hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_NEVER_NULL = ("id", "task", "version", "template", "document", "shots", "seed", "outcomes")
_LISTS = (
    "continuations", "choices", "labels", "stop", "references", "examples", "parts", "outcomes",
    "token_counts", "greedy", "logprobs",
)  # fmt: skip
"""Whose entries are never null."""
_OUTCOME = ("metric", "value", "answer", "predicted")
"""What an outcome has had from the first shape on."""


class RowError(ValueError):
    """A row, or the table, is not one that tenbin writes."""


def samples_schema() -> Any:
    """The table's columns and their types."""
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
            ("aggregation", text),
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


def check_columns(found: Any) -> None:
    """See that columns have their types; those of earlier shapes may lack some.

    Args:
        found: The schema of a file.

    Raises:
        RowError: A column that every run has is missing, or one has another type.
    """
    expected = samples_schema()
    missing = [name for name in _NEVER_NULL if name not in found.names]
    if missing or len(set(found.names)) < len(found.names):
        raise RowError(f"the column {missing[0]} is missing" if missing else "a column comes twice")
    for field in found:
        at = expected.get_field_index(field.name)
        if at >= 0 and not _is_type(field.type, expected.field(at).type):
            raise RowError(f"the column {field.name} holds {field.type}")


def _is_type(found: Any, expected: Any) -> bool:
    """Whether a type is the expected one; of a record, earlier shapes may lack some entries."""
    import pyarrow as pa

    if pa.types.is_list(expected) and pa.types.is_list(found):
        return _is_type(found.value_type, expected.value_type)
    if not (pa.types.is_struct(expected) and pa.types.is_struct(found)):
        return bool(found == expected)
    known = {field.name: field.type for field in expected}
    if "metric" in known and any(found.get_field_index(name) < 0 for name in _OUTCOME):
        return False
    return all(_is_type(field.type, known.get(field.name, field.type)) for field in found)


def check_row(row: Mapping[str, Any]) -> None:
    """See that nothing is null that never is, nor negative, and that outcomes are finite.

    Raises:
        RowError: Something is.
    """
    for name in _NEVER_NULL:
        if name in row and row[name] is None:
            raise RowError(f"{name} is null")
    for name in _LISTS:
        if None in (row.get(name) or ()):
            raise RowError(f"an entry of {name} is null")
    for name in ("gold", "row"):
        if (row.get(name) or 0) < 0:
            raise RowError(f"{name} is {row[name]}")
    for outcome in row.get("outcomes", ()):
        if outcome["metric"] is None:
            raise RowError("an outcome names no metric")
        if (outcome["predicted"] or 0) < 0:
            raise RowError(f"{outcome['metric']} names choice {outcome['predicted']}")
        numbers = (outcome["value"], outcome.get("weight"), *(outcome.get("values") or ()))
        if not all(number is None or math.isfinite(number) for number in numbers):
            raise RowError(f"{outcome['metric']} is not a finite number")
