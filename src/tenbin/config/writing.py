"""Kinds of values that say how a model writes: sampling, thoughts, variables of chats.

As `kinds`: a ValueError says what is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from tenbin.config.kinds import flag, parse_model_args, positive_to, real, split_list, whole
from tenbin.records import MOST_TOKENS, Thinking


def _temperature(value: Any) -> float:
    if (number := real(value)) < 0:
        raise ValueError("a number of 0 or more")
    return number


def _share(value: Any) -> float:
    if not 0 < (number := real(value)) <= 1:
        raise ValueError("a number above 0, up to 1")
    return number


def _top_k(value: Any) -> int:
    if not 0 <= (number := whole(value)) <= MOST_TOKENS:
        raise ValueError("a whole number above 0, or 0 for all tokens")
    return number


_GENERATION: dict[str, Callable[[Any], Any]] = {
    "do_sample": flag,
    "temperature": _temperature,
    "top_p": _share,
    "top_k": _top_k,
    "max_gen_toks": positive_to(MOST_TOKENS),
}


def gen_kwargs(value: Any) -> dict[str, Any]:
    """Settings of generation by name, each of its kind."""
    given: dict[str, Any] = {}
    for name, content in parse_model_args(value).items():
        if name not in _GENERATION:
            close = get_close_matches(name, _GENERATION, n=1)
            guess = f", did you mean {close[0]}?" if close else ""
            raise ValueError(f"{', '.join(_GENERATION)} (no {name}{guess})")
        try:
            given[name] = _GENERATION[name](content)
        except ValueError as error:
            raise ValueError(f"{error} as {name}") from None
    return given


def marks(value: Any) -> tuple[str, ...]:
    """The two around a thought, or none; YAML reads on and off as true and false."""
    if value is True or value in ("on", "true"):
        return (Thinking().opening, Thinking().closing)
    # An empty list is what a stored run says of none.
    if value is False or value in ("off", "false", [], ()):
        return ()
    given = split_list(value) if isinstance(value, str | list | tuple) else []
    both = tuple(str(mark).strip() for mark in given)
    if len(both) == 2 and all(both):
        return both
    raise ValueError("on, off, or the two marks around a thought as OPENING,CLOSING")


def budget(value: Any) -> int:
    """Tokens of thought."""
    if not 0 <= (number := whole(value)) <= MOST_TOKENS:
        raise ValueError(f"a whole number of 0 or more, up to {MOST_TOKENS:,}")
    return number


def template_args(value: Any) -> dict[str, Any]:
    """Values of a command line in the types that a template tests for."""
    known = {"true": True, "false": False, "none": None, "null": None}
    given = {}
    for name, content in parse_model_args(value).items():
        if not name.isidentifier():
            raise ValueError(f"names of variables; {name!r} is none")
        if isinstance(content, str):
            content = known.get(content.lower(), whole(content) if content.isdecimal() else content)
        given[name] = content
    return given
