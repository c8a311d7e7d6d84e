r"""A pattern of `re` as one of `regex` that matches the same texts.

The two differ in what `\w`, `\s` and `\b` stand for (`regex` counts combining marks as letters),
and `regex` gives meaning to text that `re` takes literally, such as `{e}` and `[[:alpha:]]`. So the
pattern is not handed on as written: it is written out anew from the tree that `re` parses.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

# str.isalnum and str.isspace, by which `re` goes, in properties that `regex` knows.
_WORD = r"\p{L}\p{Numeric_Type=Decimal}\p{Numeric_Type=Digit}\p{Numeric_Type=Numeric}_"
_MEMBERS = {
    "DIGIT": (r"\p{Nd}", "0-9"),
    "SPACE": (r"\s\x1c-\x1f", r"\x09-\x0d\x20"),
    "WORD": (_WORD, "0-9A-Z_a-z"),
}
_FLAG_LETTERS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"))
_ANYTHING = "(?s:.)"


def parse(source: str, flags: int) -> Any:
    """Return `re`'s own tree of a pattern.

    Raises:
        re.error: It is not valid.
    """
    return _parser.parse(source, flags)


def translate(tree: Any) -> str:
    """Write a parsed pattern in the syntax of `regex`, version 0."""
    names = {number: name for name, number in tree.state.groupdict.items()}
    return _Writer(names).sequence(tree, bool(tree.state.flags & re.ASCII))


class _Writer:
    """Writes one node after the other; `ascii` says whether classes hold ASCII alone."""

    def __init__(self, names: dict[int, str]) -> None:
        self._names = names

    def sequence(self, nodes: Any, ascii: bool) -> str:
        """Write nodes that follow each other."""
        return "".join(self._node(str(operation), value, ascii) for operation, value in nodes)

    def _node(self, name: str, value: Any, ascii: bool) -> str:
        write: Callable[[Any, bool], str] = getattr(self, f"_{name.lower()}")
        return write(value, ascii)

    def _literal(self, value: int, ascii: bool) -> str:
        return _character(value)

    def _not_literal(self, value: int, ascii: bool) -> str:
        return f"[^{_character(value)}]"

    def _any(self, value: Any, ascii: bool) -> str:
        return "."

    def _failure(self, value: Any, ascii: bool) -> str:
        return "(?!)"

    def _in(self, members: Any, ascii: bool) -> str:
        return _set(members, ascii)

    def _branch(self, value: Any, ascii: bool) -> str:
        return f"(?:{'|'.join(self.sequence(branch, ascii) for branch in value[1])})"

    def _subpattern(self, value: Any, ascii: bool) -> str:
        group, added, removed, inner = value
        ascii = (ascii or bool(added & re.ASCII)) and not added & re.UNICODE
        written = self.sequence(inner, ascii)
        on = "".join(letter for flag, letter in _FLAG_LETTERS if added & flag)
        off = "".join(letter for flag, letter in _FLAG_LETTERS if removed & flag)
        flags = f"{on}-{off}" if off else on
        if group is None:
            return f"(?{flags}:{written})"
        name = self._names.get(group)
        return f"({f'?P<{name}>' if name else ''}{written})"

    def _max_repeat(self, value: Any, ascii: bool) -> str:
        least, most, inner = value
        above = "" if most == _parser.MAXREPEAT else int(most)
        return f"(?:{self.sequence(inner, ascii)}){{{int(least)},{above}}}"

    def _min_repeat(self, value: Any, ascii: bool) -> str:
        return f"{self._max_repeat(value, ascii)}?"

    def _possessive_repeat(self, value: Any, ascii: bool) -> str:
        return f"{self._max_repeat(value, ascii)}+"

    def _atomic_group(self, inner: Any, ascii: bool) -> str:
        return f"(?>{self.sequence(inner, ascii)})"

    def _groupref(self, group: int, ascii: bool) -> str:
        return rf"(?:\{group})" if group < 100 else rf"\g<{group}>"

    def _groupref_exists(self, value: Any, ascii: bool) -> str:
        group, yes, no = value
        otherwise = "" if no is None else f"|{self.sequence(no, ascii)}"
        return f"(?({group}){self.sequence(yes, ascii)}{otherwise})"

    def _assert(self, value: Any, ascii: bool) -> str:
        direction, inner = value
        return f"(?{'<' if direction < 0 else ''}={self.sequence(inner, ascii)})"

    def _assert_not(self, value: Any, ascii: bool) -> str:
        direction, inner = value
        return f"(?{'<' if direction < 0 else ''}!{self.sequence(inner, ascii)})"

    def _at(self, value: Any, ascii: bool) -> str:
        word = f"[{_MEMBERS['WORD'][ascii]}]"
        # Before Python 3.14, \B did not match in an empty text.
        empty = "" if sys.version_info >= (3, 14) else r"(?!\A\Z)"
        return {
            "AT_BEGINNING": "^",
            "AT_BEGINNING_STRING": r"\A",
            "AT_END": "$",
            "AT_END_STRING": r"\Z",
            "AT_BOUNDARY": f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))",
            "AT_NON_BOUNDARY": f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}){empty})",
        }[str(value)]


def _character(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and character.isalnum() else f"\\U{code:08x}"


def _set(members: Any, ascii: bool) -> str:
    """Write a character set; complements within it become alternatives, as sets do not nest."""
    negated, plain, complements = False, "", []
    categories = set()
    for operation, value in members:
        name = str(operation)
        if name == "NEGATE":
            negated = True
        elif name == "RANGE":
            plain += f"{_character(value[0])}-{_character(value[1])}"
        elif name == "LITERAL":
            plain += _character(value)
        else:
            category = str(value).removeprefix("CATEGORY_")
            categories.add(category)
            held = _MEMBERS[category.removeprefix("NOT_")][ascii]
            if category.startswith("NOT_"):
                complements.append(f"[^{held}]")
            else:
                plain += held
    if any(f"NOT_{category}" in categories for category in categories):
        return "(?!)" if negated else _ANYTHING  # [\s\S], the usual way to write "anything"
    if not complements:
        return f"[{'^' if negated else ''}{plain}]"
    if len(complements) == 1 and not plain:
        return f"[{complements[0][2:]}" if negated else complements[0]
    either = "|".join([*complements, *([f"[{plain}]"] if plain else [])])
    return f"(?!{either}){_ANYTHING}" if negated else f"(?:{either})"
