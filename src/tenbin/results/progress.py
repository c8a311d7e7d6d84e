"""progress.json: how far a run is, for whoever watches its folder. Gone once the run is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tenbin.files.atomic import write_atomically
from tenbin.files.disk_errors import writing

PROGRESS = "progress.json"
_REMEDY = "name another place with --output_path: all answers are kept in the journal"


def write_progress(folder: Path, progress: Mapping[str, Any]) -> None:
    """Write it whole or not at all; a reader never sees half of it."""
    text = json.dumps(progress, ensure_ascii=False, allow_nan=False)
    with writing(folder / PROGRESS, _REMEDY):
        write_atomically(folder / PROGRESS, text)


def clear_progress(folder: Path) -> None:
    """The run is written: its result says more."""
    with writing(folder / PROGRESS, _REMEDY):
        (folder / PROGRESS).unlink(missing_ok=True)
