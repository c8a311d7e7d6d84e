"""`tenbin journal`: list, check, repair and prune the journals of answers."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tenbin.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tenbin.journal.check import Checked

EXAMPLES = """Every answer of a model is written to a journal when it arrives, one file per
model, so that a stopped run continues and a second run asks nothing twice.
Deleting a journal loses nothing but time (docs/journal.md).

examples:
  tenbin journal show                     all journals, the latest used first
  tenbin journal show 3f2a                one, by the first letters of its name
  tenbin journal check                    read every answer of every journal
  tenbin journal repair PATH              save the answers that are intact
  tenbin journal prune --older_than 90d   what would go; --yes removes it
"""
_SHOW = """examples:
  tenbin journal show
  tenbin journal show --cache_dir /scratch/tenbin
  tenbin journal show 3f2a
"""
_CHECK = """Reads every row: its digest must match, its fields must have their types, and
SQLite must find the file intact. Changes nothing, and is safe during a run.
The exit code is 1 if anything is wrong.

examples:
  tenbin journal check
  tenbin journal check 3f2a
"""
_REPAIR = """Reads the file page by page, takes every answer whose digest matches, and puts
a new journal with these in its place. The damaged file is kept beside it as
NAME.sqlite.damaged. The next run asks again for what could not be saved. An
intact journal is left alone, and one that a run is using is refused.

examples:
  tenbin journal repair 3f2a
  tenbin journal repair ~/.cache/tenbin/journal/3f2a….sqlite
"""
_PRUNE = """Removes whole journals. Without --yes nothing is removed; what would go is
listed. If there are several conditions, all must hold. Journals of runs in
progress are always kept.

