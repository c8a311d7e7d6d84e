"""The rows of benchmarks that ask the same items in many languages."""

from __future__ import annotations

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import take_label, take_text
from tenbin.records import Document

XNLI_LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2}
FULL_STOPS = (".", "。", "।", "۔")


def xnli_document(row: Row, number: int) -> Document:
    """Read a pair of sentences with its relation; its number in the split names the item."""
    premise = take_text(row, "premise")
    fields = {
        "id": str(number),
        "premise": premise,
        "premise_unstopped": without_full_stop(premise),
        "hypothesis": take_text(row, "hypothesis"),
        "label": take_label(row, "label", 3, XNLI_LABELS),
    }
    return Document(str(number), fields, None, row.origin, number)


def without_full_stop(sentence: str) -> str:
    """Return a sentence without white space around it and without one full stop at its end."""
    stripped = sentence.strip()
    return stripped[:-1].rstrip() if stripped.endswith(FULL_STOPS) else stripped
