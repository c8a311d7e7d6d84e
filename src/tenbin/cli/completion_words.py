"""The words that a shell completes: commands, their flags and actions, and what flags take."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from tenbin.cli.parser import COMMANDS, build_parser

LISTED = ("tasks", "suite")
"""Flags whose values are names of tasks or suites, separated by commas."""
_TASK_NAMES = ("TASK", "TASK_OR_FILE", "PATTERN")
"""Metavars of arguments that name tasks."""


@dataclass(frozen=True, slots=True)
class CommandWords:
    """What follows a command, or an action of one, such as `journal show`."""

    name: str
    summary: str
    flags: dict[str, str]
    """Flag → its help."""
    values: dict[str, tuple[str, ...]]
    """Flag → the words that it takes, where these are all."""
    actions: tuple[str, ...]
    """Words of which one comes first."""
    takes_tasks: bool
    """Whether its own arguments are names of tasks."""


def all_words() -> list[CommandWords]:
    """The words of every command, and of the actions of commands that have some."""
    found: list[CommandWords] = []
    for name, summary in COMMANDS.items():
        top = build_parser(name)
        parser = _actions_of(top)[name]
        found.append(_words(name, summary, parser))
        for action, below in _actions_of(parser).items():
            found.append(_words(f"{name} {action}", below.description or "", below))
    return found


def task_names() -> list[str]:
    """Names of tasks, groups and averages, from summaries: no task file is read."""
    from tenbin.tasks.summary import averages, catalogue

    summaries = [one.summary for one in catalogue()]
    groups = [one.group for one in summaries if one.group]
    names = [*(one.name for one in averages()), *groups, *(one.name for one in summaries)]
    return sorted(set(names))


def task_ids() -> list[str]:
    """Every id: task, version and template."""
    from tenbin.tasks.summary import catalogue

    return sorted(
        {
            f"{one.name}-{one.version}-{template}"
            for one, _ in catalogue()
            for template in one.templates
        }
    )


def suite_names() -> list[str]:
    """Names of suites."""
    from tenbin.tasks.groups import suite_definitions

    return list(suite_definitions())


def _actions_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _words(name: str, summary: str, parser: argparse.ArgumentParser) -> CommandWords:
    flags: dict[str, str] = {}
    values: dict[str, tuple[str, ...]] = {}
    takes_tasks = False
    for action in parser._actions:
        if not action.option_strings:
            takes_tasks |= action.metavar in _TASK_NAMES
            continue
        for flag in action.option_strings:
            flags[flag] = (action.help or "").replace("%%", "%")
            if words := _values(flag, action):
                values[flag] = words
    return CommandWords(name, summary, flags, values, tuple(_actions_of(parser)), takes_tasks)


def _values(flag: str, action: argparse.Action) -> tuple[str, ...]:
    """The words that a flag takes; nothing where they cannot be listed, or are files."""
    from tenbin.backends.registry import backend_names
    from tenbin.config import OPTIONS
    from tenbin.config.profiles import PROFILES
    from tenbin.report.export.formats import FORMATS, TRACKERS
    from tenbin.report.html.messages import LANGUAGES

    if action.nargs == 0:
        return ()
    if action.choices is not None:
        return tuple(str(one) for one in action.choices)
    named: dict[str, tuple[str, ...]] = {
        "--device": ("cpu", "cuda", "mps", "auto"),
        "--language": LANGUAGES,
        "--log_level": ("debug", "info", "warning", "error"),
        "--model": tuple(backend_names()),
        "--profile": tuple(PROFILES),
        "--to": (*FORMATS, *TRACKERS),
    }
    option = OPTIONS.get(flag.removeprefix("--"))
    if option is None or action.dest != option.name:
        return named.get(flag, ())
    if option.kind.is_switch:
        return ("true", "false")
    return named.get(flag, option.kind.choices)
