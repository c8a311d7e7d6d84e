"""`tenbin doctor`: what a model's tokenizer makes of tasks and templates, without weights."""

from __future__ import annotations

import argparse
import json

from tenbin.cli.run import given_by
from tenbin.pipeline.doctor import as_document, examination_config, examine
from tenbin.report.terminal.progress import open_progress


def execute(options: argparse.Namespace) -> int:
    """Print the diagnosis; with --strict, the exit code is 1 when there is a problem."""
    given = given_by(options, "format", "strict", "limit")
    if options.limit is not None:
        given["limit"] = options.limit
    config = examination_config(given)
    document = as_document(examine(config, open_progress()))
    if options.format == "json":
        print(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        from tenbin.report.terminal.doctor import print_diagnosis

        print_diagnosis(document)
    return 1 if options.strict and document["severity"] == "problem" else 0
