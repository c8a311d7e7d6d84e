"""The rows of Japanese sets beside JGLUE, in the spellings of their copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import (
    LETTERS,
    Dropped,
    refuse,
    take,
    take_identifier,
    take_label,
    take_text,
)
from tenbin.data.schemas.jglue import NLI_LABELS
from tenbin.records import Document

ACCEPTABILITY = {"unacceptable": 0, "acceptable": 1}
INFERENCE = {"entailment": 0, "non-entailment": 1, "non_entailment": 1}
POLAR_ANSWERS = {"YES": ["YES", "はい"], "NO": ["NO", "いいえ"]}


def jmmlu_document(row: Row, number: int) -> Document:
    """Read a question with four options; `options` has them as published and stripped."""
    published = [take_text(row, letter) for letter in LETTERS]
    fields = {
        "subject": take_text(row, "subject"),
        "question": take_text(row, "question"),
        "options": {"published": published, "stripped": [text.strip() for text in published]},
        "label": take_label(row, "answer", 4, LETTERS),
    }
    return Document(take_identifier(row, "id", number), fields, None, row.origin, number)


def jcola_document(row: Row, number: int) -> Document:
    """Read a sentence that linguists marked as acceptable or not."""
    fields = {
        "sentence": take_text(row, "sentence"),
        "label": take_label(row, "label", 2, ACCEPTABILITY),
        "source": row.values.get("source") or "",
    }
    return Document(take_identifier(row, "uid", number), fields, None, row.origin, number)


def jcommonsensemorality_document(row: Row, number: int) -> Document:
    """Read a sentence about a deed; label 1 is the wrong one."""
    fields = {"sent": take_text(row, "sent"), "label": take_label(row, "label", 2)}
    return Document(take_identifier(row, "id", number), fields, None, row.origin, number)


def jnli_neg_document(row: Row, number: int) -> Document:
    """Read a pair of sentences with or without negations; pairs of one JNLI row are a group."""
    fields = {
        "premise": _sentence(row, "sentence1"),
        "hypothesis": _sentence(row, "sentence2"),
        "label": take_label(row, "gold_label", 3, NLI_LABELS),
        "type": take_text(row, "type"),
    }
    group = take_identifier(row, "jnli_sentence_pair_id", number)
    return Document(take_identifier(row, "id", number), fields, group, row.origin, number)


def _sentence(row: Row, field: str) -> str:
    value = take(row, field, "an object with `sentence`")
    text = value.get("sentence") if isinstance(value, Mapping) else value
    if not isinstance(text, str) or not text.strip():
        refuse(row, field, value, "an object with `sentence`, or a text")
    return text


def janli_document(row: Row, number: int) -> Document:
    """Read a pair of sentences with the heuristic that would answer it wrongly."""
    names = (
        ("sentence_A_Ja", "sentence_B_Ja", "entailment_label_Ja")
        if "sentence_A_Ja" in row.values
        else ("premise", "hypothesis", "label")
    )
    fields = {
        "premise": take_text(row, names[0]),
        "hypothesis": take_text(row, names[1]),
        "label": take_label(row, names[2], 2, INFERENCE),
        "heuristics": take_text(row, "heuristics"),
        "semtag": row.values.get("semtag") or "",
    }
    # In the published table the column of numbers has no name.
    named = "id" if "id" in row.values else ""
    return Document(take_identifier(row, named, number), fields, None, row.origin, number)


def niilc_document(row: Row, number: int) -> Document | Dropped:
    """Read an open question with its answers; a dash in their place says that there is none."""
    accepted = "a list of texts"
    answers = take(row, "answers", accepted)
    if not isinstance(answers, list) or not all(isinstance(text, str) for text in answers):
        refuse(row, "answers", answers, accepted)
    given = [text for text in answers if text.strip()]
    if not given:
        refuse(row, "answers", answers, "at least one text that is not empty")
    if given == ["-"]:
        return Dropped('the answer is "-": the question has none')
    fields = {"text": take_text(row, "text"), "answers": given, "joined": ",".join(given)}
    return Document(take_identifier(row, "id", number), fields, None, row.origin, number)


def jemhopqa_document(row: Row, number: int) -> Document:
    """Read a question that takes two facts, its answer and the facts.

    `answer` is as published, YES or NO for questions of that kind; `answers` has はい and いいえ
    too.
    """
    answer = take_text(row, "answer")
    fields = {
        "question": take_text(row, "question"),
        "answer": answer,
        "answers": POLAR_ANSWERS.get(answer, [answer]),
        "type": row.values.get("type") or "",
        "derivations": _derivations(row),
        "time_dependent": bool(row.values.get("time_dependent")),
    }
    return Document(take_identifier(row, "qid", number), fields, None, row.origin, number)


def _derivations(row: Row) -> list[dict[str, Any]]:
    accepted = "a list of [subject, relation, [objects]]"
    derivations = take(row, "derivations", accepted)
    if not isinstance(derivations, list) or not derivations:
        refuse(row, "derivations", derivations, accepted)
    facts = []
    for fact in derivations:
        if not isinstance(fact, list) or len(fact) != 3:
            refuse(row, "derivations", derivations, accepted)
        objects = fact[2] if isinstance(fact[2], list) else [fact[2]]
        if not all(isinstance(text, str) for text in (*fact[:2], *objects)):
            refuse(row, "derivations", derivations, accepted)
        facts.append({"subject": fact[0], "relation": fact[1], "objects": objects})
    return facts
