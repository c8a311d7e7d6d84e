"""The columns of samples.parquet. Knows names and types; docs/results.md says what they hold."""

from __future__ import annotations

from typing import Any


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
