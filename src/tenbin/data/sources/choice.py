"""Where the user wants rows to come from: options and environment variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tenbin.files.allowed_paths import Reach
from tenbin.files.home import cache_directory

Progress = Callable[[str, int, int | None], None]
"""Called while a file is fetched: its name, bytes so far, bytes in all where known."""


@dataclass(frozen=True, slots=True)
class DataChoice:
    """The user's choice of a place to read rows from; a download when nothing is chosen."""

    data_dir: Path | None = None
    """A folder of the user's own; nothing is downloaded when it is given."""
    sample_data: bool = False
    """Read the few made-up rows that come with tenbin."""
    cache_dir: Path = field(default_factory=cache_directory)
    offline: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    """Suite of data sets → version to read; by default the first version of each."""
    reach: Reach = field(default_factory=Reach)
    """Where files that a task file names may lie, besides its own folder."""

    @property
    def forbids_network(self) -> bool:
        """Whether the flag or the environment (TENBIN_OFFLINE, HF_HUB_OFFLINE) says offline."""
        return self.offline or any(
            os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}
            for name in ("TENBIN_OFFLINE", "HF_HUB_OFFLINE")
        )
