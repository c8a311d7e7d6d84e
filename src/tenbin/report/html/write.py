"""Writes a page: one file, or for very large runs a file and a folder of blocks beside it."""

from __future__ import annotations

import base64
import secrets
import shutil
from pathlib import Path

from tenbin.files.atomic import atomic_file, write_atomically
from tenbin.files.disk_errors import writing
from tenbin.report.html.page import Page, Place, page_text

LARGEST_FILE = 60_000_000
"""Compressed bytes above which blocks go into a folder, since browsers load the whole file."""


def write_page(page: Page, path: Path, largest: int = LARGEST_FILE) -> Path | None:
    """Write a page atomically.

    Returns:
        The folder of blocks, if there is one.

    Raises:
        StorageError: The file cannot be written.
    """
    with writing(path, "name another place for the report with -o"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if page.blocks.size <= largest:
            _write(page, Place(), path)
            return None
        folder = path.with_name(f"{path.stem}.blocks")
        was_there = folder.exists()
        try:
            folder.mkdir(exist_ok=True)
            _write_blocks(page, folder)
            _write(page, Place("folder", folder.name, secrets.token_urlsafe(18)), path)
        except BaseException:
            if not was_there:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder


def _write_blocks(page: Page, folder: Path) -> None:
    for number in range(len(page.blocks)):
        text = base64.b64encode(page.blocks[number]).decode()
        # A page opened from disk may load scripts but not read files.
        write_atomically(folder / f"{number}.js", f'tenbinBlock({number},"{text}")\n')


def _write(page: Page, place: Place, path: Path) -> None:
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8") as file:
        file.writelines(page_text(page, place))
