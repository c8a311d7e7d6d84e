"""The command line: run, sweep, compare, consistency, doctor, report, serve, tasks, and more.

Only argparse is imported here; each command imports what it needs when it runs.
"""

from __future__ import annotations

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
        explained = _explained(error)
        if explained is None:
            raise
        print(f"tenbin: {visible(str(explained))}", file=sys.stderr)
        return 1


def _explained(error: Exception) -> TenbinError | None:
    """What no stage has put into words of its own; None: a fault in tenbin itself."""
    import sqlite3
    from pathlib import Path

    from tenbin.disks import unwritten
    from tenbin.shelf import is_storage_fault, scratch_fault, scratch_folder

    if isinstance(error, sqlite3.Error) and is_storage_fault(error):
        # Journals explain their own errors: this is a scratch database that is being read.
        return scratch_fault(error)
    if isinstance(error, OSError) and error.errno is not None:
        return unwritten(Path(error.filename or scratch_folder()), error)
    return None


def _dispatch(command: str, options: object) -> int:
    from importlib import import_module

    return int(import_module(f"tenbin.cli.{command}").execute(options))
