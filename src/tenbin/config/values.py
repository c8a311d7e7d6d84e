"""Kinds of option values: how a value from a flag, a run file or Python becomes its type.

Each function returns the value in its type or raises a ValueError whose text completes "takes …":
"a whole number". A `Kind` joins such a function with the type that Python callers may pass.

Limits are imported where they are used: this module is read for `--help`, which should be instant.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

CROSSFIT = "crossfit"
DECIDED = "decided"
_MOST = 10**18
"""Below what 64 bits hold: databases and tables keep numbers in them."""
_DEEPEST = 8
_MOST_TAGS, _LONGEST_TAG, _LONGEST_NOTE = 20, 60, 1_000
"""More would not be legible in a list of runs."""


class Kind(NamedTuple):
    """How an option's value is read, and what Python callers may pass."""

    parse: Callable[[Any], Any]
    python: str
    """The type of the keyword in Python."""
    is_switch: bool = False
    """Whether the flag needs no value."""
    choices: tuple[str, ...] = ()
    """The words that it takes, where these are all."""


def text(value: Any) -> str:
    """A string; a number that YAML made of one is turned back."""
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
    """A path, as a string."""
    return text(os.fspath(value) if isinstance(value, os.PathLike) else value)


def flag(value: Any) -> bool:
    """True or false, also as written on a command line."""
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


def positive_up_to(limit: str) -> Callable[[Any], int]:
    """A whole number above 0, up to the limit of that name in `tenbin.records`."""

    def parse(value: Any) -> int:
        most = _limit(limit)
        if (number := positive(value)) > most:
            raise ValueError(f"a whole number above 0, up to {most:,}")
        return number

    return parse


def zero_up_to(limit: str, accepted: str) -> Callable[[Any], int]:
    """A whole number from 0 to the limit of that name in `tenbin.records`."""

    def parse(value: Any) -> int:
        most = _limit(limit)
        if not 0 <= (number := whole(value)) <= most:
            raise ValueError(accepted.format(most=most))
        return number

    return parse


def _limit(name: str) -> int:
    from tenbin import records

    return int(getattr(records, name))


def real(value: Any) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError("a number")
    return number


def above_zero(value: Any) -> float:
    """A number above 0."""
    if (number := real(value)) <= 0:
        raise ValueError("a number above 0")
    return number


def whole_or_fraction(value: Any) -> float:
    """A whole number of 0 or more, or a fraction below 1."""
    number = real(value)
    if number < 0 or (number > 1 and number != int(number)):
        raise ValueError("a whole number, or a fraction below 1")
    return number


def fraction(value: Any) -> float:
    """A share between 0 and 1, such as 0.05 or 5%."""
    text = str(value).strip()
    number = real(text[:-1]) / 100 if text.endswith("%") else real(value)
    if not 0 < number < 1:
        raise ValueError("a share between 0 and 1, such as 0.05 or 5%")
    return number


def one_of(*allowed: str) -> Callable[[Any], str]:
    """One of these words."""

    def parse(value: Any) -> str:
        if str(value) not in allowed:
            raise ValueError(f"one of: {', '.join(allowed)}")
        return str(value)

    return parse


