"""The rows of JGLUE and of Japanese reading comprehension."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import refuse, take, take_identifier, take_label, take_text
from tenbin.records import Document

NLI_LABELS = {"entailment": 0, "contradiction": 1, "neutral": 2}
REVIEW_LABELS = {"positive": 0, "negative": 1}
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
        "answers": take_answers(row),
    }
    group = hashlib.sha256(f"{title}\0{context}".encode()).hexdigest()[:16]
    return Document(identifier, fields, group, row.origin, number)


def take_answers(row: Row) -> dict[str, list[Any]]:
    """Return the accepted answers of a SQuAD row with their places."""
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
