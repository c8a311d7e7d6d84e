"""Checks the tokens of answers: their lengths, and whether one is a prefix of another.

A log-likelihood is a sum over tokens, so that a longer answer has a disadvantage, and one that
continues another can never have a higher one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.analysis.doctor.finding import Example, Finding, first_examples
from tenbin.records import Prompt
from tenbin.records.tokenized import TokenizedPrompt

Ids = tuple[int, ...]

_UNEVEN = 2.0
"""Longest over shortest answer, in tokens, from which on lengths matter."""
_MOST_FIXED = 12
"""Labels that are listed one by one."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The answers of one cell."""

    documents: int
    shortest: int
    """Tokens, over all answers of all documents."""
    longest: int
    mean_ratio: float
    """Longest over shortest answer of a document, on average."""
    uneven: int
    """Documents whose longest answer has twice the tokens of the shortest, or more."""
    begun: int
    """Documents in which one answer's tokens begin another's."""
    same_first: int
    """Documents in which all answers begin with the same token."""
    fixed: dict[str, int] | None
    """Label → tokens, where all documents have the same ones."""
    examples: dict[str, tuple[Example, ...]]


def measure_labels(prompts: Sequence[Prompt], readings: Sequence[TokenizedPrompt]) -> Labels | None:
    """Count over documents; None where answers are generated."""
    pairs = [(p, r) for p, r in zip(prompts, readings, strict=True) if len(r.answers) > 1]
    if not pairs:
        return None
    labels = [label_tokens(reading) for _, reading in pairs]
    lengths = [[max(1, len(ids)) for ids in group] for group in labels]
    ratios = [max(group) / min(group) for group in lengths]
    begun = [_begun(prompt, group) for (prompt, _), group in zip(pairs, labels, strict=True)]
    uneven = [
        Example(prompt.document, ", ".join(map(_counted, prompt.continuations or (), counts)))
        for (prompt, _), counts, ratio in zip(pairs, lengths, ratios, strict=True)
        if ratio >= _UNEVEN
    ]
    found = {"begun": [example for example in begun if example], "uneven": uneven}
    return Labels(
        documents=len(pairs),
        shortest=min(min(group) for group in lengths),
        longest=max(max(group) for group in lengths),
        mean_ratio=round(sum(ratios) / len(ratios), 3),
        uneven=len(uneven),
        begun=len(found["begun"]),
        same_first=sum(len({ids[:1] for ids in group}) == 1 for group in labels),
        fixed=_fixed(pairs, lengths),
        examples={code: first_examples(few) for code, few in found.items() if few},
    )


def label_tokens(reading: TokenizedPrompt) -> list[Ids]:
    """Each answer's own tokens: what follows the prompt where the border is clean."""
    size = len(reading.prompt)
    clean = all(whole[:size] == reading.prompt for whole in reading.wholes)
    asked_apart = reading.context == reading.prompt
    if clean and not asked_apart:
        # Joint encoding scores the prompt's last white space too, which is no part of a label.
        return [whole[size:] for whole in reading.wholes]
    return list(reading.answers)


def judge_labels(found: Labels, metrics: Sequence[str]) -> list[Finding]:
    """The findings.

    Args:
        found: The numbers.
        metrics: The names of the task's metrics.
    """
    findings = []
    normed = (
        "read acc_norm beside acc"
        if "acc_norm" in metrics
        else "add --extra_metrics acc_norm and read it beside acc"
    )
    if found.begun:
        findings.append(
            Finding(
                "labels",
                "begun_answer",
                "warning" if found.begun * 10 >= found.documents else "note",
                "one answer begins another, which can then never win by raw likelihood",
                f"{found.begun} of {found.documents} documents",
                found.begun,
                found.documents,
                f"{normed}; templates that score numbers or letters do not have this",
                found.examples["begun"],
            )
        )
    if found.uneven * 2 >= found.documents:
        fixed = found.fixed is not None
        graver = fixed and found.longest >= 3 * found.shortest
        findings.append(
            Finding(
                "labels",
                "uneven_labels",
                "warning" if graver else "note",
                "answers differ in length by twice or more, which raw likelihood does not forgive",
                f"{found.uneven} of {found.documents} documents; from {found.shortest} to "
                f"{found.longest} tokens, {found.mean_ratio:.1f} times on average",
                found.uneven,
                found.documents,
                normed,
                found.examples["uneven"],
            )
        )
    if found.same_first * 2 >= found.documents:
        findings.append(
            Finding(
                "labels",
                "same_first_token",
                "note",
                "all answers begin with the same token",
                f"{found.same_first} of {found.documents} documents",
                found.same_first,
                found.documents,
                "nothing to do here: tenbin scores whole answers; programs that look at the first "
                "token alone cannot tell these apart",
            )
        )
    return findings


def _begun(prompt: Prompt, labels: Sequence[Ids]) -> Example | None:
    texts = prompt.continuations or ()
    for shorter, first in zip(texts, labels, strict=True):
        for longer, second in zip(texts, labels, strict=True):
            if len(first) < len(second) and second[: len(first)] == first:
                return Example(prompt.document, f"{shorter!r} begins {longer!r}")
    return None


def _counted(text: str, tokens: int) -> str:
    return f"{text.strip()[:16]!r} {tokens}"


def _fixed(
    pairs: Sequence[tuple[Prompt, TokenizedPrompt]], lengths: Sequence[list[int]]
) -> dict[str, int] | None:
    texts = {prompt.continuations or () for prompt, _ in pairs}
    if len(texts) != 1 or len(lengths[0]) > _MOST_FIXED:
        return None
    # Borders may differ by document; what is listed is the first one's.
    return dict(zip(next(iter(texts)), lengths[0], strict=True))
