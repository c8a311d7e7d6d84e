"""From `formats:` of a task file to the grammar of its formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tenbin.errors import TaskError
from tenbin.records import FormatGrammar, FormatWording, Instruction, LabelWords
from tenbin.tasks.prompt_formats.dimensions import (
    DIGITS,
    DIMENSIONS,
    ENGLISH,
    NATIVE,
    NONE,
    OPTIONS,
    SYMBOL,
)
from tenbin.tasks.schema import FormatsBlock, FormatWordingBlock, InstructionBlock

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def grammar_of(
    blocks: Sequence[FormatsBlock], language: str, target: str | int
) -> FormatGrammar | None:
    """The grammar of a task's formats; None where its file declares no words.

    Args:
        blocks: What the layers of the file declare, the nearest first.
        language: Of the task's documents.
        target: The gold answer of its templates.

    Raises:
        TaskError: Parts are missing or do not fit together.
    """
    merged = FormatsBlock(**{name: _nearest(blocks, name) for name in FormatsBlock.model_fields})
    given = {NATIVE: merged.native, ENGLISH: None if language == "en" else merged.english}
    languages = {NATIVE: language, ENGLISH: "en"}
    wordings = {
        name: _wording(block, languages[name]) for name, block in given.items() if block is not None
    }
    if not wordings:
        return None
    if not merged.inputs:
        raise TaskError(
            "formats: there are no inputs", "name the parts of the input: {question: …}"
        )
    grammar = FormatGrammar(
        inputs=merged.inputs,
        options=tuple(merged.options or ()),
        target=target,
        wordings=wordings,
        numeric_options=bool(merged.numeric_options),
    )
    for name, wording in wordings.items():
        _check(grammar, name, wording)
    for dimension in DIMENSIONS:
        if len(dimension.levels(grammar)) > len(DIGITS):
            raise TaskError(f"formats: {dimension.name} has more than {len(DIGITS)} levels")
    return grammar


def _nearest(blocks: Iterable[FormatsBlock], name: str) -> Any:
    return next((v for v in (getattr(block, name) for block in blocks) if v is not None), None)


def _wording(block: FormatWordingBlock, language: str) -> FormatWording:
    labels = {
        name: LabelWords(
            tuple(one.words),
            tuple(map(_instruction, one.instructions)),
            tuple(one.answers),
            one.needs_instruction,
        )
        for name, one in block.labels.items()
    }
    if block.labels and (block.instructions or block.answers):
        raise TaskError(
            "formats: instructions and answers stand beside labels",
            "give each set of label words its own",
        )
    alone = LabelWords((), tuple(map(_instruction, block.instructions)), tuple(block.answers))
    return FormatWording(
        language=language,
        names={part: tuple(names) for part, names in block.names.items()},
        labels=labels or {NONE: alone},
        symbols=(block.symbols.letter, block.symbols.number),
        colon=block.colon,
    )


def _instruction(block: str | InstructionBlock) -> Instruction:
    if isinstance(block, str):
        return Instruction(block, block)
    return Instruction(block.letter, block.text)


def _check(grammar: FormatGrammar, name: str, wording: FormatWording) -> None:
    """Refuse a wording that lacks a part, or has other numbers of levels than the first."""
    where = f"formats: {name}"
    if set(wording.names) != {*grammar.inputs, OPTIONS}:
        raise TaskError(
            f"{where}: names has {', '.join(wording.names)}",
            f"it needs {', '.join([*grammar.inputs, OPTIONS])}",
        )
    if not wording.first.answers:
        raise TaskError(f"{where}: there is no answer cue", "give at least one under answers")
    shapes = {len(names) for names in wording.names.values()}
    if shapes != {len(next(iter(grammar.wording.names.values())))}:
        raise TaskError(f"{where}: every part needs as many names as the others, in each language")
    if list(wording.labels) != list(grammar.wording.labels):
        raise TaskError(f"{where}: labels are not the same sets as in the other language")
    for label, one in wording.labels.items():
        sizes = len(one.instructions), len(one.answers), len(one.words)
        first = grammar.wording.first
        if sizes != (len(first.instructions), len(first.answers), len(first.words)):
            raise TaskError(f"{where}: {label} has other numbers of parts than the first labels")
        if bool(one.words) == bool(grammar.options):
            raise TaskError(f"{where}: there are options or label words, never both")
        for instruction in one.instructions:
            _check_placeholders(where, instruction, wording.names)


def _check_placeholders(where: str, one: Instruction, names: Mapping[str, object]) -> None:
    for text in (one.letter, one.text):
        for found in _PLACEHOLDER.findall(text):
            if found not in names and found != SYMBOL:
                raise TaskError(
                    f"{where}: {{{found}}} stands for nothing: {text!r}",
                    f"an instruction may name {{{SYMBOL}}} and {', '.join(names)}",
                )
