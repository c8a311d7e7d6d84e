"""Rows to documents: what the rows of each pinned data set must hold, and the fields templates see.

One function per schema. Copies of the same data differ in spelling; the functions accept all known
spellings, so that later stages meet one form.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from tenbin.data.rows import Row, check_characters, describe_value
from tenbin.errors import DataError
from tenbin.records import Document

NLI_LABELS = {"entailment": 0, "contradiction": 1, "neutral": 2}
REVIEW_LABELS = {"positive": 0, "negative": 1}
LETTERS = {"A": 0, "B": 1, "C": 2, "D": 3}
OPTION_NAMES = (
    ("option_1", "option_2", "option_3", "option_4"),
    ("option_a", "option_b", "option_c", "option_d"),
)
SEPARATOR = "[SEP]"


def jcommonsenseqa_document(row: Row, number: int) -> Document:
    """Read a question with five choices."""
    choices = [take_text(row, f"choice{index}") for index in range(5)]
    fields = {
        "question": take_text(row, "question"),
        "choices": choices,
        **{f"choice{index}": choice for index, choice in enumerate(choices)},
        "label": take_label(row, "label", 5),
    }
    return Document(take_identifier(row, "q_id", number), fields, None, row.origin, number)


def jnli_document(row: Row, number: int) -> Document:
    """Read a pair of sentences with its relation."""
    fields = {
        "premise": take_text(row, "sentence1"),
        "hypothesis": take_text(row, "sentence2"),
        "label": take_label(row, "label", 3, NLI_LABELS),
    }
    return Document(
        take_identifier(row, "sentence_pair_id", number), fields, None, row.origin, number
    )


def marc_ja_document(row: Row, number: int) -> Document:
    """Read a review with its label."""
    fields = {
        "review": take_text(row, "sentence"),
        "label": take_label(row, "label", 2, REVIEW_LABELS),
    }
    return Document(take_identifier(row, "review_id", number), fields, None, row.origin, number)


def squad_document(row: Row, number: int) -> Document:
    """Read a question about a paragraph.

    JSQuAD writes the title and a separator before the paragraph; `context` is the paragraph alone.
    `answers.answer_start` stays as published, which for JSQuAD counts from the title on.
    """
    if row.values.get("is_impossible"):
        refuse(row, "is_impossible", True, "false: each question has an answer")
    title = take_text(row, "title")
    context = take_text(row, "context").rpartition(SEPARATOR)[2].strip()
    if not context:
        refuse(row, "context", row.values["context"], f"text after the last {SEPARATOR}")
    identifier = take_identifier(row, "id", number)
    fields = {
        "id": identifier,
        "title": title,
        "context": context,
        "question": take_text(row, "question"),
        "answers": _take_answers(row),
    }
    group = hashlib.sha256(f"{title}\0{context}".encode()).hexdigest()[:16]
    return Document(identifier, fields, group, row.origin, number)


def mlogiqa_document(row: Row, number: int) -> Document:
    """Read a passage with a question and four options; its id names the item in all languages."""
    options = _take_options(row)
    answer_field = "answer" if "answer" in row.values or "label" not in row.values else "label"
    if {"answer", "label"} <= row.values.keys():
        other = take_label(row, "label", 4, LETTERS)
        if other != take_label(row, "answer", 4, LETTERS):
            refuse(row, "label", row.values["label"], "the same choice as `answer`")
    identifier = take_identifier(row, "id", number)
    named = row.values.get("id") not in (None, "")
    fields = {
        # Only an id of the data's own says which item this is: a row number does not.
        **({"id": identifier} if named else {}),
        "context": take_text(row, "context").strip(),
        "question": take_text(row, "question").strip(),
        "options": options,
        **{f"option{index}": option for index, option in enumerate(options)},
        "label": take_label(row, answer_field, 4, LETTERS),
    }
    return Document(identifier, fields, identifier, row.origin, number)


def text_document(row: Row, number: int) -> Document:
    """Read a text that is scored as a whole."""
    fields = {"text": take_text(row, "text")}
    return Document(take_identifier(row, "id", number), fields, None, row.origin, number)


def _take_answers(row: Row) -> dict[str, list[Any]]:
    accepted = "an object with `text`: at least one text that is not empty"
    answers = take(row, "answers", accepted)
    texts = answers.get("text") if isinstance(answers, Mapping) else None
    if (
        not isinstance(texts, list)
        or not texts
        or not all(isinstance(text, str) and text.strip() for text in texts)
    ):
        refuse(row, "answers", answers, accepted)
    starts = answers.get("answer_start", [-1] * len(texts))
    if not isinstance(starts, list) or len(starts) != len(texts):
        refuse(row, "answers", answers, "as many `answer_start` as `text`")
    return {"text": list(texts), "answer_start": list(starts)}


def _take_options(row: Row) -> list[str]:
    if "options" in row.values:
        options = row.values["options"]
        if isinstance(options, str):
            options = parse_written_list(row, "options", options)
        return check_texts(row, "options", options, 4)
    for names in OPTION_NAMES:
        if any(name in row.values for name in names):
            return [take_text(row, name) for name in names]
    return check_texts(row, "options", take(row, "options", "a list of 4 texts"), 4)


SCHEMAS: Mapping[str, Callable[[Row, int], Document]] = {
    "jcommonsenseqa": jcommonsenseqa_document,
    "jnli": jnli_document,
    "marc_ja": marc_ja_document,
    "squad": squad_document,
    "mlogiqa": mlogiqa_document,
    "text": text_document,
}


def refuse(row: Row, field: str, found: Any, accepted: str) -> NoReturn:
    """Raise the error for a field that holds something else than `accepted`."""
    raise DataError(
        f"{row.origin}: field `{field}` is {describe_value(found)}; accepted: {accepted}"
    )


def take(row: Row, field: str, accepted: str) -> Any:
    """Return a field's value; a missing field is an error."""
    if field not in row.values:
        have = ", ".join(row.values) or "none"
        raise DataError(
            f"{row.origin}: field `{field}` is missing; accepted: {accepted}",
            f"the row's fields: {have}",
        )
    return row.values[field]


