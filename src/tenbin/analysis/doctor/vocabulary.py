"""Checks how well a vocabulary covers a text: unknown tokens, split characters, characters per
token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tenbin.analysis.doctor.finding import Example, Finding, Severity, first_examples
from tenbin.records import Prompt
from tenbin.records.tokenized import TokenizedPrompt

Decode = Callable[[Sequence[int]], str]
Encode = Callable[[Sequence[str]], list[tuple[int, ...]]]

_BROKEN = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class Spelling:
    """The prompts of one cell, or of one language, as their tokens cover them."""

    language: str
    documents: int
    characters: int
    tokens: int
    unknown: int
    """Tokens that stand for what the vocabulary lacks."""
    broken: int
    """Tokens that hold only a part of a character: bytes."""
    examples: tuple[Example, ...] = ()
    """Unknown characters."""

    @property
    def unknown_share(self) -> float:
        """Of all tokens."""
        return self.unknown / self.tokens if self.tokens else 0.0

    @property
    def broken_share(self) -> float:
        """Of all tokens."""
        return self.broken / self.tokens if self.tokens else 0.0

    @property
    def characters_per_token(self) -> float:
        """Characters per token."""
        return self.characters / self.tokens if self.tokens else 0.0


def measure_spelling(
    language: str,
    prompts: Sequence[Prompt],
    readings: Sequence[TokenizedPrompt],
    unknown: int | None,
    decode: Decode,
    encode: Encode,
) -> Spelling:
    """Count over all tokens of all prompts."""
    counts: Counter[int] = Counter()
    for reading in readings:
        counts.update(reading.prompt)
    broken = sum(
        n for token, n in counts.items() if token != unknown and _BROKEN in decode([token])
    )
    lacking = [
        prompt
        for prompt, reading in zip(prompts, readings, strict=True)
        if unknown is not None and unknown in reading.prompt
    ]
    return Spelling(
        language,
        len(readings),
        sum(len(prompt.text) for prompt in prompts),
        counts.total(),
        counts[unknown] if unknown is not None else 0,
        broken,
        first_examples(_lacks(prompt, unknown, encode) for prompt in lacking),
    )


def _lacks(prompt: Prompt, unknown: int | None, encode: Encode) -> Example:
    letters = [letter for letter in dict.fromkeys(prompt.text) if not letter.isspace()]
    found = [a for a, ids in zip(letters, encode(letters), strict=True) if unknown in ids]
    shown = " ".join(found[:12]) + (" …" if len(found) > 12 else "")
    return Example(prompt.document, f"unknown: {shown}" if found else "unknown words")


def join_spelling(language: str, parts: Iterable[Spelling]) -> Spelling:
    """The sum of several cells."""
    found = list(parts)
    return Spelling(
        language,
        sum(part.documents for part in found),
        sum(part.characters for part in found),
        sum(part.tokens for part in found),
        sum(part.unknown for part in found),
        sum(part.broken for part in found),
    )


def judge_spelling(found: Spelling) -> list[Finding]:
    """The findings."""
    findings = []
    if found.unknown:
        share = found.unknown_share
        severity: Severity = "problem" if share >= 0.1 else "warning" if share >= 0.01 else "note"
        findings.append(
            Finding(
                "spelling",
                "unknown_tokens",
                severity,
                "the vocabulary lacks characters of the prompts",
                f"{found.unknown} of {found.tokens} tokens are unknown ({share:.1%})",
                found.unknown,
                found.tokens,
                "the model cannot see these characters: look whether the tokenizer is the model's "
                "own, and whether the model knows the language",
                found.examples,
            )
        )
    if found.broken_share >= 0.1:
        findings.append(
            Finding(
                "spelling",
                "broken_characters",
                "note",
                "characters are cut into bytes: the vocabulary has no tokens for them",
                f"{found.broken_share:.0%} of {found.tokens} tokens are parts of characters, "
                f"{found.characters_per_token:.2f} characters a token",
                found.broken,
                found.tokens,
                "nothing is lost, but prompts are long; a model whose vocabulary leaves a language "
                "out has often seen little of it",
            )
        )
    return findings
