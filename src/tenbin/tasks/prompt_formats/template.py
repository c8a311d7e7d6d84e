"""From a format to the template that words it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tenbin.records import FormatGrammar, Task, Template
from tenbin.tasks.prompt_formats.dimensions import (
    AFTER_LABELS,
    BETWEEN_EXAMPLES,
    BETWEEN_OPTIONS,
    BETWEEN_PARTS,
    MARKS,
    NUMBERED,
    OPTIONS,
    STYLES,
    UNLISTED,
    Levels,
    cased,
    instruction_of,
    symbols_of,
    wording_of,
)
from tenbin.tasks.prompt_formats.format_id import PromptFormat, read_format
from tenbin.tasks.prompt_formats.grammar import require_grammar

_BEHIND_SYMBOL = ".)"
"""What stands behind a symbol in a list and is no part of an answer."""


def with_format(task: Task, id: str) -> Task:
    """The task with one format among its templates.

    Raises:
        TaskError: The task has no such format.
    """
    return with_formats(task, [read_format(task, id)])


def with_formats(task: Task, formats: Iterable[PromptFormat]) -> Task:
    """The task with these formats among its templates."""
    grammar = require_grammar(task)
    made = {one.id: _template(grammar, one) for one in formats}
    return replace(task, templates={**task.templates, **made})


def _template(grammar: FormatGrammar, format: PromptFormat) -> Template:
    chosen = format.choices
    wording = wording_of(grammar, chosen)
    labels = wording.labels[chosen["label_words"]]
    options = grammar.options or labels.words
    between = BETWEEN_PARTS[chosen["between_parts"]]
    parts = [
        _part(grammar, chosen, wording.names[name], source)
        for name, source in wording.inputs.items()
    ]
    symbols, listing = _listed(grammar, chosen, options)
    if listing:
        parts.insert(0 if chosen["options_place"] == "first" else len(parts), listing)
    instruction = _instruction(grammar, chosen)
    if instruction and chosen["instruction_place"] == "after-input":
        parts.append(instruction)
    separator = _separator(grammar, chosen)
    cue = _label(grammar, chosen, labels.answers[int(chosen["answer_cue"]) - 1])
    # White space at the end belongs to the answer: models read it as part of its first token.
    parts.append(cue + separator.rstrip())
    first = instruction and chosen["instruction_place"] == "first"
    return Template(
        name=format.id,
        description=f"{instruction}\n\n" if first else "",
        text=between.join(parts),
        choices=symbols if chosen["scored"] == "letter" else options,
        target=grammar.target,
        target_delimiter=separator[len(separator.rstrip()) :],
        fewshot_delimiter=BETWEEN_EXAMPLES[chosen["between_examples"]],
        stop=(),
        meant_for="one of many formats of one question (docs/prompt-formats.md)",
        reverses_examples=chosen["example_order"] == "reversed",
        chat=chosen["chat"] == "yes",
        format=format.levels,
    )


def _separator(grammar: FormatGrammar, chosen: Levels) -> str:
    level = chosen["after_labels"]
    return wording_of(grammar, chosen).colon if level == "colon" else AFTER_LABELS[level]


def _label(grammar: FormatGrammar, chosen: Levels, name: str) -> str:
    language = wording_of(grammar, chosen).language
    return MARKS[chosen["marks"]].format(cased(name, chosen["casing"], language))


def _part(grammar: FormatGrammar, chosen: Levels, names: tuple[str, ...], text: str) -> str:
    label = _label(grammar, chosen, names[int(chosen["part_names"]) - 1])
    return label + _separator(grammar, chosen) + text


def _listed(
    grammar: FormatGrammar, chosen: Levels, options: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """The symbols that answer for the options, in the options' own order, and the list itself."""
    style, wording, count = chosen["option_style"], wording_of(grammar, chosen), len(options)
    if style == UNLISTED:
        return (), ""
    rotation = int(chosen["rotation"])
    marks = symbols_of(style, wording, count) or (STYLES[style][1],) * count
    shown = [f"{mark} {options[(at + rotation) % count]}" for at, mark in enumerate(marks)]
    lines = chosen["between_options"] == "newline"
    text = BETWEEN_OPTIONS[chosen["between_options"]].join(shown)
    label = _label(grammar, chosen, wording.names[OPTIONS][int(chosen["part_names"]) - 1])
    separator = _separator(grammar, chosen)
    listing = label + (separator.rstrip() + "\n" if lines else separator) + text
    bare = [mark if mark.startswith("(") else mark.rstrip(_BEHIND_SYMBOL) for mark in marks]
    return tuple(bare[(at - rotation) % count] for at in range(count)), listing


def _instruction(grammar: FormatGrammar, chosen: Levels) -> str:
    instruction = instruction_of(grammar, chosen)
    if instruction is None:
        return ""
    wording = wording_of(grammar, chosen)
    text: str | None = instruction.text
    if chosen["scored"] == "letter":
        numbered = chosen["option_style"] in NUMBERED
        text = instruction.number if numbered else instruction.letter
    assert text is not None  # by a rule
    for part, names in wording.names.items():
        text = text.replace(f"{{{part}}}", names[int(chosen["part_names"]) - 1])
    return text
