"""Flags of `tenbin journal`: what becomes of answers that were written down."""

from __future__ import annotations

import argparse
from functools import partial

from tenbin.cli.arguments.command import Command, add_command

_SUMMARY = "list, check, repair and prune the journals of answers"
_ABOUT = """Every answer of a model is written to a journal when it arrives, one file a
model, so that a run goes on where it stopped and a second run asks nothing
twice. Deleting a journal loses nothing but time (docs/journal.md).

examples:
  tenbin journal show                     all journals, the latest used first
  tenbin journal show 3f2a                one, by the beginning of its name
  tenbin journal check                    read every answer of every journal
  tenbin journal repair PATH              save what is whole
  tenbin journal prune --older_than 90d   what would go; --yes removes it
"""
_SHOW = """examples:
  tenbin journal show
  tenbin journal show --cache_dir /scratch/tenbin
  tenbin journal show 3f2a
"""
_CHECK = """Reads every row: its digest must fit, its fields must have their types, and
SQLite must find the file whole. Changes nothing, and may be used while a run
goes on. The exit code is 1 where anything is wrong.

examples:
  tenbin journal check
  tenbin journal check 3f2a
"""
_REPAIR = """Reads the file page by page, takes every answer whose digest fits, and puts a
fresh journal of these in its place. The damaged file stays beside it as
NAME.sqlite.damaged. What could not be saved is asked again by the next run.
A journal that is whole is left alone, and one that a run is using is refused.

examples:
  tenbin journal repair 3f2a
  tenbin journal repair ~/.cache/tenbin/journal/3f2a….sqlite
"""
_PRUNE = """Removes whole journals. Without --yes nothing is removed: what would go is
listed. Several conditions must all hold. Journals of runs that are going on
always stay.

examples:
  tenbin journal prune --older_than 90d
  tenbin journal prune --model smollm2 --yes
  tenbin journal prune --max_size 10G --yes    the longest unused go first
  tenbin journal prune --damaged --yes         copies that repair kept
"""


def add_journal(command: Command) -> None:
    """`tenbin journal show | check | repair | prune`."""
    parser = command("journal", _SUMMARY, _ABOUT)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    action = partial(add_command, actions)
    show = action("show", "list journals, or say all that is known of one", _SHOW)
    _add_place(show, "?")
    check = action("check", "read every answer and say what is damaged", _CHECK)
    _add_place(check, "?")
    repair = action("repair", "save the answers of a damaged journal that are whole", _REPAIR)
    _add_place(repair, None)
    _add_prune(action("prune", "remove journals by age, model or size", _PRUNE))


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--older_than", metavar="AGE", help="not used for so long: 12h, 30d, 8w")
    parser.add_argument(
        "--model", metavar="NAME", help="part of the model's name, or a pattern with *"
    )
    parser.add_argument(
        "--max_size", metavar="SIZE", help="until all journals together are this small: 500M, 10G"
    )
    parser.add_argument(
        "--damaged", action="store_true", help="the damaged files that `repair` kept, and no other"
    )
    sure = parser.add_mutually_exclusive_group()
    sure.add_argument("--yes", action="store_true", help="remove them")
    sure.add_argument("--dry_run", action="store_true", help="only list them (the default)")
    _add_cache(parser)


def _add_place(parser: argparse.ArgumentParser, count: str | None) -> None:
    optional = " (default: all)" if count else ""
    parser.add_argument(
        "journal",
        nargs=count,
        metavar="JOURNAL",
        help=f"a file, or the beginning of its name under --cache_dir{optional}",
    )
    _add_cache(parser)


def _add_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cache_dir",
        metavar="DIR",
        help="whose folder `journal` it is (default: TENBIN_CACHE, or ~/.cache/tenbin)",
    )
