"""The command line: one module per command, and what they share in `parser` and `flags`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from tenbin.cli.exit_codes import ERROR, NOTHING_SCORED, OK, SIGNAL, USAGE
from tenbin.cli.parser import (
    build_parser,
    command_of,
    explain_command,
    explain_unknown,
    normalise_flags,
)
from tenbin.errors import ModelLost, NothingScored, TenbinError
from tenbin.version import __version__

_COLLECT_AFTER = 100_000
"""Objects made, less those freed, after which garbage is looked for (Python: 700 or 2,000)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code, as `exit_codes` lists them."""
    began = time.perf_counter()
    if argv is None:
        # Imports make a hundred thousand objects that stay: looking through them for garbage again
        # and again takes a tenth of a short command. A process that calls this keeps its settings.
        gc.set_threshold(_COLLECT_AFTER, 20, 50)
    arguments = normalise_flags(sys.argv[1:] if argv is None else argv)
    parser = build_parser(command_of(arguments))
    if (wrong := explain_command(arguments)) is not None:
        _refuse(parser, wrong)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        _refuse(parser, explain_unknown(unknown, options.command, arguments))
    if options.command is None:
        parser.print_help()
        return OK
    # Here, as whatever follows: `--help` needs none of it, and should be instant.
    from tenbin.cli.log_flags import log_settings
    from tenbin.report.terminal.log import logging_as

    try:
        with logging_as(log_settings(options)):
            return _execute(options, began)
    except TenbinError as error:  # of the flags about messages themselves
        from tenbin.sandbox.printable import visible

        print(f"tenbin: {visible(str(error))}", file=sys.stderr)
        return ERROR


def _execute(options: argparse.Namespace, began: float) -> int:
    """Run the command and return its exit code; every error is said here."""
    from tenbin.pipeline.interrupt import stop_message, stopped_by, stopping_on_signals
    from tenbin.report.terminal.log import LOG
    from tenbin.timing import counting_from

    LOG.debug("tenbin %s, Python %s: %s", __version__, sys.version.split()[0], options.command)
    try:
        with counting_from(began), stopping_on_signals(lambda: _kept(options)):
            return _dispatch(options.command, options)
    except TenbinError as error:
        _print_chain(error)
        LOG.error("%s", error)
        return NOTHING_SCORED if isinstance(error, NothingScored) else ERROR
    except KeyboardInterrupt as error:
        number = stopped_by(error)
        print(file=sys.stderr)
        LOG.error("%s", stop_message(number, _kept(options)))
        return SIGNAL + number
    except BrokenPipeError:
        # The reader of our output, `head` for one, has seen enough.
        sys.stderr.close()
        return OK
    except Exception as error:
        explained = _explained(error)
        if explained is None:
            LOG.debug("an error that nothing explains", exc_info=True)
            raise
        LOG.error("%s", explained)
        return ERROR


def _refuse(parser: argparse.ArgumentParser, wrong: str) -> NoReturn:
    """End with a message about the arguments."""
    from tenbin.sandbox.printable import visible

    parser.exit(USAGE, f"tenbin: {visible(wrong)}\n")


def _print_chain(error: TenbinError) -> None:
    """Print the traceback of a model's failure, if TENBIN_DEBUG is set.

    For no other error: what a server's client raised may contain a key.
    """
    if isinstance(error, ModelLost) and os.environ.get("TENBIN_DEBUG") not in (None, "", "0"):
        import traceback

        from tenbin.sandbox.printable import visible

        print(visible("".join(traceback.format_exception(error))), file=sys.stderr)


def _kept(options: argparse.Namespace) -> str:
    """What a stopped run leaves behind, for the message."""
    from tenbin.pipeline.interrupt import what_was_saved

    said = [what_was_saved()] if what_was_saved() else []
    if options.command in {"run", "sweep", "watch"} and not options.no_cache:
        said.append("every answer so far is kept; the same command continues from here")
    return "; ".join(said)


def _explained(error: Exception) -> TenbinError | None:
    """A storage fault that no stage has explained; None for a fault of tenbin itself."""
    import sqlite3
    from pathlib import Path

    from tenbin.files.disk_errors import unwritten
    from tenbin.files.disk_list import is_storage_fault, scratch_fault, scratch_folder

    if isinstance(error, sqlite3.Error) and is_storage_fault(error):
        # Journals explain their own errors: this is a scratch database that is being read.
        return scratch_fault(error)
    if isinstance(error, OSError) and error.errno is not None:
        return unwritten(Path(error.filename or scratch_folder()), error)
    return None


def _dispatch(command: str, options: object) -> int:
    from importlib import import_module

    return int(import_module(f"tenbin.cli.{command.replace('-', '_')}").execute(options))
