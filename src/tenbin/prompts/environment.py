"""Jinja as templates may use it: sandboxed, strict, limited in work and size, exact to the byte.

Renders a source over a mapping of fields or says why it cannot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateError, meta, nodes
from jinja2 import Template as Compiled
from jinja2.exceptions import SecurityError, UndefinedError

from tenbin.errors import TaskError
from tenbin.sandbox.patterns import compile_pattern
from tenbin.sandbox.templates import LimitedEnvironment, TooMuchWork, render_limited
from tenbin.sandbox.templates.budget import TIME_CHECK, current
from tenbin.sandbox.templates.environment import check_source, counted_output, limited_filter


def _output(value: Any) -> Any:
    """Refuse numbers that are none: rows written by programs hold NaN where a value is missing."""
    if isinstance(value, float) and not math.isfinite(value):
        raise TaskError(
            f"the template shows a number that is {value}",
            "leave the row out, or test for the missing value in the template",
        )
    return counted_output(value)


# keep_trailing_newline: Jinja would otherwise eat the newline that ends most prompts.
_ENVIRONMENT = LimitedEnvironment(
    undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, finalize=_output
)
_CONSTANTS = {True: ("true", "True"), False: ("false", "False"), None: ("none", "None")}
_LANGUAGE_NAMES = frozenset({"loop", "self", "super", "caller", "varargs", "kwargs"})
"""Names that Jinja itself gives a meaning, at least in some places."""


def _regex_replace(text: str, pattern: str, repl: str = "", count: int = 0) -> str:
    """lm-eval's one filter beyond Jinja's own."""
    return compile_pattern(pattern, "regex_replace").sub(repl, text, count, current().largest)


_ENVIRONMENT.filters["regex_replace"] = limited_filter(
    # So many steps that the time is looked at after each.
    "regex_replace",
    _regex_replace,
    steps=TIME_CHECK,
)


@lru_cache(maxsize=4096)
def _compile(source: str) -> Compiled | None:
    """The compiled template, or None for text that holds no markup at all."""
    _check_characters(source)
    if "{{" not in source and "{%" not in source and "{#" not in source:
        return None
    try:
        check_source(source)
        compiled = _ENVIRONMENT.from_string(source)
    except _NOT_COMPILED as error:
        raise _invalid(source, error) from error
    # Each rendering begins with a copy of these, which of a plain dict takes no time.
    compiled.globals = dict(compiled.globals)
    return compiled


_NOT_COMPILED = (
    TemplateError,
    TooMuchWork,
    # From Python's own compiler, for blocks or brackets nested too deeply and for null bytes.
    SyntaxError,
    ValueError,
    RecursionError,
    MemoryError,
    OverflowError,
)


def render(source: str, fields: Mapping[str, Any]) -> str:
    """The text of a template over these fields.

    Raises:
        TaskError: When the template names a field that the document does not have, does too much
            work, or fails.
    """
    compiled = _compile(source)
    if compiled is None:
        return source
    try:
        text = render_limited(compiled, fields)
        text.encode()
        return text
    except UndefinedError as error:
        raise TaskError(
            f"the template names a field that is not there: {error.message}",
            "give it with --system_instruction, or as `system_prompt:` beside the template's text"
            if "'system_prompt'" in str(error.message)
            else f"fields: {', '.join(map(str, fields))}",
        ) from error
    except TooMuchWork as error:
        raise TaskError(
            f"the template does too much for one document: {error}: {shown(source)}",
            "the limits stand in docs/add-a-template.md",
        ) from error
    except UnicodeEncodeError as error:
        raise TaskError(
            f"the template gives half of a surrogate pair, which is no character: {shown(source)}"
        ) from error
    except TaskError:
        raise
    except SecurityError as error:
        raise TaskError(
            f"the template could not be rendered: {error}: {shown(source)}",
            "templates change no values: write {% set ns.all = ns.all + [x] %} after "
            "{% set ns = namespace(all=[]) %}"
            if ".append(" in source
            else "",
        ) from error
    except Exception as error:
        # Besides Jinja's own, whatever its functions and methods of Python raise.
        raise TaskError(f"the template could not be rendered: {error}: {shown(source)}") from error


@lru_cache(maxsize=4096)
def names_used(source: str) -> frozenset[str]:
    """The fields a template names.

    Raises:
        TaskError: It is no valid template.
    """
    tree = _parsed(source)
    try:
        return frozenset(meta.find_undeclared_variables(tree))
    except _NOT_COMPILED as error:
        raise _invalid(source, error) from error


@lru_cache(maxsize=4096)
def language_names_used(source: str) -> frozenset[str]:
    """The names in a template that Jinja gives a meaning, so that they never are a field.

    Raises:
        TaskError: It is no valid template.
    """
    tree = _parsed(source)
    found = {node.name for node in tree.find_all(nodes.Name)} & _LANGUAGE_NAMES
    for node in tree.find_all(nodes.Const):
        if node.value is None or isinstance(node.value, bool):
            found.update(_CONSTANTS[node.value])
    return frozenset(found)


def _parsed(source: str) -> nodes.Template:
    try:
        check_source(source)
        return _ENVIRONMENT.parse(source)
    except _NOT_COMPILED as error:
        raise _invalid(source, error) from error


def _check_characters(source: str) -> None:
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise TaskError(f"half of a surrogate pair is no character: {shown(source)}") from error


def _invalid(source: str, error: Exception) -> TaskError:
    if isinstance(error, RecursionError | MemoryError):
        reason = "it is nested too deeply"
    else:
        reason = str(error)
    return TaskError(f"not a valid Jinja template: {reason}: {shown(source)}")


def shown(source: str) -> str:
    """A source as it stands in messages, cut to a readable length."""
    return repr(source if len(source) <= 200 else f"{source[:197]}...")
