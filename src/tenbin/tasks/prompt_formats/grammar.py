"""From `formats:` of a task file to the grammar of its formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tenbin.errors import TaskError
from tenbin.records import (
    DeclaredFormats,
    FormatGrammar,
    FormatWording,
    Instruction,
    LabelWords,
    Task,
)
from tenbin.tasks.prompt_formats.dimensions import (
    DIGITS,
    DIMENSIONS,
    ENGLISH,
    NATIVE,
    NONE,
    OPTIONS,
)
from tenbin.tasks.schema import FormatsBlock, FormatWordingBlock, InstructionBlock, SymbolsBlock

_SHARED = Path(__file__).parents[2] / "catalog" / "format_words.yaml"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_NAMED = re.compile(r"\{(words|shared)\.(\w+)\}|\{(labels|gap)\}")
_SYMBOL = "{symbol}"
_COLONS = {"fr": " : "}
_BEHIND_NAMES = " :：\u3000"
"""What words of templates have behind them and names do not."""
_JOINED_SENTENCES = ("ja", "zh")


class _NoSharedWords(Exception):
    """The language has none of the words that many tasks share."""


@dataclass(frozen=True, slots=True)
class TaskWords:
    """What `formats:` can name of a task in one language."""

    language: str
    words: Mapping[str, Any]
    labels: Sequence[str]

    def text(self, written: str) -> str:
        """A text with the words that it names in braces."""
        return _NAMED.sub(lambda found: str(self._value(found)), written)

    def name(self, written: str) -> str:
        """The same as a label, without the colon that words of templates have."""
        return self.text(written).rstrip(_BEHIND_NAMES)

    def several(self, written: str | Sequence[str]) -> tuple[str, ...]:
        """A list of texts, or the one that a name stands for."""
        if not isinstance(written, str):
            return tuple(map(self.text, written))
        found = _NAMED.fullmatch(written)
        value = self._value(found) if found else None
        if not isinstance(value, list | tuple):
            raise TaskError(f"formats: {written!r} is no list of words")
        return tuple(map(str, value))

    def _value(self, found: re.Match[str]) -> Any:
        kind, name, alone = found.groups()
        if alone == "labels":
            return list(self.labels)
        if alone == "gap":
            return "" if self.language.partition("-")[0] in _JOINED_SENTENCES else " "
        if kind == "words":
            if name not in self.words:
                raise TaskError(f"formats: {found[0]}: `words` has no {name!r}")
            return self.words[name]
        shared = _shared_words()
        if self.language not in shared:
            raise _NoSharedWords
        if name not in shared[self.language]:
            raise TaskError(
                f"formats: {found[0]}: there is no such word",
                f"shared words: {', '.join(shared[self.language])}",
            )
        return shared[self.language][name]


@lru_cache(maxsize=1)
def _shared_words() -> dict[str, dict[str, str]]:
    from tenbin.files.yaml_text import read_yaml

    return dict(read_yaml(_SHARED))


def require_grammar(task: Task) -> FormatGrammar:
    """The grammar of a task's formats.

    Raises:
        TaskError: Its file declares none, or parts are missing or do not fit together.
    """
    try:
        grammar = grammar_of(task.formats) if task.formats is not None else None
    except TaskError as error:
        raise TaskError(f"{task.source}: {task.name}: {error.message}", error.hint) from error
    if grammar is None:
        raise TaskError(
            f"{task.name} {task.version} declares no prompt formats",
            "`tenbin tasks --formats` lists the tasks that do; docs/prompt-formats.md says how a "
            "task file declares them",
        )
    return grammar


def grammar_of(declared: DeclaredFormats) -> FormatGrammar | None:
    """The grammar that a task file declares; None where it has no words for the language.

    A wording that names shared words is left out where the language has none.

    Raises:
        TaskError: Parts are missing or do not fit together.
    """
    blocks: tuple[FormatsBlock, ...] = declared.blocks
    words = TaskWords(declared.language, declared.words, declared.labels)
    merged = FormatsBlock(**{name: _nearest(blocks, name) for name in FormatsBlock.model_fields})
    given = {NATIVE: (merged.native, words)}
    if words.language != "en":
        given[ENGLISH] = (merged.english, TaskWords("en", words.words, words.labels))
    if not merged.inputs:
        raise TaskError(
            "formats: there are no inputs", "name the parts of the input: {question: …}"
        )
    wordings = {}
    for name, (block, named) in given.items():
        try:
            if block is not None:
                wordings[name] = _wording(block, named, merged.inputs)
        except _NoSharedWords:
            continue
    if not wordings:
        return None
    grammar = FormatGrammar(
        options=tuple(merged.options or ()),
        target=declared.target,
        wordings=wordings,
        numeric_options=bool(merged.numeric_options),
        sentence_options=bool(merged.sentence_options),
    )
    for name, wording in wordings.items():
        _check(grammar, name, wording)
    for dimension in DIMENSIONS:
        if len(dimension.levels(grammar)) > len(DIGITS):
            raise TaskError(f"formats: {dimension.name} has more than {len(DIGITS)} levels")
    return grammar


def _nearest(blocks: Iterable[FormatsBlock], name: str) -> Any:
    return next((v for v in (getattr(block, name) for block in blocks) if v is not None), None)


def _wording(
    block: FormatWordingBlock, words: TaskWords, inputs: Mapping[str, str]
) -> FormatWording:
    if block.labels and (block.instructions or block.answers):
        raise TaskError(
            "formats: instructions and answers stand beside labels",
            "give each set of label words its own",
        )
    unknown = [name for name in block.inputs if name not in inputs]
    if unknown:
        raise TaskError(f"formats: {unknown[0]!r} is none of the inputs: {', '.join(inputs)}")

    def instructions(given: Iterable[str | InstructionBlock]) -> tuple[Instruction, ...]:
        return tuple(_instruction(one, words, block.symbols) for one in given)

    labels = {
        name: LabelWords(
            words.several(one.words),
            instructions(one.instructions),
            tuple(map(words.name, one.answers)),
            one.needs_instruction,
        )
        for name, one in block.labels.items()
    }
    alone = LabelWords((), instructions(block.instructions), tuple(map(words.name, block.answers)))
    return FormatWording(
        language=words.language,
        names={part: tuple(map(words.name, names)) for part, names in block.names.items()},
        labels=labels or {NONE: alone},
        inputs={**inputs, **block.inputs},
        colon=_COLONS.get(words.language, ": "),
    )


def _instruction(
    block: str | InstructionBlock, words: TaskWords, symbols: SymbolsBlock
) -> Instruction:
    if isinstance(block, str):
        block = InstructionBlock(letter=block, number=block, text=block)
    number = block.number
    if number is None and _SYMBOL in block.letter:
        number = block.letter.replace(_SYMBOL, symbols.number)
    letter = block.letter.replace(_SYMBOL, symbols.letter)
    return Instruction(
        words.text(letter), None if number is None else words.text(number), words.text(block.text)
    )


def _check(grammar: FormatGrammar, name: str, wording: FormatWording) -> None:
    """Refuse a wording that lacks a part, or has other numbers of levels than the first."""
    where = f"formats: {name}"
    if set(wording.names) != {*wording.inputs, OPTIONS}:
        raise TaskError(
            f"{where}: names has {', '.join(wording.names)}",
            f"it needs {', '.join([*wording.inputs, OPTIONS])}",
        )
    if not wording.first.answers:
        raise TaskError(f"{where}: there is no answer cue", "give at least one under answers")
    shapes = {len(names) for names in wording.names.values()}
    if shapes != {len(next(iter(grammar.wording.names.values())))}:
        raise TaskError(f"{where}: every part needs as many names as the others, in each language")
    if list(wording.labels) != list(grammar.wording.labels):
        raise TaskError(f"{where}: labels are not the same sets as in the other language")
    first = grammar.wording.first
    shape = len(first.instructions), len(first.answers), len(first.words)
    for label, one in wording.labels.items():
        if (len(one.instructions), len(one.answers), len(one.words)) != shape:
            raise TaskError(f"{where}: {label} has other numbers of parts than the first labels")
        if bool(one.words) == bool(grammar.options):
            raise TaskError(f"{where}: there are options or label words, never both")
        for instruction in one.instructions:
            _check_placeholders(where, instruction, wording.names)


def _check_placeholders(where: str, one: Instruction, names: Mapping[str, object]) -> None:
    for text in (one.letter, one.number or "", one.text):
        for found in _PLACEHOLDER.findall(text):
            if found not in names:
                raise TaskError(
                    f"{where}: {{{found}}} stands for nothing: {text!r}",
                    f"an instruction may name {_SYMBOL} and {', '.join(names)}",
                )
