"""Every document of a run as a row of a Parquet file that pandas, polars and duckdb open.

Knows the table's columns; what goes into them comes from judged documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tenbin.errors import ResultError
from tenbin.records import Failure, Outcome, Picked, Prompt, Response, Rolled, Scores, Text

# Rows a group of the file: small enough to be made and read on demand, large enough to compress.
_ROWS_A_GROUP = 1_000


def sample_row(
    prompt: Prompt,
    response: Response,
    bare: Response | None,
    outcomes: Sequence[Outcome],
    further: Sequence[Response] = (),
) -> dict[str, Any]:
    """One document as plain values, ready for a table.

    Args:
        prompt: The document as it was put.
        response: Its answer.
        bare: The answer without the prompt, where one was asked for.
        outcomes: What the metrics say.
        further: The second and later answers that were drawn.
    """
    drawn = (response, *further)
    scores = response if isinstance(response, Scores) else None
    logprobs, token_counts = _weighed(response)
    text = response if isinstance(response, Text) else None
    picked = response if isinstance(response, Picked) else None
    failure = next((r for r in (*drawn, bare) if isinstance(r, Failure)), None)
    cell = prompt.cell
    return {
        "id": cell.id,
        "task": cell.task,
        "version": cell.version,
        "template": cell.template,
        "language": prompt.language,
        "shots": cell.shots,
        "seed": cell.seed,
        "document": prompt.document,
        "row": prompt.row,
        "item": prompt.item,
        "group": prompt.group,
        "prompt": prompt.text,
        "continuations": _listed(prompt.continuations),
        "choices": _listed(prompt.choices),
        "logprobs": logprobs,
        "token_counts": token_counts,
        "greedy": _listed(scores.greedy if scores else None),
        "unconditional_logprobs": _listed(bare.logprobs if isinstance(bare, Scores) else None),
        "picked_by": picked.way if picked else None,
        "labels": _listed(picked.labels if picked else None),
        "label_logprobs": _listed(picked.logprobs if picked else None),
        "added": picked.added if picked else None,
        "generated": text.text if text else picked.text if picked else None,
        "finish": text.finish if text else None,
        "generated_tokens": text.token_count if text else None,
        **_thought(prompt, text),
        "samples": [_drawn_answer(prompt, one) for one in drawn] if prompt.sampling else None,
        "truncated_tokens": getattr(response, "truncated", 0),
        "stop": list(prompt.stop),
        "max_gen_toks": prompt.max_gen_toks if prompt.kind == "generate" else None,
        "gold": prompt.gold,
        "target": prompt.target,
        "references": list(prompt.references),
        "examples": list(prompt.examples),
        "dropped_examples": prompt.dropped_examples,
        "parts": list(prompt.parts),
        "outcomes": [
            {
                "metric": outcome.metric,
                "value": outcome.value,
                "answer": outcome.answer,
                "predicted": outcome.predicted,
                "weight": outcome.weight,
                "values": list(outcome.values) or None,
                "answers": list(outcome.answers) or None,
            }
            for outcome in outcomes
        ],
        "failure_kind": failure.kind if failure else None,
        "failure_message": failure.message if failure else None,
    }


def _weighed(response: Response) -> tuple[list[float] | None, list[int] | None]:
    """Log-likelihoods and token counts: one a continuation, or one for a whole text."""
    if isinstance(response, Scores):
        return list(response.logprobs), list(response.token_counts)
    if isinstance(response, Rolled):
        return [response.logprob], [response.token_count]
    return None, None


def _thought(prompt: Prompt, text: Text | None) -> dict[str, Any]:
    """What was thought before an answer; nulls where thoughts were not kept apart.

    Some servers keep them apart without being asked.
    """
    kept = text
    if text is not None and prompt.thinking is None and text.thinking_end == "none":
        kept = None
    return {
        "thinking": kept.thinking if kept else None,
        "thinking_tokens": kept.thinking_tokens if kept else None,
        "thinking_end": kept.thinking_end if kept else None,
    }


def _drawn_answer(prompt: Prompt, response: Response) -> dict[str, Any]:
    """One of the answers that were drawn; nulls where it failed."""
    text = response if isinstance(response, Text) else None
    return {
        "text": text.text if text else None,
        "finish": text.finish if text else None,
        "tokens": text.token_count if text else None,
        **_thought(prompt, text),
    }


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return list(values) if values is not None else None


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
