"""`tenbin completion`: the completion of commands, flags and tasks, as a script for a shell."""

from __future__ import annotations

import argparse

EXAMPLES = """The script knows commands, flags and what they take. Names of tasks and suites
are asked for when they are first needed.

examples:
  eval "$(tenbin completion bash)"          in ~/.bashrc
  eval "$(tenbin completion zsh)"           in ~/.zshrc, after compinit
  tenbin completion fish > ~/.config/fish/completions/tenbin.fish
"""
SHELLS = ("bash", "zsh", "fish")
_NAMES = ("tasks", "ids", "suites")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin completion`."""
    parser.add_argument("shell", nargs="?", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")
    parser.add_argument(
        "--names", choices=_NAMES, help="print these names instead, which the scripts ask for"
    )


def execute(options: argparse.Namespace) -> int:
    """Print the script, or names."""
    from tenbin.cli import completion_words
    from tenbin.errors import ConfigError

    if options.names:
        names = {
            "tasks": completion_words.task_names,
            "ids": completion_words.task_ids,
            "suites": completion_words.suite_names,
        }
        print("\n".join(names[options.names]()))
        return 0
    if options.shell is None:
        raise ConfigError("no shell was named", f"tenbin completion {'|'.join(SHELLS)}")

    from tenbin.cli.completion_scripts import WRITERS

    print(WRITERS[options.shell](completion_words.all_words()), end="")
    return 0
