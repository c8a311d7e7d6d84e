"""Operations of templates that can make much from little, checked before they are carried out.

Each check takes the operation's arguments, refuses those whose result would be too large, and gives
the arguments back; what can be gone through only once comes back as a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tenbin.sandbox.templates.budget import Budget, TooMuchWork, measure

WIDEST = 100_000
"""Of a column that texts are padded to."""
_WIDEST_INDENT = 20
_LARGEST_NUMBER = 20_000
"""In bits."""
_NUMBER = re.compile(r"[0-9]{6,}")
_NESTED = re.compile(r"\{[^{}]*:[^{}]*\{")

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Check = Callable[..., Arguments]


def check_operator(budget: Budget, operator: str, left: Any, right: Any) -> None:
    """Refuse `*`, `**`, `+` and `%` where the result would be too large."""
    if operator == "%":
        if isinstance(left, str | bytes):
            check_percent(budget, left, right if isinstance(right, tuple) else (right,))
        return
    if operator == "+":
        if not isinstance(left, int | float):
            budget.check(_length(left) + _length(right))
        return
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() * (right if operator == "**" else 1)
        if bits + (right.bit_length() if operator == "*" else 0) > _LARGEST_NUMBER:
            raise TooMuchWork("it makes a number of more than 6,000 digits")
        return
    for text, times in ((left, right), (right, left)):
        if isinstance(times, int) and isinstance(text, str | bytes | list | tuple):
            budget.check(measure(text, budget) * max(times, 0))


def check_percent(budget: Budget, form: str | bytes, values: Sequence[Any]) -> None:
    """Refuse printf-like formats with wide columns or many large values."""
    text = form if isinstance(form, str) else form.decode("latin-1")
    if "*" in text and re.search(r"%[-#0 +0-9.]*\*", text):
        raise TooMuchWork("it formats with a width of `*`")
    _check_widths(text)
    largest = max((_text_length(budget, value) for value in values), default=0)
    budget.check(len(text) + text.count("%") * largest)


def check_format(budget: Budget, form: str, values: Sequence[Any]) -> None:
    """Refuse `str.format` with wide columns or many large values."""
    _check_widths(form)
    if _NESTED.search(form):
        for value in values:
            if isinstance(value, int):
                _check_width(value)
            elif isinstance(value, str):
                _check_widths(value)
    largest = max((_text_length(budget, value) for value in values), default=0)
    budget.check(len(form) + form.count("{") * largest)


def check_method(budget: Budget, method: Any, arguments: Arguments) -> Arguments:
    """Check a method of a text or a number."""
    owner = method.__self__
    if isinstance(owner, str | bytes | bytearray | int):
        check = _METHODS.get(method.__name__)
        if check is not None:
            args, named = arguments
            return check(budget, owner, *args, **named)
    return arguments


def _check_width(width: Any) -> None:
    if isinstance(width, int) and abs(width) > WIDEST:
        raise TooMuchWork(f"it pads a text to {width:,} columns; at most {WIDEST:,} are allowed")


def _check_widths(form: str) -> None:
    for number in _NUMBER.findall(form):
        if len(number) > 9:
            raise TooMuchWork("it formats with a width of more than nine digits")
        _check_width(int(number))


def _text_length(budget: Budget, value: Any) -> int:
    return len(value) if isinstance(value, str | bytes) else 4 * measure(value, budget) + 32


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | tuple) else 0


def _widths(budget: Budget, owner: Any, *args: Any, **named: Any) -> Arguments:
    for value in (*args, *named.values()):
        _check_width(value)
    return args, named


def _tabs(budget: Budget, owner: Any, tabsize: Any = 8) -> Arguments:
    _check_width(tabsize)
    if isinstance(tabsize, int):
        tab = "\t" if isinstance(owner, str) else b"\t"
        budget.check(len(owner) + owner.count(tab) * max(tabsize, 0))
    return (tabsize,), {}


def _replace(budget: Budget, owner: Any, old: Any, new: Any, count: Any = -1) -> Arguments:
    if isinstance(old, type(owner)) and isinstance(new, type(owner)):
        times = owner.count(old)
        if isinstance(count, int) and 0 <= count < times:
            times = count
        budget.check(len(owner) + times * max(len(new) - len(old), 0))
    return (old, new, count), {}


def _join(budget: Budget, owner: Any, parts: Any) -> Arguments:
    listed = parts if isinstance(parts, list | tuple) else _listed(budget, parts)
    budget.check(sum(map(_length, listed)) + len(owner) * len(listed))
    return (listed,), {}


def _translate(budget: Budget, owner: Any, table: Any) -> Arguments:
    if isinstance(table, Mapping):
        longest = max(map(_length, table.values()), default=0)
        budget.check(len(owner) * max(longest, 1))
    return (table,), {}


def _format(budget: Budget, owner: Any, *args: Any, **named: Any) -> Arguments:
    check_format(budget, owner, [*args, *named.values()])
    return args, named


def _format_map(budget: Budget, owner: Any, mapping: Any) -> Arguments:
    check_format(budget, owner, list(mapping.values()) if isinstance(mapping, Mapping) else [])
    return (mapping,), {}


_METHODS: Mapping[str, Check] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill", "to_bytes"), _widths),
    "expandtabs": _tabs,
    "replace": _replace,
    "join": _join,
    "translate": _translate,
    "format": _format,
    "format_map": _format_map,
}


def _listed(budget: Budget, values: Any) -> list[Any]:
    listed = []
    for value in values:
        budget.step()
        listed.append(value)
    return listed


# Filters: the value comes first, as Jinja hands it over.


def _filter_widths(budget: Budget, value: Any, *args: Any, **named: Any) -> Arguments:
    for one in (*args, *named.values()):
        _check_width(one)
    return (value, *args), named


def _filter_text_parts(budget: Budget, value: Any, *args: Any, **named: Any) -> Arguments:
    """For filters that put one of their arguments between lines or words of the value."""
    _filter_widths(budget, value, *args, **named)
    text = value if isinstance(value, str) else ""
    longest = max(map(_length, (*args, *named.values())), default=0)
    wide = max((one for one in (*args, *named.values()) if isinstance(one, int)), default=0)
    budget.check(len(text) + (text.count("\n") + 1) * max(longest, wide, 0))
    return (value, *args), named


def _filter_wordwrap(budget: Budget, value: Any, *args: Any, **named: Any) -> Arguments:
    _filter_widths(budget, value, *args, **named)
    longest = max(map(_length, (*args, *named.values())), default=1)
    budget.check(_length(value) * max(longest, 1))
    return (value, *args), named


def _filter_replace(budget: Budget, value: Any, old: Any, new: Any, count: Any = None) -> Arguments:
    _replace(budget, str(value), str(old), str(new), -1 if count is None else count)
    return (value, old, new, count), {}


def _filter_join(budget: Budget, value: Any, d: Any = "", attribute: Any = None) -> Arguments:
    listed = _listed(budget, value)
    if attribute is None:
        budget.check(sum(_text_length(budget, one) for one in listed) + _length(d) * len(listed))
    else:
        # Which part of each is joined is not known here, and none is larger than its whole.
        budget.check(measure(listed, budget) + _length(d) * len(listed))
    return (listed, d, attribute), {}


def _filter_format(budget: Budget, value: Any, *args: Any, **named: Any) -> Arguments:
    if isinstance(value, str):
        check_percent(budget, value, [*args, *named.values()])
    return (value, *args), named


def _filter_sum(budget: Budget, iterable: Any, attribute: Any = None, start: Any = 0) -> Arguments:
    listed = _listed(budget, iterable)
    if not isinstance(start, int | float):
        # Each sum of lists is a new list.
        budget.count(measure(listed, budget) * (len(listed) + 1) // 2)
    return (listed, attribute, start), {}


def _filter_tojson(budget: Budget, value: Any, *args: Any, **named: Any) -> Arguments:
    given = (*args, *named.values())
    indent = max((one for one in given if isinstance(one, int)), default=0)
    if indent > _WIDEST_INDENT:
        raise TooMuchWork(f"it indents JSON by {indent:,}; at most {_WIDEST_INDENT} is allowed")
    texts = [text for one in given for text in (one if isinstance(one, list | tuple) else [one])]
    longest = max(map(_length, texts), default=0)
    budget.check(measure(value, budget) * (1 + longest + indent))
    return (value, *args), named


def _filter_pprint(budget: Budget, value: Any, *args: Any, **named: Any) -> Arguments:
    if measure(value, budget) > WIDEST:
        raise TooMuchWork(f"it pretty-prints a value of more than {WIDEST:,} characters")
    return (value, *args), named


def refuse_random(*_: Any, **__: Any) -> Arguments:
    """Refuse what gives another text at every run."""
    raise TooMuchWork("it uses `lipsum` or `random`, whose text is another one at every run")


FILTERS: Mapping[str, Check] = {
    **dict.fromkeys(("center", "truncate", "batch", "slice"), _filter_widths),
    "tojson": _filter_tojson,
    "indent": _filter_text_parts,
    "wordwrap": _filter_wordwrap,
    "replace": _filter_replace,
    "join": _filter_join,
    "format": _filter_format,
    "sum": _filter_sum,
    "pprint": _filter_pprint,
    "random": refuse_random,
}
"""Checks by the name of a filter; those without one cannot make much from little."""
