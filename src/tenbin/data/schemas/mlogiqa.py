"""The rows of MLogiQA, in the spellings of its copies."""

from __future__ import annotations

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import (
    LETTERS,
    check_texts,
    parse_written_list,
    refuse,
    take,
    take_identifier,
    take_label,
    take_text,
)
from tenbin.records import Document

OPTION_NAMES = (
    ("option_1", "option_2", "option_3", "option_4"),
    ("option_a", "option_b", "option_c", "option_d"),
)


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
