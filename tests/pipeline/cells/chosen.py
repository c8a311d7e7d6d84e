"""Which cells a config asks for, by id."""

from __future__ import annotations

from typing import Any

from tenbin.config import build_config
from tenbin.pipeline.cells.choose import choose_cells


def cells(**given: Any) -> list[str]:
    return [setup.cell.id for setup in choose_cells(build_config({"sample_data": True, **given}))]
