"""`--verbose`, `--quiet`, `--log_level` and `--log_file`, which every command that works has."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tenbin.errors import ConfigError

if TYPE_CHECKING:
    from tenbin.report.terminal.log import LogSettings

LEVELS = ("debug", "info", "warning", "error")


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags; a command and its actions both have them, and the last one counts."""
    group = parser.add_argument_group("messages (on standard error, results on standard output)")
    silent = argparse.SUPPRESS
    group.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        default=silent,
        help="also say which stage, file, engine and journal is at work (--log_level debug)",
    )
    group.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        default=silent,
        help="print the result and errors, no progress and no messages (--log_level error)",
    )
    group.add_argument(
        "--log_level", choices=LEVELS, default=silent, metavar="LEVEL", help=", ".join(LEVELS)
    )
    group.add_argument(
        "--log_file",
        metavar="FILE",
        default=silent,
        help="keep everything there too, debug lines included, with times; appended to",
    )


def log_settings(options: argparse.Namespace) -> LogSettings:
    """What the flags ask for.

    Raises:
        ConfigError: They contradict each other.
    """
    from tenbin.report.terminal.log import LogSettings

    given = vars(options)
    levels = {}
    # `serve` has a --verbose of its own, which logs every request.
    if given.get("verbose") and options.command != "serve":
        levels["--verbose"] = "debug"
    if given.get("quiet"):
        levels["--quiet"] = "error"
    if given.get("log_level"):
        levels[f"--log_level {given['log_level']}"] = given["log_level"]
    if len(set(levels.values())) > 1:
        raise ConfigError(f"{' and '.join(levels)} contradict each other", "give one of them")
    return LogSettings(next(iter(levels.values()), "info"), given.get("log_file"))
