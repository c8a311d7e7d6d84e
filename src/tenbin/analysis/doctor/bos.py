"""Checks BOS tokens: prompts should begin with one, not with none or two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.analysis.doctor.finding import Example, Finding, first_examples
from tenbin.records.tokenized import TokenizedPrompt, Vocabulary


@dataclass(frozen=True, slots=True)
class Beginning:
    """The BOS tokens of one cell's prompts."""

    documents: int
    has_bos: bool
    """Whether the tokenizer has such a token at all."""
    expected: int
    """How many are put in front of a prompt that has none itself."""
    own: int
    """How many the tokenizer would put there by itself."""
    leading: dict[int, int]
    """Tokens at the beginning → documents."""
    inside: int
    """Documents that hold further ones inside, between turns for one."""
    examples: tuple[Example, ...] = ()
    """Documents that begin with none though one is expected, or with several."""


def measure_beginning(readings: Sequence[TokenizedPrompt], vocabulary: Vocabulary) -> Beginning:
    """Count BOS tokens at the beginning of what is asked."""
    bos = vocabulary.bos
    expected = vocabulary.prefix.count(bos) if bos is not None else 0
    own = vocabulary.own_prefix.count(bos) if bos is not None else 0
    leading: Counter[int] = Counter()
    inside = 0
    odd = []
    for reading in readings:
        count = _leading(reading.context, bos)
        leading[count] += 1
        inside += bos is not None and reading.context.count(bos) > count
        if count > 1 or count < expected:
            odd.append(Example(reading.document, f"begins with {count} BOS tokens"))
    return Beginning(
        len(readings), bos is not None, expected, own, dict(leading), inside, first_examples(odd)
    )


def judge_beginning(found: Beginning) -> list[Finding]:
    """The findings."""
    findings = []
    doubled = sum(documents for count, documents in found.leading.items() if count > 1)
    if doubled:
        findings.append(
            Finding(
                "bos",
                "doubled_bos",
                "problem",
                "prompts begin with more than one BOS token",
                f"{doubled} of {found.documents} documents",
                doubled,
                found.documents,
                "take the token out of the template or the chat format: tenbin adds it by itself, "
                "as the tokenizer does",
                found.examples,
            )
        )
    missing = sum(documents for count, documents in found.leading.items() if count < found.expected)
    if missing:
        findings.append(
            Finding(
                "bos",
                "missing_bos",
                "problem",
                "prompts begin without the BOS token that the tokenizer puts there",
                f"{missing} of {found.documents} documents",
                missing,
                found.documents,
                "look at the prompt's beginning with `tenbin preview`: its text stands where the "
                "token should",
                found.examples,
            )
        )
    withheld = found.leading.get(0, 0) if found.own and not found.expected else 0
    if withheld:
        findings.append(
            Finding(
                "bos",
                "withheld_bos",
                "note",
                "the tokenizer would begin with BOS, but the settings leave it out",
                f"{withheld} of {found.documents} documents",
                withheld,
                found.documents,
                "profile jp-stable and add_bos_token=False mean this; many models score lower "
                "without it, so leave it out only to reproduce published numbers",
            )
        )
    return findings


def _leading(ids: Sequence[int], bos: int | None) -> int:
    count = 0
    while bos is not None and count < len(ids) and ids[count] == bos:
        count += 1
    return count
