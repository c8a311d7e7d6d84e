"""The parser of the whole command line, and the message about arguments that no command has.

A command is a module of this package with `add_arguments`, `execute` and, for its help, EXAMPLES.
It is imported when it is used, and imports what it needs when it runs, so that help is instant.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from tenbin.cli.exit_codes import USAGE
from tenbin.version import __version__

COMMANDS = {
    "run": "evaluate a model",
    "sweep": "run all templates of each task, and choose among them without selection bias",
    "watch": "evaluate the checkpoints of a training as they appear, and draw learning curves",
    "report": "write stored runs as one HTML file, and their charts as pictures",
    "merge": "join stored runs of one model, such as more tasks or shots, to one run",
    "export": "write scores as CSV, Markdown, LaTeX, …, or send runs to W&B or MLflow",
    "serve": "serve all runs of a folder in a browser, including unfinished ones",
    "tasks": "list tasks, templates, groups and their data",
    "data": "list the data that tasks read, or fetch it for runs without a network",
    "preview": "show exact prompts, without a model",
    "validate": "check tasks: schema, fields, labels, leaks, every template",
    "import-task": "write an lm-eval task file in tenbin's form, or a task for lm-eval",
    "compare": "compare stored runs document by document",
    "leaderboard": "show stored runs as one table of models, with rank intervals",
    "plan": "tell how many documents a difference needs, before anything is run",
    "doctor": "diagnose tasks and templates with a model's tokenizer, before loading the model",
    "consistency": "compare the answers to parallel items, language by language, from stored runs",
    "journal": "list, check, repair and prune the journals of answers",
    "schema": "print the JSON Schema of stored runs",
    "completion": "print the completion of commands, flags and tasks for a shell",
}
"""Every command, a module of this package, and its summary."""
_SHORT_USAGE = 8
"""Lines of usage that are shown above an error."""
_SILENT = ("serve", "schema", "completion")
"""Commands without flags about messages: a server has a log of requests instead."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Keeps examples as written and lines within a terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=80)

    def add_argument(self, action: argparse.Action) -> None:
        """Leave room for the names of commands, whose indent argparse does not count."""
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            longest = max(map(len, action.choices), default=0)
            room = longest + self._current_indent + 2 * self._indent_increment
            self._action_max_length = max(self._action_max_length, room)


