"""`tenbin compare`: two or more stored runs, document by document."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from tenbin.config import split_list
from tenbin.errors import ConfigError
from tenbin.files.disk_errors import write_output


def execute(options: argparse.Namespace) -> int:
    """Compare, and print or write what came out."""
    from tenbin.api import compare
    from tenbin.report.terminal.comparison import print_comparison

    document = compare(
        *options.runs,
        cells=[id for written in options.cells or () for id in split_list(written)],
        mapping=_mapping(options.map or ()),
        metrics=split_list(options.metrics or ""),
        allow=split_list(options.allow or ""),
        all_pairs=options.all_pairs,
    ).document
    written = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    if options.output:
        write_output(Path(options.output), f"{written}\n", "name another with --output")
    if options.format == "json":
        print(written)
    else:
        print_comparison(document, options.changes)
    return 0


def _mapping(written: Sequence[str]) -> dict[str, str]:
    mapping = {}
    for part in (part for one in written for part in split_list(one)):
        here, equals, there = part.partition("=")
        if not equals or not here.strip() or not there.strip():
            raise ConfigError(
                f"--map {part}: takes ID_IN_FIRST=ID_IN_OTHER", "--map jnli-1.3-0.2=jnli-1.3-0.3"
            )
        mapping[here.strip()] = there.strip()
    return mapping
