"""The rows of P-MMEval's subsets. Texts stay as published, with white space at their ends."""

from __future__ import annotations

import hashlib
import re

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import (
    LETTERS,
    Dropped,
    check_texts,
    refuse,
    take,
    take_identifier,
    take_label,
    take_text,
)
from tenbin.records import Document

_ENDING_NAMES = ("option_1", "option_2", "option_3", "option_4")
_NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?")
_OTHER_SELECTION = "high_school_world_history"
"""The subject in which the English file has other questions than the others: 9 of 400 rows."""


def pmmeval_mmmlu_document(row: Row, number: int) -> Document:
    """Read a question with four options.

    Rows have no id, and the row number names the item, except in the one subject whose English
    rows are another selection: there an id is of the text.
    """
    question = take_text(row, "Question")
    subject = take_text(row, "Subject")
    identifier = take_identifier(row, "id", number)
    item = identifier
    if subject == _OTHER_SELECTION and not _is_named(row):
        item = f"{identifier}-{_digest(question)}"
    fields = {
        "id": item,
        "question": question,
        "choices": [take_text(row, letter) for letter in LETTERS],
        "label": take_label(row, "Answer", 4, LETTERS),
        "subject": subject,
        "difficulty": str(row.values.get("difficulty") or ""),
    }
    return Document(item, fields, item, row.origin, number)


def pmmeval_mhellaswag_document(row: Row, number: int) -> Document:
    """Read the beginning of a text with four endings.

    Nothing in a row says which item it is in another language, and rows are in another order
    there, so an id without one of the data's own is of the text.
    """
    context = take_text(row, "ctx")
    identifier = take_identifier(row, "id", number)
    if not _is_named(row):
        identifier = f"{identifier}-{_digest(context)}"
    if "endings" in row.values or not any(name in row.values for name in _ENDING_NAMES):
        endings = check_texts(row, "endings", take(row, "endings", "a list of 4 texts"), 4)
    else:
        endings = [take_text(row, name) for name in _ENDING_NAMES]
    fields = {
        **({"id": identifier} if _is_named(row) else {}),
        "context": context,
        "endings": endings,
        "label": take_label(row, "label", 4, LETTERS),
        "activity": str(row.values.get("activity_label") or ""),
    }
    return Document(identifier, fields, identifier, row.origin, number)


def pmmeval_xnli_document(row: Row, number: int) -> Document:
    """Read a premise and a statement: true (0), inconclusive (1) or false (2)."""
    identifier = take_identifier(row, "id", number)
    fields = {
        # Only an id of the data's own says which item this is: a row number does not.
        **({"id": identifier} if _is_named(row) else {}),
        "premise": take_text(row, "premise"),
        "statement": take_text(row, "statement"),
        "label": take_label(row, "answer", 3, LETTERS),
    }
    return Document(identifier, fields, identifier, row.origin, number)


def pmmeval_mgsm_document(row: Row, number: int) -> Document | Dropped:
    """Read a word problem; `number` is its answer without the marks of thousands."""
    identifier = take_identifier(row, "id", number)
    if row.values.get("question") == "":
        return Dropped("the question is empty")
    answer = take(row, "answer", "a number, also as text")
    written = str(answer).strip()
    if isinstance(answer, bool) or _NUMBER.fullmatch(written) is None:
        refuse(row, "answer", answer, "a number such as 18 or 2,125")
    fields = {
        **({"id": identifier} if _is_named(row) else {}),
        "question": take_text(row, "question"),
        "answer": written,
        "number": written.replace(",", ""),
    }
    return Document(identifier, fields, identifier, row.origin, number)


def _is_named(row: Row) -> bool:
    """Whether the row has an id of its own."""
    return row.values.get("id") not in (None, "")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
