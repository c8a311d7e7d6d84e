"""A row of samples.parquet: one document of a task with its prompt, answers and outcomes.

Plain frozen dataclasses, because a file may have a million rows: their types are checked once
against the columns of the file, not once for each row. The columns of the file, and the JSON
Schema, are derived from the fields here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

_DOCUMENTED: Any = {"use_attribute_docstrings": True}
"""Pydantic's configuration of a dataclass: descriptions in the JSON Schema are the docstrings."""


class RowError(ValueError):
    """A row, or the table, is not one that tenbin writes."""


@dataclass(frozen=True, slots=True)
class SampleOutcome:
    """What one metric says of a document."""

    __pydantic_config__ = _DOCUMENTED

    metric: str
    """Name of the metric."""
    value: float | None = None
    """Its value; null if the document failed. For perplexities the log-likelihood in nats."""
    answer: str | None = None
    """The answer as it was extracted; the first one if several were sampled."""
    predicted: int | None = None
    """Index of the choice that was taken."""
    aggregation: str | None = None
    """How values of documents become one number."""
    weight: float | None = None
    """Length of a text whose perplexity is measured: words, bytes or characters."""
    values: Sequence[float] | None = None
    """The value of each answer if several were judged; `value` is their mean."""
    answers: Sequence[str | None] | None = None
    """What was extracted from each of them."""
    item: str | None = None
    """As JSON: what a score of all documents takes of this one; null if that is `value`."""


@dataclass(frozen=True, slots=True)
class SampledAnswer:
    """One of several sampled answers; all null if it failed."""

    __pydantic_config__ = _DOCUMENTED

    text: str | None = None
    """The answer."""
    finish: str | None = None
    """`stop`, `end` or `length`."""
    tokens: int | None = None
    """Tokens of the answer."""
    thinking: str | None = None
    """Thinking before it, without the marks."""
    thinking_tokens: int | None = None
    """Tokens of thinking, marks included."""
    thinking_end: str | None = None
    """`none`, `closed`, `budget` or `open`."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One document of a task. Columns that were not read, or that a file lacks, are null."""

    __pydantic_config__ = _DOCUMENTED

    id: str
    """Task id that the document belongs to."""
    task: str
    """Name of the task."""
    version: str
    """Version of the task."""
    template: str
    """Name of the template."""
    language: str | None
    """Language of the task."""
    shots: int
    """Examples asked for."""
    seed: int
    """Seed that examples were sampled with."""
    document: str
    """Id of the row in its data set."""
    row: int | None = None
    """Its number in the split, from 0."""
    item: str | None = None
    """The item that it shares with other languages; null if it does not say."""
    group: str | None = None
    """What it shares with other documents, such as a paragraph: errors are clustered by it."""
    prompt: str | None = None
    """What the model read, byte for byte; for perplexities the text."""
    contexts: Sequence[str] | None = None
    """Several texts that each precede the one continuation, if choices differ in what comes before
    it; `prompt` is the first, and `logprobs` has one entry for each. Null for all other tasks."""
    continuations: Sequence[str] | None = None
    """What was scored after the prompt, delimiter included; null for generation."""
    choices: Sequence[str] | None = None
    """The same without the delimiter."""
    num_choices: int | None = None
    """Choices that the question offers, in generation too."""
    rotation: int | None = None
    """Places that the options were rotated by: position `p` of the prompt, of `choices`, `gold` and
    `predicted` is option `(p + rotation) mod num_choices` of the row. Null if they were not."""
    logprobs: Sequence[float] | None = None
    """Log-likelihood of each continuation; of a whole text, one."""
    token_counts: Sequence[int] | None = None
    """Tokens of each continuation."""
    greedy: Sequence[bool] | None = None
    """Whether greedy decoding would have given the continuation."""
    unconditional_logprobs: Sequence[float | None] | None = None
    """Log-likelihoods without the prompt, if a metric asked for them."""
    picked_by: str | None = None
    """How a choice was named: `letter_logprobs` or `generated`; null if choices were scored."""
    labels: Sequence[str] | None = None
    """Labels of the named choices."""
    label_logprobs: Sequence[float | None] | None = None
    """Log-probability of each label as the first token; null if the server did not show it."""
    added: str | None = None
    """What was put behind the prompt to have a choice named."""
    generated: str | None = None
    """What the model generated, before any filter; the first answer if several were sampled."""
    finish: str | None = None
    """`stop`, `end` or `length`."""
    generated_tokens: int | None = None
    """Tokens of the answer."""
    thinking: str | None = None
    """Thinking before the answer, without the marks; null if it was not kept apart."""
    thinking_tokens: int | None = None
    """Tokens of thinking, marks included."""
    thinking_end: str | None = None
    """`none` (no thinking), `closed`, `budget` (closed by force) or `open` (never closed)."""
    samples: Sequence[SampledAnswer] | None = None
    """Every sampled answer; null if decoding was greedy."""
    truncated_tokens: int | None = None
    """Tokens truncated from the left of the longest row."""
    stop: Sequence[str] | None = None
    """Stop strings."""
    max_gen_toks: int | None = None
    """Limit of an answer in tokens."""
    gold: int | None = None
    """Index of the right choice."""
    golds: Sequence[int] | None = None
    """Indices of all right choices, if there are several; `gold` is the first."""
    target: str | None = None
    """The right answer as an example would show it."""
    references: Sequence[str] | None = None
    """Accepted answers."""
    examples: Sequence[str] | None = None
    """Ids of the examples in the prompt."""
    dropped_examples: int | None = None
    """Examples left out to fit the window."""
    parts: Sequence[int] | None = None
    """Where each example and then the question begins in `prompt`, in characters."""
    outcomes: Sequence[SampleOutcome] = ()
    """What each metric says."""
    failure_kind: str | None = None
    """Why there is no answer, or why it could not be judged."""
    failure_message: str | None = None
    """The same in words."""

    def outcome(self, metric: str) -> SampleOutcome | None:
        """What one metric says; None if it says nothing."""
        return next((one for one in self.outcomes if one.metric == metric), None)

    def to_json(self) -> dict[str, Any]:
        """All columns by name, as plain values."""
        return _plain(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Sample:
        """A sample from plain values; columns that are missing are null."""
        known: dict[str, Any] = {name: row.get(name) for name in columns()}
        known["outcomes"] = [SampleOutcome(**one) for one in row.get("outcomes") or ()]
        if known["samples"] is not None:
            known["samples"] = [SampledAnswer(**one) for one in row["samples"]]
        return cls(**known)


def _plain(record: Sample | SampleOutcome | SampledAnswer) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(record, name) for name in record.__slots__}
    for name, value in found.items():
        if isinstance(value, list | tuple):
            found[name] = [_plain(one) if isinstance(one, _PARTS) else one for one in value]
    return found


