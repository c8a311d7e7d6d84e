"""The state that a trainer leaves beside a checkpoint's weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tenbin.files.json_text import parse_json

STATE = "trainer_state.json"
_LARGEST = 256 << 20
"""Bytes: the file holds the whole log of a training."""


def training_step(folder: Path | None) -> int | None:
    """The step that a trainer has written down; None where there is none, or none to read."""
    if folder is None:
        return None
    file = folder / STATE
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        state = parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    step = state.get("global_step") if isinstance(state, Mapping) else None
    return step if isinstance(step, int) and not isinstance(step, bool) and step >= 0 else None
