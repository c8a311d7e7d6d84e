"""Checks whether prompts fit the window: dropped examples, truncated text, no room at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tenbin.analysis.doctor.finding import Example, Finding, first_examples
from tenbin.records import Prompt
from tenbin.records.tokenized import TokenizedPrompt


@dataclass(frozen=True, slots=True)
class Overflow:
    """Lengths of one cell compared with the window, in tokens."""

    documents: int
    window: int
    median: int
    """Prompt and longest answer, or prompt and generation limit; examples left out are not in."""
    longest: int
    shortened: int
    """Documents that lose examples."""
    dropped: int
    """Examples lost, of all documents together."""
    shown: int
    """Examples that remain."""
    cut: int
    """Documents whose prompt is cut from the left."""
    refused: int
    """Documents that cannot be asked: no room in the window, or nothing before the answer."""
    examples: dict[str, tuple[Example, ...]]


def measure_overflow(
    prompts: Sequence[Prompt], readings: Sequence[TokenizedPrompt], window: int
) -> Overflow:
    """Count over all documents."""
    lengths = [needed(reading) for reading in readings]
    lost = [prompt for prompt in prompts if prompt.dropped_examples]
    cut = [reading for reading in readings if reading.truncated]
    # An answer without a token is the border's fault, not the window's.
    refused = [r for r in readings if r.failure not in (None, "empty_continuation")]
    examples = {
        "dropped_examples": first_examples(
            Example(p.document, f"shows {len(p.examples)}, lost {p.dropped_examples}") for p in lost
        ),
        "cut_prompts": first_examples(
            Example(r.document, f"{r.truncated:,} of {needed(r):,} tokens are cut") for r in cut
        ),
        "no_room": first_examples(
            Example(r.document, f"{needed(r):,} tokens, {r.failure}") for r in refused
        ),
    }
    return Overflow(
        documents=len(readings),
        window=window,
        median=round(median(lengths)) if lengths else 0,
        longest=max(lengths, default=0),
        shortened=len(lost),
        dropped=sum(prompt.dropped_examples for prompt in prompts),
        shown=sum(len(prompt.examples) for prompt in prompts),
        cut=len(cut),
        refused=len(refused),
        examples={code: found for code, found in examples.items() if found},
    )


def needed(reading: TokenizedPrompt) -> int:
    """Tokens of the window that a document takes."""
    if reading.windows:
        # Longer texts go on in the next window: nothing is ever cut.
        return max(len(window) - 1 for window in reading.windows)
    if reading.answers:
        # The last token of a scored answer is predicted, never read.
        return len(reading.context) + max(len(answer) for answer in reading.answers) - 1
    return len(reading.context) + reading.new_tokens


def judge_overflow(found: Overflow) -> list[Finding]:
    """The findings."""
    findings = []
    if found.refused:
        findings.append(
            Finding(
                "overflow",
                "no_room",
                "problem",
                "documents cannot be asked at all and fail",
                f"{found.refused} of {found.documents} documents; the window is {found.window:,}",
                found.refused,
                found.documents,
                "give a larger max_length in --model_args if the model can take it",
                found.examples["no_room"],
            )
        )
    if found.cut:
        findings.append(
            Finding(
                "overflow",
                "cut_prompts",
                "problem" if found.cut * 2 > found.documents else "warning",
                "prompts are cut from the left: the instruction goes first",
                f"{found.cut} of {found.documents} documents; the longest needs "
                f"{found.longest:,} tokens of {found.window:,}",
                found.cut,
                found.documents,
                "choose a shorter template, or fewer shots where examples remain; these documents "
                "are asked without their beginning, so read their scores apart",
                found.examples["cut_prompts"],
            )
        )
    if found.shortened:
        total = found.dropped + found.shown
        findings.append(
            Finding(
                "overflow",
                "dropped_examples",
                "warning" if found.shortened * 2 > found.documents else "note",
                "examples are left out because the window is too short",
                f"{found.shortened} of {found.documents} documents lose {found.dropped} of "
                f"{total} examples",
                found.shortened,
                found.documents,
                "lower --num_fewshot, so that every document shows as many",
                found.examples["dropped_examples"],
            )
        )
    return findings
