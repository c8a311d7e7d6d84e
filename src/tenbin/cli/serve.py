"""`tenbin serve`: serve all runs of a folder in a browser, including unfinished ones."""

from __future__ import annotations

import argparse
import sys

from tenbin.cli.report import add_language


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin serve`."""
    parser.add_argument(
        "folder", nargs="?", default="runs", metavar="RUNS_DIR", help="default: runs"
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="default: 127.0.0.1, this machine only; any other address requires a token",
    )
    parser.add_argument("--port", metavar="N", type=int, default=8722, help="default: 8722")
    parser.add_argument(
        "--token", metavar="TEXT", help="require this token (default: a random one where needed)"
    )
    add_language(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="log every request")


def execute(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    import secrets
    from pathlib import Path

    from tenbin.report.charts.draw import import_altair
    from tenbin.report.serve.access import is_loopback
    from tenbin.report.serve.server import Server
    from tenbin.report.terminal.console import make_console
    from tenbin.report.terminal.progress import open_progress
    from tenbin.sandbox.printable import visible

    import_altair()
    token = options.token
    if token is None and not is_loopback(options.host):
        token = secrets.token_urlsafe(24)

    def log(line: str) -> None:
        print(f"tenbin: {visible(line)}", file=sys.stderr, flush=True)

    progress = open_progress()
    server = Server(
        Path(options.folder), options.host, options.port, token, options.language,
        log if options.verbose else None,
        watch=lambda done, total: progress.prepare("reading results", done, total, "runs"),
    )  # fmt: skip
    console = make_console()
    console.print(f"serving  {options.folder}", highlight=False, soft_wrap=True)
    console.print(f"open     {server.address}", highlight=False, soft_wrap=True)
    console.print("Press Ctrl-C to stop. The pages are read-only.", highlight=False)
    # Whoever started this in a script waits for the address.
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        server.server_close()
    return 0
