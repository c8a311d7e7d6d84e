"""`tenbin journal`: list, check, repair and prune the journals of answers."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tenbin.errors import ConfigError
from tenbin.journal.check import Checked, check_journal
from tenbin.journal.prune import choose_to_prune, read_age, read_size, remove_journal
from tenbin.journal.repair import find_kept, remove_kept, repair_journal
from tenbin.journal.show import choose_journal, describe_journal, find_journals


def execute(options: argparse.Namespace) -> int:
    """Do what was asked for; the exit code is 1 where a check has found damage."""
    from tenbin.data import cache_directory

    cache = Path(options.cache_dir) if options.cache_dir else cache_directory()
    actions = {"show": _show, "check": _check, "repair": _repair, "prune": _prune}
    return actions[options.action](options, cache / "journal")


def _say(text: str) -> None:
    from tenbin.report.terminal.console import make_console

    make_console().print(text, highlight=False, markup=False, soft_wrap=True)


def _show(options: argparse.Namespace, folder: Path) -> int:
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
    paths = [choose_journal(options.journal, folder)] if options.journal else find_journals(folder)
    if not paths:
        _say(f"no journals in {folder}")
    bad = 0
    for path in paths:
        with _progress(f"checking {path.stem[:8]}") as told:
            checked = check_journal(path, told)
        bad += not checked.is_whole
        _say(_line(checked))
    return 1 if bad else 0


def _line(checked: Checked) -> str:
    parts = [] if checked.fault else [f"{checked.good:,} answers are whole"]
    if checked.bad:
        parts.append(f"{checked.bad:,} are damaged ({'; '.join(checked.reasons)})")
    if checked.lost_sources:
        parts.append(f"{checked.lost_sources:,} descriptions of engines are damaged")
    if checked.fault:
        parts.append(checked.fault)
    if not checked.has_digests:
        parts.append("written before there were digests: only their form could be checked")
    mark = "✓" if checked.is_whole else "✗"
    remedy = "" if checked.is_whole else f"\n  → tenbin journal repair {checked.path}"
    return f"{mark} {checked.path.name}: {', '.join(parts)}{remedy}"


def _repair(options: argparse.Namespace, folder: Path) -> int:
    path = choose_journal(options.journal, folder)
    with _progress(f"reading {path.stem[:8]}") as told:
        repaired = repair_journal(path, told)
    if repaired.kept is None:
        _say(f"{path} is whole: {repaired.saved:,} answers; nothing was changed")
        return 0
    _say(f"{path}: {repaired.saved:,} answers were saved; the rest is asked again by the next run")
    if not repaired.found.has_digests:
        _say("it had no digests yet: which of its answers are whole, nobody can tell")
    _say(f"the damaged file is kept: {repaired.kept}")
    return 0


def _prune(options: argparse.Namespace, folder: Path) -> int:
    given = [options.older_than, options.model, options.max_size]
    if options.damaged == any(one is not None for one in given):
        raise ConfigError(
            "--damaged stands alone" if options.damaged else "which journals are to go?",
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
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import Progress

    from tenbin.report.terminal.console import make_error_console

    with Progress(console=make_error_console(), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
