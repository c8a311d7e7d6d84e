"""What a result depends on besides its settings: versions of libraries and of tenbin's own code."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import subprocess
from pathlib import Path

_LIBRARIES = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "datasets",
    "pyarrow",
    "numpy",
    "scipy",
    "jinja2",
    "fugashi",
    "unidic-lite",
    "neologdn",
    "emoji",
)


_VERSION = re.compile(r"^Version: *(\S+)\s*$", re.MULTILINE)


def library_versions() -> dict[str, str]:
    """Versions of everything that a score can depend on."""
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            described = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        # The line by itself: `version` parses the whole description with it, as an e-mail.
        line = _VERSION.search(described.read_text("METADATA") or "")
        versions[name] = line[1] if line else described.version
    return versions


def git_revision() -> str | None:
    """The revision of tenbin's own checkout, with `+dirty` if files differ; None outside one."""
    folder = Path(__file__).resolve().parent
    if not any((above / ".git").exists() for above in folder.parents):
        return None
    try:
        head = _git(folder, "rev-parse", "HEAD")
        if not _git(folder, "ls-files", "--", Path(__file__).name):
            return None  # installed inside somebody else's repository
        return f"{head}+dirty" if _git(folder, "status", "--porcelain", "--", ".") else head
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    completed = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=10
    )
    return completed.stdout.strip()
