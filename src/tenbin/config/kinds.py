"""Kinds of values: each function takes what a user wrote and gives it in its type.

What is of another kind raises a ValueError that says what is taken: "a whole number". Knows no key.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tenbin.records import MOST_SHOTS

_MOST = 10**18
"""Below what 64 bits hold: databases and tables keep numbers in them."""
_DEEPEST = 8


def text(value: Any) -> str:
    """A text; a number that YAML read out of one is one too."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValueError("a text")
    if not _is_writable(value):
        raise ValueError("a text in UTF-8, without control characters")
    return value


def _is_writable(value: str) -> bool:
    """Whether results and file names can hold a text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def path(value: Any) -> str:
    """A place, as text."""
    return os.fspath(value) if isinstance(value, Path) else text(value)


def flag(value: Any) -> bool:
    """True or false, also as a command line writes them."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"true", "false", "1", "0", "yes", "no"}:
        return value.lower() in {"true", "1", "yes"}
    raise ValueError("true or false")


def whole(value: Any) -> int:
    """A whole number."""
    try:
        if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
            raise ValueError
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("a whole number") from None
    if abs(number) >= _MOST:
        raise ValueError("a whole number of at most 18 digits")
    return number


def positive(value: Any) -> int:
    """A whole number above 0."""
    try:
        number = whole(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError("a whole number above 0")
    return number


def positive_to(most: int) -> Callable[[Any], int]:
    """A whole number above 0, up to `most`."""

    def take(value: Any) -> int:
        if (number := positive(value)) > most:
            raise ValueError(f"a whole number above 0, up to {most:,}")
        return number

    return take


def real(value: Any) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError("a number")
    return number


def processors(value: Any) -> float:
    """A number above 0."""
    if (number := real(value)) <= 0:
        raise ValueError("a number above 0")
    return number


def amount(value: Any) -> float:
    """Whole ones, or a part of one."""
    number = real(value)
    if number < 0 or (number > 1 and number != int(number)):
        raise ValueError("a whole number, or a fraction below 1")
    return number


def one_of(*allowed: str) -> Callable[[Any], str]:
    """One of these words."""

    def check(value: Any) -> str:
        if str(value) not in allowed:
            raise ValueError(f"one of: {', '.join(allowed)}")
        return str(value)

    return check


def split_list(value: Any) -> list[Any]:
    """A YAML list as it is, a comma-separated text cut up, a single value alone."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value]


def names(value: Any) -> tuple[str, ...]:
    """Texts, joined by commas or in a list."""
    return tuple(text(part) for part in split_list(value))


def shots(value: Any) -> tuple[int, ...]:
    """Numbers of examples."""
    numbers = tuple(whole(part) for part in split_list(value))
    if not numbers or any(not 0 <= number <= MOST_SHOTS for number in numbers):
        raise ValueError(f"whole numbers of 0 or more, up to {MOST_SHOTS:,}")
    return numbers


def limits(value: Any) -> tuple[float, ...]:
    """Numbers of documents, or parts of all."""
    try:
        numbers = tuple(float(part) for part in split_list(value))
    except (TypeError, ValueError):
        numbers = ()
    usable = all(n > 0 and (n < 1 or n.is_integer()) for n in numbers)
    if not numbers or not usable or isinstance(value, bool):
        raise ValueError("whole numbers above 0, or fractions between 0 and 1")
    return numbers


def batch(value: Any) -> int | str:
    """Rows a batch, or `auto`."""
    if value == "auto":
        return "auto"
    try:
        return positive(value)
    except ValueError:
        raise ValueError("auto, or a whole number above 0") from None


def parse_model_args(value: Any) -> dict[str, Any]:
    """`pretrained=PATH,dtype=float32` as a mapping; a mapping stays as it is."""
    if isinstance(value, Mapping):
        return {text(name): _plain(text(name), content) for name, content in value.items()}
    arguments: dict[str, Any] = {}
    for part in split_list(value):
        name, equals, content = str(part).partition("=")
        if not equals or not name.strip():
            raise ValueError(f"name=value pairs joined by commas; {part!r} is none")
        if name.strip() in arguments:
            raise ValueError(f"each name once; {name.strip()!r} stands there twice")
        arguments[text(name.strip())] = text(content.strip())
    return arguments


def versions(value: Any) -> dict[str, str]:
    """`jglue=1.3` as a mapping of suites of data sets to versions."""
    if isinstance(value, list | tuple):
        value = ",".join(text(part) for part in value)
    return {suite: text(version) for suite, version in parse_model_args(value).items()}


def _plain(name: str, value: Any, depth: int = 0) -> Any:
    """A value that a run file can hold and result.json too: YAML knows days and sets besides."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str | int | float):
        if isinstance(value, float):
            return real(value)
        return whole(value) if isinstance(value, int) else text(value)
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return [_plain(name, one, depth + 1) for one in value]
    if isinstance(value, Mapping) and depth < _DEEPEST:
        return {text(key): _plain(name, one, depth + 1) for key, one in value.items()}
    raise ValueError(f"texts, numbers, true and false; {name} is none (put it between quotes)")
