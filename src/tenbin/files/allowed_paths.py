"""Which files a task file may name: those below its own folder and below folders the user named.

A task file may come from a stranger, and what it names ends up in prompts, which go to a server or
into a stored run. So `../../secrets.txt`, an absolute path and a link out of the folder are refused
unless the user allows them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ALLOW = "--allow_outside_files"


class OutsideError(Exception):
    """A file is out of reach; the message says which file and which folders are allowed."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Folders whose files may be read."""

    folders: tuple[Path, ...] = ()
    anywhere: bool = False
    """Whether the user allows every file."""

    def with_folders(self, *folders: Path) -> Reach:
        """Return a reach that also has these folders."""
        return Reach((*self.folders, *folders), self.anywhere)

    def check(self, path: Path) -> None:
        """Refuse a file that lies elsewhere, links followed.

        Raises:
            OutsideError: It does.
        """
        if self.anywhere:
            return
        real = _real(path)
        here = os.getcwd()  # noqa: PTH109
        if not any(_is_below(real, _real_folder(folder, here)) for folder in self.folders):
            raise OutsideError(
                f"{path} is outside of the folders that a task file may read"
                + (f" (links lead to {real})" if Path(real) != _absolute(path) else "")
                + f": {_listed(self.folders)}"
            )


HINT = (
    "move the file there, name its folder with --include_path (task files) or --data_dir (data), "
    f"or trust the task file with {ALLOW}"
)


def _is_below(real: str, folder: str) -> bool:
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)


@lru_cache(maxsize=4096)
def _real_folder(folder: Path, here: str) -> str:
    """Where a folder is, links followed; looked up once, since thousands of files ask for it.

    Args:
        folder: The folder, as the user or a task file's own path names it.
        here: The working directory, which a relative path counts from.
    """
    return _real(folder)


def _real(path: Path) -> str:
    try:
        return str(path.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a null byte
        raise OutsideError(f"{path} cannot be followed: {error}") from error


def _absolute(path: Path) -> Path:
    return Path(os.path.normpath(Path.cwd() / path))


def _listed(folders: Iterable[Path]) -> str:
    return ", ".join(dict.fromkeys(str(folder) or "." for folder in folders)) or "none"