_PARTS = (SampleOutcome, SampledAnswer)
_COLUMNS = tuple(one.name for one in fields(Sample))

REQUIRED = ("id", "task", "version", "template", "document", "shots", "seed", "outcomes")
"""Columns that every file has, without nulls."""
_WITHOUT_NULL_ENTRIES = (
    "contexts", "continuations", "choices", "golds", "labels", "stop", "references", "examples",
    "parts", "outcomes", "token_counts", "greedy", "logprobs",
)  # fmt: skip
_FIRST_OUTCOME = ("metric", "value", "answer", "predicted")
"""Entries of an outcome since schema version 1."""


def _names(record: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(record))


def columns() -> tuple[str, ...]:
    """Names of all columns, in the order of the file."""
    return _COLUMNS


@lru_cache(maxsize=1)
def arrow_schema() -> Any:
    """The columns of the file and their Arrow types, from the fields of `Sample`."""
    import pyarrow as pa

    return pa.schema(_arrow_fields(Sample))


def _arrow_fields(record: type) -> list[tuple[str, Any]]:
    hints = get_type_hints(record)
    return [(name, _arrow_type(hints[name])) for name in _names(record)]


def _arrow_type(hint: Any) -> Any:
    import pyarrow as pa

    if get_origin(hint) in (Union, UnionType):
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is not None:
        return pa.list_(_arrow_type(get_args(hint)[0]))
    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return plain[hint] if hint in plain else pa.struct(_arrow_fields(hint))


def check_columns(found: Any) -> None:
    """Check the columns of a file; files of earlier schema versions may lack some.

    Args:
        found: The Arrow schema of the file.

    Raises:
        RowError: A required column is missing, one comes twice, or one has another type.
    """
    expected = arrow_schema()
    missing = [name for name in REQUIRED if name not in found.names]
    if missing or len(set(found.names)) < len(found.names):
        raise RowError(f"the column {missing[0]} is missing" if missing else "a column comes twice")
    for field in found:
        at = expected.get_field_index(field.name)
        if at >= 0 and not _is_type(field.type, expected.field(at).type):
            raise RowError(f"the column {field.name} holds {field.type}")


def _is_type(found: Any, expected: Any) -> bool:
    """Whether a type is the expected one; structs of earlier versions may lack entries."""
    import pyarrow as pa

    if pa.types.is_list(expected) and pa.types.is_list(found):
        return _is_type(found.value_type, expected.value_type)
    if not (pa.types.is_struct(expected) and pa.types.is_struct(found)):
        return bool(found == expected)
    known = {field.name: field.type for field in expected}
    if "metric" in known and any(found.get_field_index(name) < 0 for name in _FIRST_OUTCOME):
        return False
    return all(_is_type(field.type, known.get(field.name, field.type)) for field in found)


def check_sample(sample: Sample) -> None:
    """Check what the types of columns do not say: nulls, negative indices, finite numbers.

    Raises:
        RowError: A value is not one that tenbin writes.
    """
    for name in REQUIRED:
        if getattr(sample, name) is None:
            raise RowError(f"{name} is null")
    for name in _WITHOUT_NULL_ENTRIES:
        if None in (getattr(sample, name) or ()):
            raise RowError(f"an entry of {name} is null")
    for name in ("gold", "row"):
        if (getattr(sample, name) or 0) < 0:
            raise RowError(f"{name} is {getattr(sample, name)}")
    for outcome in sample.outcomes:
        if outcome.metric is None:
            raise RowError("an outcome names no metric")
        if (outcome.predicted or 0) < 0:
            raise RowError(f"{outcome.metric} names choice {outcome.predicted}")
        numbers = (outcome.value, outcome.weight, *(outcome.values or ()))
        if not all(number is None or math.isfinite(number) for number in numbers):
            raise RowError(f"{outcome.metric} is not a finite number")
