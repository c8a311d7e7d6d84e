"""`tenbin schema`: the JSON Schema of result.json, or of a row of samples.parquet."""

from __future__ import annotations

import argparse
import json


def execute(options: argparse.Namespace) -> int:
    """Print the schema."""
    from tenbin.results.schema.json_schema import json_schema

    print(json.dumps(json_schema(options.file), ensure_ascii=False, indent=2))
    return 0
