"""Published wordings of the parallel benchmarks, straight from the strings in suites.yaml.

Shares no code with tenbin: rows from the files themselves, strings joined by hand.
"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def scored(prompt: str, delimiter: str, choices: list[str], label: int) -> Row:
    return {
        "prompt": prompt,
        "continuations": [delimiter + choice for choice in choices],
        "target": choices[label],
    }


def xnli(facts: Row, language: str, row: Row) -> Row:
    wording = facts["xnli"]["wordings"][0]
    word, *labels = wording["words"][language]
    choices = [f"{row['premise']}, {word}? {label}, {row['hypothesis']}" for label in labels]
    return scored(wording["doc_to_text"], wording["target_delimiter"], choices, row["label"])
