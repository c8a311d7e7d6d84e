"""The rows of benchmarks that ask the same items in many languages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import LETTERS, Dropped, refuse, take, take_label, take_text
from tenbin.data.sources.pinned import CATALOG
from tenbin.records import Document

XNLI_LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2}
FULL_STOPS = (".", "。", "।", "۔")
GAP = "<mask>"
RELATIONS = {"c": "cause", "e": "effect"}


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


def xcopa_document(split: str, row: Row, number: int) -> Document:
    """Read a premise with two alternatives.

    `question` is the row's own field, which is wrong in many rows of some languages; `relation` is
    what the item asks for in truth, by its `idx`. Rows beyond the published ones are believed.
    """
    accepted = "cause or effect"
    question = take(row, "question", accepted)
    if question not in RELATIONS.values():
        refuse(row, "question", question, accepted)
    idx = take(row, "idx", "the number of the item")
    if isinstance(idx, bool) or not isinstance(idx, int) or idx < 0:
        refuse(row, "idx", idx, "an integer from 0")
    known = xcopa_relations()[split]
    premise = take_text(row, "premise")
    fields = {
        "id": str(idx),
        "premise": premise,
        "premise_unstopped": without_full_stop(premise),
        "choice1": take_text(row, "choice1"),
        "choice2": take_text(row, "choice2"),
        "question": question,
        "relation": RELATIONS[known[idx]] if idx < len(known) else question,
        "label": take_label(row, "label", 2),
    }
    return Document(str(idx), fields, None, row.origin, number)


def pawsx_document(row: Row, number: int) -> Document | Dropped:
    """Read two sentences that mean the same or do not; its number in the split names the item.

    `prepared1` and `prepared2` are the sentences as lm-eval prepares them in de, en, es and fr;
    `first` and `second` are without blanks around punctuation, and the first without its full stop.
    """
    sentences = [row.values.get(field) for field in ("sentence1", "sentence2")]
    if any(sentence is None or sentence == "" for sentence in sentences):
        return Dropped("a sentence is empty")
    first, second = take_text(row, "sentence1"), take_text(row, "sentence2")
    if any(sentence.strip().rstrip(".").upper() == "NS" for sentence in (first, second)):
        return Dropped("not translated (NS)")
    fields = {
        "id": str(number),
        "sentence1": first,
        "sentence2": second,
        **_prepared_by_lm_eval(first, second),
        "first": without_full_stop(_joined_punctuation(first)),
        "second": _joined_punctuation(second).strip(),
        "label": take_label(row, "label", 2),
    }
    return Document(str(number), fields, None, row.origin, number)


def _prepared_by_lm_eval(first: str, second: str) -> dict[str, str]:
    """The sentences as lm-eval's paws_de, paws_en, paws_es and paws_fr show them."""
    first, second = _joined_punctuation(first).strip(), _joined_punctuation(second).strip()
    if first.endswith((".", ",", ";")):
        first = first[:-1]
    return {"prepared1": first, "prepared2": second[0].lower() + second[1:]}


def _joined_punctuation(sentence: str) -> str:
    """Undo blanks that a tokenizer put around punctuation, by the rules of lm-eval's PAWS-X."""
    for spaced, joined in ((" n't", "n't"), (" )", ")"), ("( ", "("), ('" ', '"'), (' "', '"')):
        sentence = sentence.replace(spaced, joined)
    return re.sub(r" (['.,])", r"\1", sentence)


def bmlama_document(row: Row, number: int) -> Document | Dropped:
    """Read a sentence with a gap and its candidates; its number in the split names the item.

    The published lists have the answer last. Here they are rotated by the row's number, alike in
    all languages, so that the place of a candidate says nothing about it.
    """
    prompt, answer = take_text(row, "Prompt"), take_text(row, "Ans")
    if prompt.count(GAP) != 1:
        refuse(row, "Prompt", prompt, f"a sentence with one {GAP}")
    published = take_text(row, "Candidate Ans").split(", ")
    if published.count(answer) != 1:
        refuse(
            row, "Candidate Ans", published, "a list, joined by comma and blank, with `Ans` once"
        )
    if len(published) == 1:
        return Dropped("its only candidate is the answer")
    turn = number % len(published)
    candidates = published[turn:] + published[:turn]
    letters = [chr(ord("A") + place) for place in range(len(candidates))]
    fields = {
        "id": str(number),
        "prompt": prompt,
        "gap": prompt.replace(GAP, "____"),
        "candidates": candidates,
        "letters": letters,
        "lettered": "\n".join(f"{a}. {b}" for a, b in zip(letters, candidates, strict=True)),
        "sentences": [prompt.replace(GAP, candidate) for candidate in candidates],
        "subject": take_text(row, "Subject"),
        "label": candidates.index(answer),
    }
    return Document(str(number), fields, None, row.origin, number)


def belebele_document(row: Row, number: int) -> Document:
    """Read a passage with a question and four answers; passage and question name the item."""
    link = take_text(row, "link")
    question_number = take_label(row, "question_number", 9, first=1) + 1
    answers = [take_text(row, f"mc_answer{place}") for place in range(1, 5)]
    identifier = f"{link}#{question_number}"
    fields = {
        "id": identifier,
        "passage": take_text(row, "flores_passage"),
        "question": take_text(row, "question"),
        "answers": answers,
        "label": take_label(row, "correct_answer_num", 4, first=1),
    }
    return Document(identifier, fields, link, row.origin, number)


def global_mmlu_document(row: Row, number: int) -> Document:
    """Read a question of MMLU with four options."""
    identifier = take_text(row, "sample_id")
    fields = {
        "id": identifier,
        "subject": take_text(row, "subject"),
        "category": row.values.get("subject_category"),
        "sensitivity": row.values.get("cultural_sensitivity_label"),
        "question": take_text(row, "question"),
        "options": [take_text(row, f"option_{letter}") for letter in "abcd"],
        "label": take_label(row, "answer", 4, LETTERS),
    }
    return Document(identifier, fields, None, row.origin, number)


@cache
def xcopa_relations() -> Mapping[str, str]:
    """Return c or e (cause, effect) for each item of XCOPA's splits, in order."""
    written = json.loads((CATALOG / "xcopa_relations.json").read_text(encoding="utf-8"))
    return {split: "".join(written[split]) for split in ("test", "validation")}


def without_full_stop(sentence: str) -> str:
    """Return a sentence without white space around it and without one full stop at its end."""
    stripped = sentence.strip()
    return stripped[:-1].rstrip() if stripped.endswith(FULL_STOPS) else stripped
