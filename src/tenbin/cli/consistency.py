"""`tenbin consistency`: the same items in several languages and modes, from stored runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tenbin.config import split_list
from tenbin.files.disk_errors import write_output


def execute(options: argparse.Namespace) -> int:
    """Print what the runs show, or write it as JSON."""
    from tenbin.api import consistency

    document = consistency(
        *options.runs,
        tasks=split_list(options.tasks or ""),
        reference=options.reference,
        alignment=options.alignment,
        metric=options.metric,
    )
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    if options.output:
        write_output(Path(options.output), text, "name another with --output")
    if options.format == "json":
        print(text, end="")
        return 0

    from tenbin.report.terminal.consistency import print_consistency
    from tenbin.sandbox.printable import visible

    print_consistency(document, options.items)
    if options.output:
        print(f"written  {visible(options.output)}")
    return 0
