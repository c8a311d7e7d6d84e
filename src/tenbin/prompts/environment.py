"""Jinja as templates may use it: sandboxed, strict, and exact to the byte.

Knows nothing of tasks; it renders a source over a mapping of fields or says why it cannot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateError, meta
from jinja2 import Template as Compiled
from jinja2.exceptions import UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tenbin.errors import TaskError

# keep_trailing_newline: Jinja would otherwise eat the newline that ends most prompts.
_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
)


def _regex_replace(text: str, pattern: str, value: str = "", count: int = 0) -> str:
    """lm-eval's one filter beyond Jinja's own."""
    return re.sub(pattern, value, text, count=count)


_ENVIRONMENT.filters["regex_replace"] = _regex_replace


@lru_cache(maxsize=4096)
def _compile(source: str) -> Compiled | None:
    """The compiled template, or None for text that holds no markup at all."""
    if "{{" not in source and "{%" not in source and "{#" not in source:
        return None
    try:
        compiled = _ENVIRONMENT.from_string(source)
    except TemplateError as error:
        raise TaskError(f"not a valid Jinja template: {error}: {source!r}") from error
    # Each rendering begins with a copy of these, which of a plain dict takes no time.
    compiled.globals = dict(compiled.globals)
    return compiled


def render(source: str, fields: Mapping[str, Any]) -> str:
    """The text of a template over these fields.

    Raises:
        TaskError: When the template names a field that the document does not have.
    """
    compiled = _compile(source)
    if compiled is None:
        return source
    try:
        return compiled.render(fields)
    except UndefinedError as error:
        raise TaskError(
            f"the template names a field that is not there: {error.message}",
            f"fields: {', '.join(map(str, fields))}",
        ) from error
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise TaskError(f"the template could not be rendered: {error}: {source!r}") from error


@lru_cache(maxsize=4096)
def names_used(source: str) -> frozenset[str]:
    """The fields a template names."""
    return frozenset(meta.find_undeclared_variables(_ENVIRONMENT.parse(source)))
