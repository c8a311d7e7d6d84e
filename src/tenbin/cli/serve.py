"""`tenbin serve`: the runs of a folder in a browser, also while they go on."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path


def execute(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from tenbin.report.charts.draw import import_altair
    from tenbin.report.serve.access import is_loopback
    from tenbin.report.serve.server import Server
    from tenbin.report.terminal.console import make_console
    from tenbin.sandbox.printable import visible

    import_altair()
    token = options.token
    if token is None and not is_loopback(options.host):
        token = secrets.token_urlsafe(24)

    def log(line: str) -> None:
        print(f"tenbin: {visible(line)}", file=sys.stderr, flush=True)

    server = Server(
        Path(options.folder), options.host, options.port, token, options.language,
        log if options.verbose else None,
    )  # fmt: skip
    console = make_console()
    console.print(f"serving  {options.folder}", highlight=False, soft_wrap=True)
    console.print(f"open     {server.address}", highlight=False, soft_wrap=True)
    console.print("Ctrl-C ends it. Nothing can be changed through this address.", highlight=False)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        server.server_close()
    return 0
