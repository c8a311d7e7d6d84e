"""The whole command line, and what is said of arguments that no command takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from tenbin.cli.arguments.command import Help, add_command
from tenbin.cli.arguments.comparing import add_compare, add_consistency, add_schema
from tenbin.cli.arguments.keeping import add_journal
from tenbin.cli.arguments.preparing import add_doctor, add_preview, add_tasks, add_validate
from tenbin.cli.arguments.reporting import add_report, add_serve
from tenbin.cli.arguments.running import add_run, add_sweep
from tenbin.config.building import version_shorthand
from tenbin.version import __version__

_READS_DATA = frozenset({"run", "sweep", "preview", "validate", "doctor"})


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="tenbin",
        description="tenbin (天秤): weigh language models across prompt templates and languages.",
        epilog="start with `make demo`, or:\n"
        "  tenbin run --model hf --model_args pretrained=smollm2-135m --tasks jnli \\\n"
        "      --sample_data",
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"tenbin {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    command = partial(add_command, commands)
    add_run(command)
    add_sweep(command)
    add_report(command)
    add_serve(command)
    add_tasks(command)
    add_preview(command)
    add_validate(command)
    add_compare(command)
    add_doctor(command)
    add_consistency(command)
    add_journal(command)
    add_schema(command)
    return parser


def normalise_flags(argv: Sequence[str]) -> list[str]:
    """`--num-fewshot=3` as `--num_fewshot=3`: hyphens and underscores are both accepted."""
    normalised = []
    for argument in argv:
        if argument.startswith("--") and len(argument) > 2:
            name, equals, value = argument.partition("=")
            argument = "--" + name[2:].replace("-", "_") + equals + value
        normalised.append(argument)
    return _without_shorthands(normalised)


def _without_shorthands(argv: Sequence[str]) -> list[str]:
    """`--jglue_version 1.3` as `--data_versions jglue=1.3`, where the command reads data."""
    if not argv or argv[0] not in _READS_DATA:
        return list(argv)
    written: list[str] = []
    rest = iter(argv)
    for argument in rest:
        name, equals, value = argument.partition("=")
        suite = version_shorthand(name[2:]) if argument.startswith("--") else None
        value = value if equals or not suite else next(rest, "")
        written += ["--data_versions", f"{suite}={value}"] if suite else [argument]
    return written


def explain_unknown(unknown: Sequence[str], command: str | None) -> str:
    """What to say of arguments that no command takes."""
    from difflib import get_close_matches

    known = _flags_of(build_parser(), command)
    written = unknown[0].partition("=")[0]
    close = get_close_matches(written, known, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"unknown argument {unknown[0]!r}\n  → {guess}`tenbin {command} --help` lists all"


def _flags_of(parser: argparse.ArgumentParser, command: str | None) -> list[str]:
    """All flags of a command, those of its actions included."""
    flags = [] if command else list(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                flags += _flags_of(below, None) if command in (None, name) else []
    return flags