class Parser(argparse.ArgumentParser):
    """Says what is wrong with arguments as every other error is said."""

    def error(self, message: str) -> NoReturn:
        """End with the message; a usage of forty lines in front of it would hide it."""
        from tenbin.sandbox.printable import visible

        usage = self.format_usage()
        shown = usage if usage.count("\n") <= _SHORT_USAGE else ""
        hint = f"  → `{self.prog} --help` explains every argument\n"
        self.exit(USAGE, f"{shown}tenbin: {visible(message)}\n{hint}")


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        command: The one command that it is for, with its arguments; None for all commands, with
            their summaries only. A parser takes longer to make than to use.
    """
    parser: argparse.ArgumentParser = Parser(
        prog="tenbin",
        description="tenbin (天秤): evaluate language models across templates and languages.",
        epilog="start with `make demo`, or:\n"
        "  tenbin run --model hf --model_args pretrained=smollm2-135m --tasks jnli \\\n"
        "      --sample_data",
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"tenbin {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    if command is None:
        for name, summary in COMMANDS.items():
            commands.add_parser(name, help=summary, add_help=False)
        return parser
    module = import_module(f"tenbin.cli.{command.replace('-', '_')}")
    examples = getattr(module, "EXAMPLES", "")
    added = add_command(commands, command, COMMANDS[command], examples)
    module.add_arguments(added)
    if command not in _SILENT:
        _add_log_options(added)
    return parser


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    examples: str = "",
) -> argparse.ArgumentParser:
    """Add a command, or an action of a command, and return its parser."""
    return commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=examples,
        formatter_class=Help,
        allow_abbrev=False,
    )


def _add_log_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags about messages to a command and its actions."""
    from tenbin.cli.log_flags import add_log_options

    add_log_options(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _add_log_options(below)


def add_format(group: argparse.ArgumentParser | argparse._ArgumentGroup, other: str) -> None:
    """Add `--format`, for people or for programs."""
    group.add_argument("--format", choices=("text", other), default="text", help="default: text")


def command_of(argv: Sequence[str]) -> str | None:
    """The command that a command line names; None where it names none that exists."""
    return argv[0] if argv and argv[0] in COMMANDS else None


def normalise_flags(argv: Sequence[str]) -> list[str]:
    """The arguments with flags spelt in one way.

    Hyphens and underscores are both accepted: `--num-fewshot=3` is `--num_fewshot=3`. Where the
    command reads data, `--jglue_version 1.3` is `--data_versions jglue=1.3`.
    """
    normalised = []
    for argument in argv:
        if argument.startswith("--") and len(argument) > 2:
            name, equals, value = argument.partition("=")
            argument = "--" + name[2:].replace("-", "_") + equals + value
        normalised.append(argument)
    if any("_version" in argument for argument in normalised):
        return _without_shorthands(normalised)
    return normalised


def _without_shorthands(argv: Sequence[str]) -> list[str]:
    from tenbin.config import OPTIONS, version_shorthand

    if command_of(argv) not in OPTIONS["data_versions"].commands:
        return list(argv)
    written: list[str] = []
    rest = iter(argv)
    for argument in rest:
        name, equals, value = argument.partition("=")
        collection = version_shorthand(name[2:]) if argument.startswith("--") else None
        value = value if equals or not collection else next(rest, "")
        written += ["--data_versions", f"{collection}={value}"] if collection else [argument]
    return written


def explain_command(argv: Sequence[str]) -> str | None:
    """The message about a command that does not exist; None where the command line is right."""
    first = argv[0] if argv else "--help"
    if first in COMMANDS or first in ("-h", "--help", "--version"):
        return None
    from tenbin.config.lm_eval_options import COMMANDS as LM_EVAL_COMMANDS
    from tenbin.errors import guess_at

    if first.startswith("-"):
        return f"no command before {first!r}\n  → to evaluate a model: tenbin run {first} …"
    meant = LM_EVAL_COMMANDS.get(first)
    guess = f"lm-eval's `{first}` is `tenbin {meant}`; " if meant else guess_at(first, COMMANDS)
    return f"unknown command {first!r}\n  → {guess}commands: {', '.join(COMMANDS)}"


def explain_unknown(unknown: Sequence[str], command: str | None, argv: Sequence[str] = ()) -> str:
    """The message about arguments that the command does not have.

    Args:
        unknown: The arguments.
        command: The command.
        argv: The whole command line, which shows the flag that a stray value follows.
    """
    from difflib import get_close_matches

    from tenbin.config.lm_eval_options import hint_for_flag

    written = unknown[0].partition("=")[0]
    hint = _hint_for_stray_value(unknown[0], argv) or hint_for_flag(written)
    if command == "validate" and written in ("--tasks", "-t"):
        hint = "name tasks without a flag: tenbin validate TASK …"
    if hint:
        return f"unknown argument {unknown[0]!r}\n  → {hint}"
    close = get_close_matches(written, _flags_of(build_parser(command), command), n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"unknown argument {unknown[0]!r}\n  → {guess}`tenbin {command} --help` lists all"


def _hint_for_stray_value(written: str, argv: Sequence[str]) -> str:
    """The hint for `--tasks a b`: lm-eval separates values by spaces, tenbin by commas."""
    if written.startswith("-") or written not in argv:
        return ""
    before = list(argv[: argv.index(written)])
    if before[-1:] in (["-v"], ["--verbose"]):
        from tenbin.config.lm_eval_options import hint_for_name

        return hint_for_name("verbosity")
    values: list[str] = []
    while before and not before[-1].startswith("--"):
        values.insert(0, before.pop())
    if not values or not before or "=" in before[-1]:
        return ""
    return f"separate the values of {before[-1]} by commas: {','.join([*values, written])}"


def _flags_of(parser: argparse.ArgumentParser, command: str | None) -> list[str]:
    """All flags of a command, those of its actions included."""
    flags = [] if command else list(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                flags += _flags_of(below, None) if command in (None, name) else []
    return flags
