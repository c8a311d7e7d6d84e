"""Options of a run as flags: `RunConfig`'s declarations to argparse, and what was given to values.

Imported by a command when its arguments are added: `tenbin --help` needs none of this.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tenbin.config import OPTIONS, RunConfig, check_values, complete_config, read_run_file
from tenbin.config.options import GROUPS, Group, Option

_NOTHING: Mapping[Any, str] = MappingProxyType({})


def add_options(
    parser: argparse.ArgumentParser,
    command: str,
    helps: Mapping[str, str] = _NOTHING,
    titles: Mapping[Group, str] = _NOTHING,
    first: Group | None = None,
) -> dict[Group, argparse._ArgumentGroup]:
    """Add the flags of every option that the command has.

    Args:
        parser: The command's parser.
        command: Its name.
        helps: Option → help text, where it means something else to this command.
        titles: Group → heading, where it holds something else in this command.
        first: The group that comes before all others.

    Returns:
        The groups of the help, for flags of the command's own.
    """
    made = {}
    for group in sorted(GROUPS, key=lambda one: one is not first):
        chosen = [one for one in OPTIONS.values() if one.group is group and command in one.commands]
        if chosen:
            made[group] = parser.add_argument_group(titles.get(group, group.title))
            for one in chosen:
                _add_flag(made[group], one, helps.get(one.name, one.help))
    return made


def _add_flag(group: argparse._ArgumentGroup, option: Option, help: str) -> None:
    help = help.replace("%", "%%")  # argparse fills in what stands behind a per cent sign
    if option.kind.is_switch:
        # `false` takes back what a run file says.
        group.add_argument(
            f"--{option.name}", nargs="?", const=True, metavar="true|false", help=help
        )
    else:
        action = "append" if option.repeatable else "store"
        group.add_argument(f"--{option.name}", action=action, metavar=option.metavar, help=help)


def flags_of(options: argparse.Namespace, *without: str) -> dict[str, Any]:
    """The options of a run that were given as flags, in their types.

    Args:
        options: What argparse has read.
        without: Options whose flag has a meaning of its own in this command.
    """
    given = {name: value for name, value in vars(options).items() if name in OPTIONS}
    return check_values({name: given[name] for name in given if name not in without})


def given_options(options: argparse.Namespace, *without: str) -> dict[str, Any]:
    """The options of a run file, if there is one, overridden by flags."""
    flags = flags_of(options, *without)
    if not options.config:
        return flags
    return {**without_other_source(read_run_file(options.config), flags), **flags}


def config_from(options: argparse.Namespace) -> RunConfig:
    """A checked config from a run file, if there is one, and flags."""
    return complete_config(given_options(options))


def without_other_source(given: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """A file's options without the data source that a flag replaces.

    `--data_dir` and `--sample_data` exclude each other, so that a flag for one drops the other.
    """
    other = {"data_dir": "sample_data", "sample_data": "data_dir"}
    dropped = {other[name] for name in other if flags.get(name)}
    return {name: value for name, value in given.items() if name not in dropped}
