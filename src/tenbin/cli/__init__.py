"""The command line: run, sweep, compare, consistency, doctor, report, serve, tasks, and more.

Only argparse is imported here; each command imports what it needs when it runs.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence

from tenbin.cli.arguments import build_parser, explain_unknown, normalise_flags
from tenbin.errors import TenbinError
from tenbin.report.escaping import visible


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0, 1 for an error the user can mend, 130 when interrupted."""
    arguments = normalise_flags(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.exit(2, f"tenbin: {visible(explain_unknown(unknown, options.command))}\n")
    if options.command is None:
        parser.print_help()
        return 0
    try:
        return _dispatch(options.command, options)
    except TenbinError as error:
        print(f"tenbin: {visible(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        kept = options.command in {"run", "sweep"} and not options.no_cache
        more = "; every answer so far is kept, the same command goes on from here" if kept else ""
        print(f"\ntenbin: interrupted{more}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output, `head` for one, has seen enough.
        sys.stderr.close()
        return 0
    except Exception as error:
        if not _means_full_disk(error):
            raise
        print(f"tenbin: {visible(str(_disk_is_full(error)))}", file=sys.stderr)
        return 1


def _means_full_disk(error: Exception) -> bool:
    # SQLite has no error of its own for it, and only its words say which one this is.
    return getattr(error, "errno", None) == errno.ENOSPC or "disk is full" in str(error)


def _disk_is_full(error: Exception) -> TenbinError:
    from tenbin.shelf import scratch_folder

    name = getattr(error, "filename", None)
    return TenbinError(
        "no space is left on the disk" + (f": {name}" if name else ""),
        f"rows, prompts and answers are laid out in {scratch_folder()} while a command works, some "
        "kB a document: name another folder with TMPDIR; answers are kept under --cache_dir",
    )


def _dispatch(command: str, options: object) -> int:
    from importlib import import_module

    return int(import_module(f"tenbin.cli.{command}").execute(options))
