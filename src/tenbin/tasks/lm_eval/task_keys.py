"""Keys of a task file in their types; what does not fit is collected instead of raised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from jinja2 import TemplateError, TemplateSyntaxError, nodes

from tenbin.records import Source, TaskFunction
from tenbin.sandbox.templates import LimitedEnvironment, TooMuchWork
from tenbin.sandbox.templates.environment import check_source

_T = TypeVar("_T")
_ENVIRONMENT = LimitedEnvironment()
_FILTERS = frozenset({*_ENVIRONMENT.filters, "regex_replace"})
_MARKUP = ("{{", "{%", "{#")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a task file cannot be used: one key of it."""

    file: str
    key: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        """As one line, for messages."""
        return f"{self.file}: {self.key}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Keys:
    """A mapping of a task file, and the refusals that reading it gave."""

    mapping: Mapping[str, Any]
    file: str
    prefix: str = ""
    """What stands before its keys in messages: `fewshot_config.`."""
    refusals: list[Refusal] = field(default_factory=list)

    def refuse(self, key: str, reason: str, remedy: str) -> None:
        """Note that a key cannot be used, once for each reason."""
        refusal = Refusal(self.file, f"{self.prefix}{key}", reason, remedy)
        if refusal not in self.refusals:
            self.refusals.append(refusal)

    def inner(self, key: str) -> Keys:
        """The mapping under a key, an empty one where there is none."""
        value = self.mapping.get(key)
        if value is not None and not isinstance(value, Mapping):
            self._wrong_type(key, "a mapping of keys", value)
            value = None
        return Keys(value or {}, self.file, f"{self.prefix}{key}.", self.refusals)

    def entries(self, key: str) -> list[Keys]:
        """The mappings of a list under a key."""
        found = []
        value = self.mapping.get(key) or []
        if not isinstance(value, list | tuple):
            self._wrong_type(key, "a list of mappings", value)
            return []
        for number, entry in enumerate(value):
            if isinstance(entry, Mapping):
                prefix = f"{self.prefix}{key}.{number}."
                found.append(Keys(entry, self.file, prefix, self.refusals))
            else:
                self._wrong_type(f"{key}.{number}", "a mapping of keys", entry)
        return found

    def text(self, key: str) -> str | None:
        """A text as it is; numbers are written out, as YAML reads `dataset_name: 2024`."""
        value = self.mapping.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        return self._typed(key, str, "a text")

    def number(self, key: str, least: int, most: int) -> int | None:
        """A whole number within bounds."""
        value = self.mapping.get(key)
        if isinstance(value, float | str):
            value = _whole(value)
        if value is None and self.mapping.get(key) is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self._wrong_type(key, f"a whole number from {least:,} to {most:,}", self.mapping[key])
            return None
        return value

    def flag(self, key: str) -> bool:
        """Whether a key is set to something true."""
        return bool(self.mapping.get(key))

    def function(self, key: str) -> TaskFunction | None:
        """A function, or None where the key is not set."""
        return self._typed(key, TaskFunction, "a `!function`")

    def template(self, key: str) -> str | None:
        """Jinja or the name of a field; not a function."""
        value = self.text(key)
        if value is not None:
            self._check_template(key, value)
        return value

    def source(self, key: str) -> Source | None:
        """Jinja or the name of a field, a whole number, or a function."""
        value = self.mapping.get(key)
        if isinstance(value, str):
            self._check_template(key, value)
        elif isinstance(value, bool) or not isinstance(value, int | TaskFunction | None):
            self._wrong_type(key, "Jinja, a field's name, a whole number or a `!function`", value)
            return None
        return value

    def _check_template(self, key: str, source: str) -> None:
        reason = fault_of(source)
        if reason:
            self.refuse(key, f"no valid Jinja: {reason}", "mend the template")

    def _typed(self, key: str, type_: type[_T], wanted: str) -> _T | None:
        value = self.mapping.get(key)
        if value is not None and not isinstance(value, type_):
            self._wrong_type(key, wanted, value)
            return None
        return value

    def _wrong_type(self, key: str, wanted: str, value: object) -> None:
        shown = f"`!function {value.name}`" if isinstance(value, TaskFunction) else repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        self.refuse(key, f"takes {wanted}, not {shown}", f"write {wanted}, or leave {key} out")


def _whole(value: float | str) -> int | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


@lru_cache(maxsize=20_000)
def fault_of(source: str) -> str | None:
    """What is wrong with a Jinja template; None for a valid one. Renders nothing."""
    if not any(mark in source for mark in _MARKUP):
        return None
    try:
        check_source(source)
        tree = _ENVIRONMENT.parse(source)
    except TemplateSyntaxError as error:
        return f"line {error.lineno}: {error.message}"
    except (TemplateError, TooMuchWork, ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        known = _FILTERS if isinstance(node, nodes.Filter) else _ENVIRONMENT.tests
        if node.name not in known:
            kind = type(node).__name__.lower()
            return f"line {node.lineno}: there is no {kind} {node.name!r}"
    return None
