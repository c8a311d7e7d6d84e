"""The dimensions of formats and their levels.

Ids rest on the order here: new levels and new dimensions go to the end, and none is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tenbin.records import FormatGrammar, FormatWording, Instruction

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
NATIVE, ENGLISH = "native", "english"
NONE = "none"
OPTIONS = "options"
"""The part whose name stands before the list of options."""
NOT_APPLICABLE = "–"
"""The level of a dimension that has no effect in a format, such as the place of no instruction."""

AFTER_LABELS = {
    "colon": ": ",
    "wide-colon": "：",
    "newline": "\n",
    "dash": " - ",
    "tight-colon": ":",
}
BETWEEN_PARTS = {"newline": "\n", "blank-line": "\n\n", "space": " "}
BETWEEN_OPTIONS = {
    "newline": "\n",
    "comma": ", ",
    "wide-comma": "、",
    "space": " ",
    "semicolon": "; ",
}
BETWEEN_EXAMPLES = {
    "blank-line": "\n\n",
    "newline": "\n",
    "rule": "\n\n---\n\n",
    "hashes": "\n\n###\n\n",
}
MARKS = {"plain": "{}", "square": "[{}]", "lenticular": "【{}】", "heading": "### {}"}
_LATIN, _NUMBERS, _CIRCLED = "ABCDEFGHIJ", tuple(map(str, range(1, 11))), "①②③④⑤⑥⑦⑧⑨⑩"
UNLISTED = "unlisted"
STYLES: Mapping[str, tuple[str, str]] = {
    "A.": ("latin", "{}."),
    "(A)": ("latin", "({})"),
    "1.": ("number", "{}."),
    "①": ("circled", "{}"),
    "native": ("native", "{}."),
    "-": ("", "-"),
    "A)": ("latin", "{})"),
    "(1)": ("number", "({})"),
    UNLISTED: ("", ""),
}
"""Style of options → its symbols, and how one stands before its option."""
NUMBERED = ("1.", "①", "(1)")
WITHOUT_SYMBOLS = ("-", UNLISTED)
_NATIVE_LETTERS = {
    "ja": "アイウエオカキクケコ",
    "ko": "가나다라마바사아자차",
    "th": "กขคงจฉชซฌญ",
    "ar": "أبجدهوزحطي",
    "he": "אבגדהוזחטי",
    "el": "ΑΒΓΔΕΖΗΘΙΚ",
    "ru": "АБВГДЕЖЗИК",
    "bg": "АБВГДЕЖЗИК",
    "uk": "АБВГДЕЖЗИК",
}
"""Letters that examination papers of a language put before options."""
_WIDE = ("ja", "zh")
_GREEK_ACCENTS = str.maketrans("άέήίόύώΐΰΆΈΉΊΌΎΏ", "αεηιουωϊϋΑΕΗΙΟΥΩ")

Levels = Mapping[str, str]
"""Dimension → level."""


class Dimension(NamedTuple):
    """One choice that a format makes."""

    name: str
    about: str
    levels: Callable[[FormatGrammar], tuple[str, ...]]
    """All levels, in the order of their digits."""
    applies: Callable[[FormatGrammar, Levels], bool] = lambda grammar, levels: True
    """Whether it has an effect, by the dimensions before it."""


def _fixed(*levels: str) -> Callable[[FormatGrammar], tuple[str, ...]]:
    return lambda grammar: levels


def _numbered(
    count: Callable[[FormatWording], int], *before: str
) -> Callable[[FormatGrammar], tuple[str, ...]]:
    return lambda grammar: (*before, *(str(n + 1) for n in range(count(grammar.wording))))


def instruction_of(grammar: FormatGrammar, levels: Levels) -> Instruction | None:
    """The instruction of a format."""
    if levels["instruction"] == NONE:
        return None
    labels = wording_of(grammar, levels).labels[levels["label_words"]]
    return labels.instructions[int(levels["instruction"]) - 1]


def wording_of(grammar: FormatGrammar, levels: Levels) -> FormatWording:
    """The words in the language of a format."""
    return grammar.wordings[levels["language"]]


def is_wide(grammar: FormatGrammar, levels: Levels) -> bool:
    """Whether the wording is in a language with wide punctuation."""
    return wording_of(grammar, levels).language.partition("-")[0] in _WIDE


def native_letters(wording: FormatWording) -> str | None:
    """The letters that the language itself puts before options; None where they are A, B, C."""
    return _NATIVE_LETTERS.get(wording.language.partition("-")[0])


def symbols_of(style: str, wording: FormatWording, count: int) -> tuple[str, ...]:
    """What stands before each of so many options; empty where it is the same for all."""
    alphabet, form = STYLES[style]
    if not alphabet:
        return ()
    letters = {
        "latin": _LATIN,
        "number": _NUMBERS,
        "circled": _CIRCLED,
        "native": native_letters(wording) or _LATIN,
    }[alphabet]
    return tuple(form.format(letter) for letter in letters[:count])


def cased(label: str, casing: str, language: str) -> str:
    """A label in capitals, in small letters or as it is written."""
    if casing == "upper":
        # Greek capitals have no accents.
        label = label.translate(_GREEK_ACCENTS) if language == "el" else label
        return (label.replace("i", "İ") if language == "tr" else label).upper()
    if casing == "lower":
        return (label.replace("I", "ı").replace("İ", "i") if language == "tr" else label).lower()
    return label


def _has_case(grammar: FormatGrammar, levels: Levels) -> bool:
    wording = wording_of(grammar, levels)
    names = [name for names in wording.names.values() for name in names]
    return any(name.upper() != name.lower() for name in names)


def _is_listed(grammar: FormatGrammar, levels: Levels) -> bool:
    return levels["option_style"] != UNLISTED


DIMENSIONS = (
    Dimension(
        "language",
        "language of the wording; documents stay in theirs",
        lambda grammar: (NATIVE, ENGLISH),
    ),
    Dimension(
        "instruction",
        "which instruction",
        _numbered(lambda wording: len(wording.first.instructions), NONE),
    ),
    Dimension(
        "instruction_place",
        "once before everything, or behind each input",
        _fixed("first", "after-input"),
        lambda grammar, levels: levels["instruction"] != NONE,
    ),
    Dimension(
        "part_names",
        "which names of the parts",
        _numbered(lambda wording: len(next(iter(wording.names.values())))),
    ),
    Dimension("casing", "letters of labels", _fixed("as-written", "upper", "lower"), _has_case),
    Dimension("marks", "what stands around labels", _fixed(*MARKS)),
    Dimension("after_labels", "separator behind labels", _fixed(*AFTER_LABELS)),
    Dimension("between_parts", "separator between parts", _fixed(*BETWEEN_PARTS)),
    Dimension("option_style", "what stands before an option", _fixed(*STYLES)),
    Dimension(
        "options_place",
        "options behind the input, or before it",
        _fixed("after-input", "first"),
        _is_listed,
    ),
    Dimension("between_options", "separator between options", _fixed(*BETWEEN_OPTIONS), _is_listed),
    Dimension("scored", "the symbol of an option, or its text", _fixed("letter", "text")),
    Dimension(
        "label_words",
        "which words for the labels",
        lambda grammar: tuple(grammar.wording.labels),
    ),
    Dimension(
        "answer_cue",
        "which words before the answer",
        _numbered(lambda wording: len(wording.first.answers)),
    ),
    Dimension("example_order", "examples as drawn, or reversed", _fixed("drawn", "reversed")),
    Dimension("between_examples", "separator between examples", _fixed(*BETWEEN_EXAMPLES)),
    Dimension("chat", "in the model's chat format", _fixed("no", "yes")),
    Dimension(
        "rotation",
        "the option that is shown first, counted from 0",
        lambda grammar: tuple(map(str, range(grammar.count))),
        _is_listed,
    ),
)
"""In the order of an id's digits."""
BY_NAME: Mapping[str, Dimension] = {dimension.name: dimension for dimension in DIMENSIONS}
OF_EXAMPLES = {"example_order": 2, "between_examples": 1}
"""Dimensions that have no effect with fewer examples than these."""
CHAT = "chat"
