"""What all commands share: how one is added, how its help looks, kinds of flags that recur.

Knows no flag by name.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

Command = Callable[..., argparse.ArgumentParser]
"""Takes a name, a summary and examples, and gives the command's parser."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Keeps examples as written and lines within a terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=80)


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    examples: str = "",
) -> argparse.ArgumentParser:
    """A further command."""
    return commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=examples,
        formatter_class=Help,
        allow_abbrev=False,
    )


def add_switch(
    group: argparse.ArgumentParser | argparse._ArgumentGroup, name: str, help: str
) -> None:
    """A flag that needs no value; `false` can take back what a run file says."""
    group.add_argument(name, nargs="?", const=True, metavar="true|false", default=None, help=help)


def add_format(group: argparse.ArgumentParser | argparse._ArgumentGroup, other: str) -> None:
    """Whether a person or a program reads what is printed."""
    group.add_argument("--format", choices=("text", other), default="text", help="default: text")
