"""`tenbin schema`: print the JSON Schema of result.json, or of a row of samples.parquet."""

from __future__ import annotations

import argparse

EXAMPLES = """examples:
  tenbin schema
  tenbin schema samples > samples.schema.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the argument of `tenbin schema`."""
    parser.add_argument(
        "file",
        nargs="?",
        choices=("result", "samples"),
        default="result",
        help="result.json, or a row of samples.parquet (default: result)",
    )


def execute(options: argparse.Namespace) -> int:
    """Print the schema."""
    import json

    from tenbin.results.schema.json_schema import json_schema

    print(json.dumps(json_schema(options.file), ensure_ascii=False, indent=2))
    return 0
