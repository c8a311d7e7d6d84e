"""Names of `results.read`, for callers that do not take `RunResult` yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tenbin.results.folder import RESULT, SAMPLES
from tenbin.results.read import StoredRun, check_schema, read_result, read_run

__all__ = ["RESULT", "SAMPLES", "StoredRun", "check_schema", "read_document", "read_run"]


def read_document(file: Path) -> dict[str, Any]:
    """A result.json as plain values."""
    return read_result(file).to_json()