def split_list(value: Any) -> list[Any]:
    """A list as it is, a comma-separated text in parts, any other value as a list of one."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value]


def names(value: Any) -> tuple[str, ...]:
    """Strings, joined by commas or in a list."""
    return tuple(text(part) for part in split_list(value))


def trackers(value: Any) -> tuple[str, ...]:
    """Programs that a run is shown in."""
    given = tuple(dict.fromkeys(names(value)))
    if any(name not in ("wandb", "mlflow") for name in given):
        raise ValueError("wandb, mlflow, or both joined by a comma")
    return given


def tags(value: Any) -> tuple[str, ...]:
    """Short names, each once."""
    found = tuple(dict.fromkeys(names(value)))
    if any(len(one) > _LONGEST_TAG for one in found) or len(found) > _MOST_TAGS:
        raise ValueError(f"up to {_MOST_TAGS} names of at most {_LONGEST_TAG} characters")
    return found


def note(value: Any) -> str:
    """A text of a few sentences."""
    found = text(value)
    if len(found) > _LONGEST_NOTE:
        raise ValueError(f"a text of at most {_LONGEST_NOTE} characters")
    return found


def shots(value: Any) -> tuple[int, ...]:
    """Numbers of few-shot examples."""
    most = _limit("MOST_SHOTS")
    numbers = tuple(whole(part) for part in split_list(value))
    if not numbers or any(not 0 <= number <= most for number in numbers):
        raise ValueError(f"whole numbers of 0 or more, up to {most:,}")
    return numbers


def limits(value: Any) -> tuple[float, ...]:
    """Numbers of documents, or fractions of all."""
    try:
        numbers = tuple(float(part) for part in split_list(value))
    except (TypeError, ValueError):
        numbers = ()
    usable = all(n > 0 and (n < 1 or n.is_integer()) for n in numbers)
    if not numbers or not usable or isinstance(value, bool):
        raise ValueError("whole numbers above 0, or fractions between 0 and 1")
    return numbers


def until(value: Any) -> tuple[float, ...] | str:
    """Half widths of intervals in points, such as ±2, or `decided`."""
    if value == DECIDED:
        return DECIDED
    try:
        written = [str(part).removeprefix("+/-").removeprefix("+-") for part in split_list(value)]
        numbers = tuple(above_zero(one.removeprefix("±")) for one in written)
    except ValueError:
        numbers = ()
    if not numbers or any(number >= 50 for number in numbers) or isinstance(value, bool):
        raise ValueError("half a width in points, such as ±2 (above 0, below 50), or decided")
    return numbers


def batch_size(value: Any) -> int | str:
    """Rows per batch, or `auto`."""
    if value == "auto":
        return "auto"
    try:
        return positive(value)
    except ValueError:
        raise ValueError("auto, or a whole number above 0") from None


def selection(value: Any) -> str:
    """Where a template is chosen: `crossfit`, or SPLIT:N."""
    split, colon, count = str(value).rpartition(":")
    if value == CROSSFIT or (
        colon and split.strip() and count.isdecimal() and 0 < len(count) < 19 and int(count) > 0
    ):
        return str(value)
    raise ValueError("crossfit, or SPLIT:N such as train:200")


def budget(value: Any) -> int:
    """A budget in full runs: 4, or `4x`."""
    most = _limit("MOST_SHOTS")
    try:
        number = whole(value.removesuffix("x") if isinstance(value, str) else value)
    except ValueError:
        number = 0
    if not 2 <= number <= most:
        raise ValueError(f"a whole number of full runs from 2 to {most:,}, such as 4x")
    return number


def follow_up(value: Any) -> str:
    """What follows a sweep on a budget: `best:N`."""
    best, _, count = str(value).partition(":")
    if best == "best" and count.isdecimal() and int(count[:9]) > 0 and len(count) < 4:
        return str(value)
    raise ValueError("best:N such as best:3, the leading prompts to run in full")


def parse_model_args(value: Any) -> dict[str, Any]:
    """`pretrained=PATH,dtype=float32` as a mapping; a mapping stays as it is."""
    if isinstance(value, Mapping):
        return {text(name): _plain(text(name), content) for name, content in value.items()}
    arguments: dict[str, Any] = {}
    for part in split_list(value):
        name, equals, content = str(part).partition("=")
        if not equals or not name.strip():
            lacking = "name" if equals else "="
            raise ValueError(f"name=value pairs joined by commas ({part!r} has no {lacking})")
        if name.strip() in arguments:
            raise ValueError(f"each name once; {name.strip()!r} is given twice")
        arguments[text(name.strip())] = text(content.strip())
    return arguments


def _plain(name: str, value: Any, depth: int = 0) -> Any:
    """A value that a run file and result.json can both hold; YAML also has dates and sets."""
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


def versions(value: Any) -> dict[str, str]:
    """`jglue=1.3` as a mapping of collections of data sets to versions."""
    if isinstance(value, list | tuple):
        value = ",".join(text(part) for part in value)
    return {collection: text(version) for collection, version in parse_model_args(value).items()}


def _temperature(value: Any) -> float:
    if (number := real(value)) < 0:
        raise ValueError("a number of 0 or more")
    return number


def _probability(value: Any) -> float:
    if not 0 < (number := real(value)) <= 1:
        raise ValueError("a number above 0, up to 1")
    return number


_GENERATION: dict[str, Callable[[Any], Any]] = {
    "do_sample": flag,
    "temperature": _temperature,
    "top_p": _probability,
    "top_k": zero_up_to("MOST_TOKENS", "a whole number above 0, or 0 for all tokens"),
    "max_gen_toks": positive_up_to("MOST_TOKENS"),
}


def gen_kwargs(value: Any) -> dict[str, Any]:
    """Generation settings by name, each of its kind."""
    given: dict[str, Any] = {}
    for name, content in parse_model_args(value).items():
        if name not in _GENERATION:
            from difflib import get_close_matches

            close = get_close_matches(name, _GENERATION, n=1, cutoff=0.7)
            guess = f", did you mean {close[0]}?" if close else ""
            raise ValueError(f"{', '.join(_GENERATION)} (no {name}{guess})")
        try:
            given[name] = _GENERATION[name](content)
        except ValueError as error:
            raise ValueError(f"{error} as {name}") from None
    return given


def thinking_marks(value: Any) -> tuple[str, ...]:
    """The marks around a thinking section, or none; YAML reads on and off as true and false."""
    if value is True or value in ("on", "true"):
        from tenbin.records import Thinking

        return (Thinking().opening, Thinking().closing)
    # An empty list is what a stored run has for none.
    if value is False or value in ("off", "false", [], ()):
        return ()
    given = split_list(value) if isinstance(value, str | list | tuple) else []
    both = tuple(str(mark).strip() for mark in given)
    if len(both) == 2 and all(both):
        return both
    raise ValueError("on, off, or the two marks around the thinking section as OPENING,CLOSING")


def template_args(value: Any) -> dict[str, Any]:
    """Variables of a chat template; texts of a command line in the types that a template tests."""
    known = {"true": True, "false": False, "none": None, "null": None}
    given = {}
    for name, content in parse_model_args(value).items():
        if not name.isidentifier():
            raise ValueError(f"names of variables; {name!r} is none")
        if isinstance(content, str):
            content = known.get(content.lower(), whole(content) if content.isdecimal() else content)
        given[name] = content
    return given


TEXT = Kind(text, "str")
PATH = Kind(path, "str | os.PathLike[str]")
SWITCH = Kind(flag, "bool", is_switch=True)
WHOLE = Kind(whole, "int")
POSITIVE = Kind(positive, "int")
NUMBER = Kind(above_zero, "float")
SHARE = Kind(whole_or_fraction, "float")
FRACTION = Kind(fraction, "float | str")
NAMES = Kind(names, "str | Sequence[str]")
TRACKERS = Kind(trackers, "str | Sequence[str]")
TAGS = Kind(tags, "str | Sequence[str]")
NOTE = Kind(note, "str")
SHOTS = Kind(shots, "int | str | Sequence[int]")
LIMITS = Kind(limits, "float | str | Sequence[float]")
UNTIL = Kind(until, "float | str | Sequence[float]")
BATCH_SIZE = Kind(batch_size, 'int | Literal["auto"]')
SELECTION = Kind(selection, "str")
BUDGET = Kind(budget, "int | str")
FOLLOW_UP = Kind(follow_up, "str")
ARGUMENTS = Kind(parse_model_args, "str | Mapping[str, Any]")
VERSIONS = Kind(versions, "str | Mapping[str, str]")
GENERATION = Kind(gen_kwargs, "str | Mapping[str, Any]")
MARKS = Kind(thinking_marks, "bool | str | Sequence[str]")
VARIABLES = Kind(template_args, "str | Mapping[str, Any]")


def choice(*allowed: str) -> Kind:
    """One of these words."""
    quoted = ", ".join(f'"{word}"' for word in allowed)
    return Kind(one_of(*allowed), f"Literal[{quoted}]", choices=allowed)


def count_up_to(limit: str) -> Kind:
    """A whole number above 0, up to the limit of that name in `tenbin.records`."""
    return Kind(positive_up_to(limit), "int")


def zero_or_more(limit: str) -> Kind:
    """A whole number from 0 to the limit of that name in `tenbin.records`."""
    return Kind(zero_up_to(limit, "a whole number of 0 or more, up to {most:,}"), "int")