examples:
  tenbin journal prune --older_than 90d
  tenbin journal prune --model smollm2 --yes
  tenbin journal prune --max_size 10G --yes    the longest unused go first
  tenbin journal prune --damaged --yes         copies that repair kept
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions show, check, repair and prune."""
    from tenbin.cli.parser import add_command

    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = add_command(actions, "show", "list journals, or describe one", _SHOW)
    _add_place(show, "?")
    check = add_command(actions, "check", "read every answer and report damage", _CHECK)
    _add_place(check, "?")
    repair = add_command(actions, "repair", "save the intact answers of a journal", _REPAIR)
    _add_place(repair, None)
    prune = add_command(actions, "prune", "remove journals by age, model or size", _PRUNE)
    _add_prune(prune)


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--older_than", metavar="AGE", help="unused for this long: 12h, 30d, 8w")
    parser.add_argument(
        "--model", metavar="NAME", help="part of the model's name, or a pattern with *"
    )
    parser.add_argument(
        "--max_size", metavar="SIZE", help="until all journals together are this small: 500M, 10G"
    )
    parser.add_argument(
        "--damaged", action="store_true", help="only the damaged files that `repair` kept"
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
        help=f"a file, or the first letters of its name under --cache_dir{optional}",
    )
    _add_cache(parser)


def _add_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cache_dir",
        metavar="DIR",
        help="folder that holds `journal` (default: TENBIN_CACHE, or ~/.cache/tenbin)",
    )


def execute(options: argparse.Namespace) -> int:
    """Perform the action; the exit code is 1 if a check has found damage."""
    from pathlib import Path

    from tenbin.data import cache_directory

    cache = Path(options.cache_dir) if options.cache_dir else cache_directory()
    actions = {"show": _show, "check": _check, "repair": _repair, "prune": _prune}
    return actions[options.action](options, cache / "journal")


def _say(text: str) -> None:
    from tenbin.report.terminal.console import make_console

    make_console().print(text, highlight=False, markup=False, soft_wrap=True)


def _show(options: argparse.Namespace, folder: Path) -> int:
    from tenbin.journal.repair import find_kept
    from tenbin.journal.show import choose_journal, describe_journal, find_journals
    from tenbin.report.terminal.journals import print_journal, print_journals

    if options.journal:
        print_journal(describe_journal(choose_journal(options.journal, folder)))
        return 0
    journals = [describe_journal(path) for path in find_journals(folder)]
    if not journals:
        _say(f"no journals in {folder}")
        return 0
    print_journals(folder, sorted(journals, key=lambda one: -one.last_used))
    kept = find_kept(folder)
    if kept:
        _say(f"damaged files kept by repairs: {len(kept)}; see `tenbin journal prune --damaged`")
    return 0


def _check(options: argparse.Namespace, folder: Path) -> int:
    from tenbin.journal.check import check_journal
    from tenbin.journal.show import choose_journal, find_journals

    paths = [choose_journal(options.journal, folder)] if options.journal else find_journals(folder)
    if not paths:
        _say(f"no journals in {folder}")
    bad = 0
    for path in paths:
        with _progress(f"checking {path.stem[:8]}") as progress:
            checked = check_journal(path, progress)
        bad += not checked.is_whole
        _say(_line(checked))
    return 1 if bad else 0


def _line(checked: Checked) -> str:
    parts = [] if checked.fault else [f"{checked.good:,} answers are intact"]
    if checked.bad:
        parts.append(f"{checked.bad:,} are damaged ({'; '.join(checked.reasons)})")
    if checked.lost_sources:
        parts.append(f"{checked.lost_sources:,} descriptions of engines are damaged")
    if checked.fault:
        parts.append(checked.fault)
    if not checked.has_digests:
        parts.append("written before there were digests: only the format could be checked")
    mark = "✓" if checked.is_whole else "✗"
    remedy = "" if checked.is_whole else f"\n  → tenbin journal repair {checked.path}"
    return f"{mark} {checked.path.name}: {', '.join(parts)}{remedy}"


def _repair(options: argparse.Namespace, folder: Path) -> int:
    from tenbin.journal.repair import repair_journal
    from tenbin.journal.show import choose_journal

    path = choose_journal(options.journal, folder)
    with _progress(f"reading {path.stem[:8]}") as progress:
        repaired = repair_journal(path, progress)
    if repaired.kept is None:
        _say(f"{path} is intact: {repaired.saved:,} answers; nothing was changed")
        return 0
    _say(f"{path}: {repaired.saved:,} answers were saved; the next run asks for the rest again")
    if not repaired.found.has_digests:
        _say("it has no digests, so that damaged answers among them cannot be recognised")
    _say(f"the damaged file is kept: {repaired.kept}")
    return 0


def _prune(options: argparse.Namespace, folder: Path) -> int:
    import time

    from tenbin.journal.prune import choose_to_prune, read_age, read_size, remove_journal
    from tenbin.journal.repair import find_kept, remove_kept
    from tenbin.journal.show import describe_journal, find_journals

    given = [options.older_than, options.model, options.max_size]
    if options.damaged == any(one is not None for one in given):
        raise ConfigError(
            "--damaged cannot be combined with other conditions"
            if options.damaged
            else "no condition says which journals to remove",
            "name --older_than, --model or --max_size, or --damaged alone",
        )
    if options.damaged:
        paths, remove = find_kept(folder), remove_kept
        for path in paths:
            _say(f"{path}")
    else:
        from tenbin.report.terminal.journals import print_journals

        remove = remove_journal
        going = choose_to_prune(
            [describe_journal(path) for path in find_journals(folder)],
            time.time(),
            read_age(options.older_than) if options.older_than is not None else None,
            options.model,
            read_size(options.max_size) if options.max_size is not None else None,
        )
        paths = [one.path for one in going]
        if going:
            print_journals(folder, going)
    return _remove(paths, remove, options.yes)


def _remove(paths: list[Path], remove: Callable[[Path], None], sure: bool) -> int:
    if not paths:
        _say("nothing to remove")
    elif not sure:
        _say(f"nothing was removed; --yes removes {'it' if len(paths) == 1 else 'these'}")
    for path in paths if sure else ():
        remove(path)
        _say(f"removed {path}")
    return 0


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, for journals that take long; nothing elsewhere."""
    from tenbin.report.terminal.log import LOG

    if not sys.stderr.isatty() or not LOG.isEnabledFor(logging.INFO):
        yield lambda done, total: None
        return
    from rich.progress import Progress

    from tenbin.report.terminal.console import make_error_console

    with Progress(console=make_error_console(), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
