"""Checks the border between prompt and answer: whether a token spans it.

Compares the tokens that the engine would score with the tokens of prompt and answer as one text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tenbin.analysis.doctor.finding import MOST_EXAMPLES, Example, Finding
from tenbin.records import Prompt
from tenbin.records.tokenized import TokenizedPrompt

Decode = Callable[[Sequence[int]], str]

_TAIL = 12
"""Characters of a prompt's end that an example shows."""
_AROUND = 3
"""Tokens that an example shows from the border on."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """Counts of what happens at the border in one cell."""

    encoding: Literal["joint", "separate"]
    documents: int
    choices: int
    """Answers of all documents together; 0 where answers are generated."""
    merged: int
    """Choices whose text shares a token with the prompt's."""
    merged_documents: int
    moved_space: int
    """Documents whose prompt ends in white space that is scored with the answer."""
    other_tokens: int
    """Choices that are scored with other tokens than the text's own, which spell the same text."""
    other_text: int
    """Choices whose tokens, as asked, do not spell prompt and answer."""
    lost: int
    """Documents that fail because an answer keeps no token of its own."""
    examples: dict[str, tuple[Example, ...]]


def measure_boundary(
    prompts: Sequence[Prompt],
    readings: Sequence[TokenizedPrompt],
    encoding: Literal["joint", "separate"],
    decode: Decode,
) -> Boundary:
    """Count over the choices of all documents."""
    choices = merged = 0
    merged_documents: set[str] = set()
    counts: Counter[str] = Counter()
    examples: dict[str, list[Example]] = {}
    for prompt, reading in zip(prompts, readings, strict=True):
        for text, answer, whole in zip(
            prompt.continuations or (), reading.answers, reading.wholes, strict=True
        ):
            choices += 1
            if whole[: len(reading.prompt)] != reading.prompt:
                merged += 1
                merged_documents.add(prompt.document)
            code = _differs(encoding, reading.context + answer, answer, whole, decode)
            if code is None:
                continue
            counts[code] += 1
            shown = examples.setdefault(code, [])
            if len(shown) < MOST_EXAMPLES and prompt.document not in {e.document for e in shown}:
                shown.append(_example(prompt, text, reading, answer, whole, decode))
    return Boundary(
        encoding=encoding,
        documents=len(readings),
        choices=choices,
        merged=merged,
        merged_documents=len(merged_documents),
        moved_space=sum(
            bool(prompt.continuations) and encoding == "joint" and _ends_in_space(prompt.text)
            for prompt in prompts
        ),
        other_tokens=counts["other_tokens"],
        other_text=counts["other_text"],
        lost=sum(reading.failure == "empty_continuation" for reading in readings),
        examples={code: tuple(found) for code, found in examples.items()},
    )


def _differs(
    encoding: str,
    asked: tuple[int, ...],
    answer: tuple[int, ...],
    whole: tuple[int, ...],
    decode: Decode,
) -> str | None:
    """How the scored tokens differ from the text's own tokens, if they do."""
    if not answer:
        return "lost"
    if asked == whole:
        return None
    # Two texts that are encoded apart are always spelled as they are.
    same_text = encoding == "separate" or decode(asked) == decode(whole)
    return "other_tokens" if same_text else "other_text"


def judge_boundary(found: Boundary) -> list[Finding]:
    """The findings."""
    judged = (
        (found.lost, _lost_answer),
        (found.other_text, _other_text),
        (found.other_tokens, _other_tokens),
        (found.moved_space, _moved_space),
    )
    return [judge(found) for count, judge in judged if count]


def _lost_answer(found: Boundary) -> Finding:
    return Finding(
        "boundary",
        "lost_answer",
        "problem",
        "an answer has no token of its own, so its document fails",
        f"{found.lost} of {found.documents} documents fail: an answer merges with the "
        "prompt's last token",
        found.lost,
        found.documents,
        "use --encoding separate, or a template that ends in a new line",
        found.examples.get("lost", ()),
    )


def _other_text(found: Boundary) -> Finding:
    is_rare = found.other_text * 100 < found.choices
    return Finding(
        "boundary",
        "other_text",
        "note" if is_rare else "warning",
        "a token spans the border, and what is scored spells another text",
        f"{found.other_text} of {found.choices} choices: joint encoding cuts the whole "
        "text at the prompt's token count, which is not where the prompt ends",
        found.other_text,
        found.choices,
        "use --encoding separate for this template; lm-eval scores it as joint does",
        found.examples.get("other_text", ()),
    )


def _other_tokens(found: Boundary) -> Finding:
    instead = (
        "--encoding joint asks the text's own tokens"
        if found.encoding == "separate"
        else "compare with --encoding separate"
    )
    return Finding(
        "boundary",
        "other_tokens",
        "note",
        "answers are asked in other tokens than the text's own",
        f"{found.other_tokens} of {found.choices} choices: the model meets a cut that its "
        "tokenizer does not make in running text",
        found.other_tokens,
        found.choices,
        f"all choices bear it alike, but likelihoods fall; {instead}",
        found.examples["other_tokens"],
    )


def _moved_space(found: Boundary) -> Finding:
    return Finding(
        "boundary",
        "moved_space",
        "note",
        "the prompt ends in white space, which joint encoding scores with the answer",
        f"{found.moved_space} of {found.documents} documents",
        found.moved_space,
        found.documents,
        "nothing to do: it is the same for all choices, and lm-eval's way; "
        "token counts of answers include it",
    )


def _ends_in_space(text: str) -> bool:
    return text != text.rstrip()


def _example(
    prompt: Prompt,
    text: str,
    reading: TokenizedPrompt,
    answer: tuple[int, ...],
    whole: tuple[int, ...],
    decode: Decode,
) -> Example:
    asked = reading.context + answer
    pairs = enumerate(zip(asked, whole, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), min(len(asked), len(whole)))
    scored = repr(decode(answer)) if answer else "nothing"
    return Example(
        prompt.document,
        f"…{prompt.text[-_TAIL:]!r} + {text!r}: reads {_pieces(whole[same:], decode)}, "
        f"asked {_pieces(asked[same:], decode)}; scored {scored}",
    )


def _pieces(ids: tuple[int, ...], decode: Decode) -> str:
    """The first tokens; one that is nothing but sentencepiece's mark of a space has no text."""
    shown = [repr(decode([one]) or "▁") for one in ids[:_AROUND]]
    return " · ".join([*shown, "…"] if len(ids) > _AROUND else shown) or "nothing"
