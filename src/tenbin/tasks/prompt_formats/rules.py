"""Rules that exclude formats which mean something else, or that nobody could read."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tenbin.records import FormatGrammar
from tenbin.tasks.prompt_formats.dimensions import (
    ENGLISH,
    NONE,
    NUMBERED,
    UNLISTED,
    WITHOUT_SYMBOLS,
    Levels,
    instruction_of,
    is_wide,
    native_letters,
    wording_of,
)

_STOPS = (".", "。", "।", "!", "?", "！", "？")
"""What sentences end with."""


class Rule(NamedTuple):
    """Why some formats are excluded."""

    name: str
    reason: str
    excludes: Callable[[FormatGrammar, Levels], bool]
    alone: bool = False
    """Whether one level of a wording's language breaks it, in whatever company."""
    later: bool = False
    """Whether it came when samples had been published: formats that break it drop out of a sample
    as vetoed ones do, so that the others stay."""


def _uses_wide_marks(levels: Levels) -> bool:
    return (
        levels["after_labels"] == "wide-colon"
        or levels["between_options"] == "wide-comma"
        or levels["marks"] == "lenticular"
    )


def _lacks_native_letters(grammar: FormatGrammar, levels: Levels) -> bool:
    return levels["option_style"] == "native" and (
        levels["language"] == ENGLISH or native_letters(wording_of(grammar, levels)) is None
    )


def _leaves_labels_unnamed(grammar: FormatGrammar, levels: Levels) -> bool:
    if grammar.options or levels["option_style"] != UNLISTED:
        return False
    instruction = instruction_of(grammar, levels)
    words = wording_of(grammar, levels).labels[levels["label_words"]].words
    return instruction is None or not all(
        word.lower() in instruction.text.lower() for word in words
    )


def _calls_numbers_letters(grammar: FormatGrammar, levels: Levels) -> bool:
    instruction = instruction_of(grammar, levels)
    asks = levels["scored"] == "letter" and levels["option_style"] in NUMBERED
    return asks and instruction is not None and instruction.number is None


def _lacks_question(grammar: FormatGrammar, levels: Levels) -> bool:
    labels = wording_of(grammar, levels).labels[levels["label_words"]]
    return labels.needs_instruction and levels["instruction"] == NONE


def _doubles_stops(grammar: FormatGrammar, levels: Levels) -> bool:
    if levels["between_options"] in ("newline", "space") or levels["option_style"] == UNLISTED:
        return False
    words = wording_of(grammar, levels).labels[levels["label_words"]].words
    return grammar.sentence_options or any(word.endswith(_STOPS) for word in words)


RULES = (
    Rule(
        "declared-language",
        "the task declares no words in this language",
        lambda grammar, levels: levels["language"] not in grammar.wordings,
        alone=True,
    ),
    Rule(
        "letter-needs-symbols",
        "options without symbols can only be answered by their text",
        lambda grammar, levels: (
            levels["option_style"] in WITHOUT_SYMBOLS and levels["scored"] == "letter"
        ),
    ),
    Rule(
        "wide-marks-in-their-languages",
        "wide punctuation (：、【】) belongs to Japanese and Chinese wordings",
        lambda grammar, levels: _uses_wide_marks(levels) and not is_wide(grammar, levels),
        alone=True,
    ),
    Rule(
        "native-letters-in-their-languages",
        "letters of a language's own belong to wordings in that language",
        _lacks_native_letters,
        alone=True,
    ),
    Rule(
        "dashes-on-lines",
        "options behind dashes need a line each: a dash within a line is punctuation",
        lambda grammar, levels: (
            levels["option_style"] == "-" and levels["between_options"] != "newline"
        ),
    ),
    Rule(
        "one-line-throughout",
        "where parts stand on one line, options do too: the last would run into the next part",
        lambda grammar, levels: (
            levels["between_parts"] == "space"
            and levels["between_options"] == "newline"
            and levels["option_style"] != UNLISTED
        ),
    ),
    Rule(
        "one-line-needs-colons",
        "on one line only a colon tells a label from the text before it",
        lambda grammar, levels: (
            levels["between_parts"] == "space" and levels["after_labels"] in ("newline", "dash")
        ),
    ),
    Rule(
        "one-line-without-instruction",
        "an instruction behind the input has no label: on one line it would run on from the last "
        "option",
        lambda grammar, levels: (
            levels["between_parts"] == "space"
            and levels["instruction"] != NONE
            and levels["instruction_place"] == "after-input"
        ),
        later=True,
    ),
    Rule(
        "headings-on-lines",
        "a heading (###) begins a line",
        lambda grammar, levels: levels["marks"] == "heading" and levels["between_parts"] == "space",
    ),
    Rule(
        "numbers-beside-numbers",
        "options that may be numbers cannot be distinguished from numbers as symbols",
        lambda grammar, levels: grammar.numeric_options and levels["option_style"] in NUMBERED,
        alone=True,
    ),
    Rule(
        "sentences-end-once",
        "options that are sentences end with a full stop: a comma or semicolon behind it is one "
        "too many",
        _doubles_stops,
        alone=True,
    ),
    Rule(
        "options-are-listed",
        "options of a document stand nowhere else than in their list",
        lambda grammar, levels: bool(grammar.options) and levels["option_style"] == UNLISTED,
        alone=True,
    ),
    Rule(
        "unlisted-labels-are-named",
        "labels that are not listed must stand in the instruction",
        _leaves_labels_unnamed,
    ),
    Rule(
        "answers-need-their-question",
        "words such as yes and no mean nothing without the question they answer",
        _lacks_question,
    ),
    Rule(
        "numbers-by-their-name",
        "an instruction that asks for a letter has no answer among numbers",
        _calls_numbers_letters,
    ),
    Rule(
        "examples-apart",
        "examples stand further apart than the parts of one",
        lambda grammar, levels: (
            levels["between_examples"] == "newline" and levels["between_parts"] != "space"
        ),
    ),
)


def broken_rule(grammar: FormatGrammar, levels: Levels) -> Rule | None:
    """The first rule that excludes a format; None: it may be asked."""
    return next((rule for rule in RULES if rule.excludes(grammar, levels)), None)


def may_be_sampled(grammar: FormatGrammar, levels: Levels) -> bool:
    """Whether a format has a place in the sequence of all samples; later rules take it out again,
    and leave the others their places."""
    return not any(rule.excludes(grammar, levels) for rule in RULES if not rule.later)
