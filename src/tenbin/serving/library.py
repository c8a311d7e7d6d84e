"""Chosen runs → a page, built when first asked for and kept while their files stay the same."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from tenbin.errors import ResultError
from tenbin.report.html.page import Page
from tenbin.reporting import build_page
from tenbin.results.folder import RESULT, read_run
from tenbin.serving.listing import find_runs

_KEPT = 4


class Library:
    """The pages of a folder's runs."""

    def __init__(self, root: Path, language: str) -> None:
        self.root, self.language = root, language
        self._pages: OrderedDict[str, Page] = OrderedDict()
        self._lock = Lock()

    def open(self, names: Sequence[str]) -> tuple[str, Page]:
        """The page of some runs, with the key that its blocks are asked for under.

        Raises:
            ResultError: A name is not one of the folder's finished runs.
        """
        known = {found.name: found.path for found in find_runs(self.root) if found.finished}
        missing = [name for name in names if name not in known]
        if missing or not names:
            raise ResultError(f"no finished run {', '.join(missing)!r} here")
        paths = [known[name] for name in names]
        key = _key(paths)
        with self._lock:
            page = self._pages.get(key)
            if page is None:
                page = build_page([read_run(path) for path in paths], self.language)
                page.summary["home"] = "/"  # type: ignore[index]
                self._pages[key] = page
            self._pages.move_to_end(key)
            while len(self._pages) > _KEPT:
                self._pages.popitem(last=False)
        return key, page

    def block(self, key: str, number: int) -> bytes | None:
        """A block of a page that was opened; None where there is none."""
        page = self._pages.get(key)
        return page.blocks[number] if page and 0 <= number < len(page.blocks) else None


def _key(paths: Sequence[Path]) -> str:
    marks = [f"{path} {(path / RESULT).stat().st_mtime_ns}" for path in paths]
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()[:24]
