"""Consoles for everything that people read: no markup, no control character of foreign text.

`Text` objects are measured before they reach the console, so views pass what they print through
`made_visible` first; the console escapes whatever is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from tenbin.sandbox.printable import visible

_T = TypeVar("_T")
_INDENT = "  "
"""Before the second and later lines of a note."""


class PlainConsole(Console):
    """A console on which `[red]` is a text of five characters and escape sequences are shown."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """Escape a text before it is measured, so that columns fit."""
        return super().render_str(visible(text), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Escape everything that is written, except rich's own styles and cursor movements."""
        for segment in super().render(renderable, options):
            # Rich removes carriage returns from texts, so a lone one is the end of a line that
            # the next one overwrites.
            if segment.control or segment.text == "\r":
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def make_console() -> Console:
    """Return a console on standard output; in a pipe, plain text 120 columns wide."""
    console = PlainConsole()
    return console if console.is_terminal else PlainConsole(width=120, color_system=None)


def make_error_console() -> Console:
    """Return a console on standard error, for progress and messages."""
    return PlainConsole(stderr=True)


def natural_width(renderable: RenderableType, console: Console) -> int:
    """Return the width that a table takes when nothing is folded."""
    return Measurement.get(console, console.options.update(width=10_000), renderable).maximum


def print_note(console: Console, text: str, style: str = "") -> None:
    """Print a line of text; in a terminal that is narrower, further lines are indented.

    In a pipe it stays one line, for programs that look for it.
    """
    line = Text(text, style=style)
    if not console.is_terminal or line.cell_len <= console.width:
        console.print(line, soft_wrap=True)
        return
    wrapped = line.wrap(console, max(console.width - len(_INDENT), 20))
    for one in wrapped:
        one.rstrip()
    first, *rest = wrapped
    console.print(first)
    for one in rest:
        console.print(Text(_INDENT).append_text(one))


def made_visible(value: _T) -> _T:
    """Return a copy with control characters escaped in every text.

    Args:
        value: A text, a record, or containers of these; keys of mappings are escaped too.
    """
    return cast(_T, _made_visible(value))


def _made_visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {_made_visible(key): _made_visible(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_made_visible(one) for one in value)
    # Commands that print no record, such as `tenbin journal`, do without this slow import.
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        # Only what was set, since `Record.states` distinguishes absent keys from null.
        stated = {name: one for name, one in value if name in value.model_fields_set}
        return value.model_copy(update=_made_visible(stated))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{one.name: _made_visible(getattr(value, one.name)) for one in fields(value)}
        )
    return value
