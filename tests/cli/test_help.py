"""Every help text: within 80 columns, with nothing left of how it is written."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from tenbin.cli.parser import COMMANDS, build_parser


def _below(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield below
                yield from _below(below)


def _helps(command: str) -> list[str]:
    top = build_parser(command)
    choices = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction)).choices
    parser = choices[command]
    return [one.format_help() for one in [parser, *_below(parser)]]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_and_is_formatted(command: str) -> None:
    for text in _helps(command):
        assert [line for line in text.splitlines() if len(line) > 80] == []
        for leftover in ("%%", "%(", "{default}"):
            assert leftover not in text


def test_per_cent_signs_are_shown_once() -> None:
    (run,) = _helps("run")
    assert "95 % interval" in run
    (plan,) = _helps("plan")
    assert "5% level" in plan


def test_commands_and_their_summaries_stand_in_one_line() -> None:
    text = build_parser().format_help()
    assert max(map(len, text.splitlines())) <= 80
    for name, summary in COMMANDS.items():
        (line,) = [one for one in text.splitlines() if one.split()[:1] == [name]]
        assert summary.startswith(line.split(maxsplit=1)[1])
