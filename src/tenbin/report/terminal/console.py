"""The consoles that everything for people is printed on.

They take no text for markup and send no control character of it to the terminal, wherever it comes
from. Knows rich, and no document.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tenbin.report.terminal.escape import visible


class PlainConsole(Console):
    """A console on which `[red]` is a text of five characters and an escape sequence another."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """A text made visible before it is measured, so that columns fit."""
        return super().render_str(visible(text), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is about to be written; styles and cursor movements of rich itself pass."""
        for segment in super().render(renderable, options):
            # Texts lose their carriage returns when they are made: one alone ends a line that is
            # to be drawn over.
            if segment.control or segment.text == "\r":
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def make_console() -> Console:
    """Standard output; a pipe gets plain lines wide enough for the whole table."""
    console = PlainConsole()
    return console if console.is_terminal else PlainConsole(width=120, color_system=None)


def make_error_console() -> Console:
    """Standard error, for bars and messages."""
    return PlainConsole(stderr=True)