def take_text(row: Row, field: str) -> str:
    """Return a field that must hold text other than white space."""
    value = take(row, field, "text")
    if not isinstance(value, str) or not value.strip():
        refuse(row, field, value, "text that is not empty")
    return value


def take_label(row: Row, field: str, count: int, words: Mapping[str, int] | None = None) -> int:
    """Return an index below `count`, written as a number, as digits or as one of `words`."""
    accepted = f"an integer from 0 to {count - 1}, as number or string"
    if words:
        accepted += f", or one of {', '.join(words)}"
    value = take(row, field, accepted)
    index: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        index = value
    elif isinstance(value, str):
        written = value.strip()
        # Python refuses to read numbers of thousands of digits.
        if written.isascii() and written.isdigit() and len(written) < 20:
            index = int(written)
        elif words:
            index = words.get(written, words.get(written.lower()))
    if index is None or not 0 <= index < count:
        refuse(row, field, value, accepted)
    return index


def take_identifier(row: Row, field: str, number: int) -> str:
    """Return a row's own id as text, or `row-N` with its number in the split when it has none."""
    value = row.values.get(field)
    if value is None or value == "":
        return f"row-{number}"
    if isinstance(value, bool) or not isinstance(value, str | int):
        refuse(row, field, value, "text, an integer or null")
    return str(value)


def check_texts(row: Row, field: str, values: Any, count: int) -> list[str]:
    """Return `values` when they are exactly `count` texts, none of them empty."""
    accepted = f"a list of {count} texts that are not empty"
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != count:
        refuse(row, field, values, accepted)
    if not all(isinstance(value, str) and value.strip() for value in values):
        refuse(row, field, values, accepted)
    return list(values)


def parse_written_list(row: Row, field: str, text: str) -> Any:
    """Read a list that a copy of the data has written out as text, in JSON or as Python would."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _parse_python(row, field, text)
    check_characters(value, row.origin)
    return value


def _parse_python(row: Row, field: str, text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        refuse(row, field, text, "a list, or a list written as a string")
