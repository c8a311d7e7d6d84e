"""The rows of XQuAD: SQuAD's, without titles."""

from __future__ import annotations

import hashlib

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import take_identifier, take_text
from tenbin.data.schemas.jglue import take_answers
from tenbin.records import Document


def xquad_document(row: Row, number: int) -> Document:
    """Read a question about a paragraph; its id names the item in all languages.

    Texts stay as published, with the white space at their ends: published prompts have it.
    """
    context = take_text(row, "context")
    identifier = take_identifier(row, "id", number)
    named = row.values.get("id") not in (None, "")
    fields = {
        # Only an id of the data's own says which item this is: a row number does not.
        **({"id": identifier} if named else {}),
        "context": context,
        "question": take_text(row, "question"),
        "answers": take_answers(row),
    }
    group = hashlib.sha256(context.encode()).hexdigest()[:16]
    return Document(identifier, fields, group, row.origin, number)
