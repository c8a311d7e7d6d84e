"""Checks documents whose text contains special tokens of the model.

A review that quotes `</s>` ends the sequence for the model in the middle of the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.analysis.doctor.finding import Example, Finding, first_examples
from tenbin.records import Document, Prompt

_AROUND = 12
"""Characters beside the word by which a prompt is searched for it."""


@dataclass(frozen=True, slots=True)
class Injection:
    """Documents of one cell whose text contains special tokens."""

    documents: int
    injected: int
    """Prompts that hold a special token out of a document, asked or shown as an example."""
    words: tuple[str, ...]
    examples: tuple[Example, ...]


def measure_injection(
    prompts: Sequence[Prompt],
    asked: Mapping[str, Document],
    shown: Mapping[str, Document],
    special: Sequence[str],
) -> Injection:
    """Search the documents' fields, and then the prompts for what was found.

    Args:
        prompts: Of one cell.
        asked: Documents by id.
        shown: Documents of the examples by id.
        special: The words that the tokenizer reads as special tokens.
    """
    # A single character would be no special token but a letter of an odd vocabulary.
    words = sorted((word for word in special if len(word) > 1), key=len, reverse=True)
    if not words:
        return Injection(len(prompts), 0, (), ())
    pattern = re.compile("|".join(map(re.escape, words)))
    found: list[Example] = []
    seen: dict[str, None] = {}
    injected = 0
    for prompt in prompts:
        sources = [asked[prompt.document]] if prompt.document in asked else []
        sources += [shown[example] for example in prompt.examples if example in shown]
        text = "\0".join([prompt.text, *(prompt.continuations or ())])
        hits = [hit for source in sources for hit in _hits(source, pattern, text)]
        if hits:
            injected += 1
            seen.update(dict.fromkeys(word for word, _ in hits))
            found.append(Example(prompt.document, f"…{hits[0][1]}…"))
    return Injection(len(prompts), injected, tuple(seen), first_examples(found))


def judge_injection(found: Injection) -> list[Finding]:
    """The findings."""
    if not found.injected:
        return []
    return [
        Finding(
            "specials",
            "injected_tokens",
            "warning",
            "documents hold words that the tokenizer reads as special tokens",
            f"{found.injected} of {found.documents} prompts hold {', '.join(found.words)}",
            found.injected,
            found.documents,
            "the model meets the end or the beginning of a text in the middle of it; read the "
            "scores of these documents apart",
            found.examples,
        )
    ]


def _hits(document: Document, pattern: re.Pattern[str], prompt: str) -> Iterator[tuple[str, str]]:
    """Special words of a document that reach the prompt, each with what stands around it."""
    for text in _texts(document.fields):
        for match in pattern.finditer(text):
            around = text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
            # Templates may trim or split a field: the neighbourhood must have come through.
            if around.strip() in prompt:
                yield match.group(), around.replace("\n", " ")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
