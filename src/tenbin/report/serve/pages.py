"""Pages of chosen runs, built on first request and cached while the runs' files are unchanged.

Pages are built without holding the lock, so that other requests are answered meanwhile; requests
for the same page wait for it. A damaged run affects its own page only.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotReadyError
from pathlib import Path
from threading import BoundedSemaphore, Lock

from tenbin.errors import ResultError, TenbinError
from tenbin.report.html.build import Explainer, build_page
from tenbin.report.html.model import PageReading
from tenbin.report.html.page import Page
from tenbin.report.html.sample import Filters
from tenbin.report.serve.index import find_runs
from tenbin.report.serve.served_files import check_plain, check_samples, mapping, read_json
from tenbin.results.folder import RESULT, SAMPLES
from tenbin.results.read import StoredRun, check_schema, parse_result

_KEPT = 4
_AT_A_TIME = 2
"""Pages built at the same time; each may take a core and hundreds of megabytes."""
_MOST_RUNS = 50
_LONGEST_WAIT = 600.0
"""Seconds that a request waits for a page that is being built."""
_LONGEST_READING = 120.0
"""Seconds that explaining the answers of one page may take."""


class UnknownRunError(ResultError):
    """A name is not one of the folder's finished runs."""


class PageCache:
    """The pages of a folder's runs."""

    def __init__(self, root: Path, language: str) -> None:
        self.root, self.language = root, language
        self._pages: OrderedDict[str, Page] = OrderedDict()
        self._building: dict[str, Future[Page]] = {}
        self._lock = Lock()
        self._room = BoundedSemaphore(_AT_A_TIME)

    def open(self, names: Sequence[str]) -> tuple[str, Page]:
        """Return the key and the page of some runs; the key is part of the address of its blocks.

        Raises:
            UnknownRunError: A name is not one of the folder's finished runs.
            ResultError: A run is damaged.
        """
        runs = self._chosen(names)
        key = _key(runs)
        with self._lock:
            page = self._pages.get(key)
            if page is not None:
                self._pages.move_to_end(key)
                return key, page
            waited_for = self._building.get(key)
            if waited_for is None:
                mine = self._building[key] = Future()
        if waited_for is not None:
            return key, _awaited(waited_for)
        return key, self._built(key, runs, mine)

    def block(self, key: str, number: int) -> bytes | None:
        """Return a block of a cached page; None if there is none."""
        with self._lock:
            page = self._pages.get(key)
        return page.blocks[number] if page and 0 <= number < len(page.blocks) else None

    def _chosen(self, names: Sequence[str]) -> dict[str, Path]:
        """Return the folders of runs by name, without duplicates."""
        wanted = list(dict.fromkeys(names))
        if len(wanted) > _MOST_RUNS:
            raise UnknownRunError(
                f"{len(wanted)} runs are more than one report takes ({_MOST_RUNS})"
            )
        known = {found.name: found.path for found in find_runs(self.root) if found.finished}
        missing = [name for name in wanted if name not in known]
        if missing or not wanted:
            shown = ", ".join(name[:100] for name in missing[:5])
            raise UnknownRunError(f"no finished run {shown!r} here")
        return {name: known[name] for name in wanted}

    def _built(self, key: str, runs: dict[str, Path], mine: Future[Page]) -> Page:
        try:
            with self._room:
                stored = [_read(name, path) for name, path in runs.items()]
                page = build_page(stored, self.language, explain=_TimedExplainer(), home="/")
            self._keep(key, page)
            mine.set_result(page)
            return page
        except BaseException as error:
            mine.set_exception(found := self._fault(runs, error))
            raise found from None
        finally:
            with self._lock:
                del self._building[key]

    def _keep(self, key: str, page: Page) -> None:
        with self._lock:
            self._pages[key] = page
            while len(self._pages) > _KEPT:
                self._pages.popitem(last=False)

    def _fault(self, runs: dict[str, Path], error: BaseException) -> ResultError:
        """Return an error for the viewer, which names runs but no folder of this machine."""
        names = ", ".join(runs)
        if isinstance(error, TenbinError):
            said = error.message.replace(f"{self.root}/", "")
            return ResultError(said if said.startswith(tuple(runs)) else f"{names}: {said}")
        # A stored run can hold anything, so any exception is possible here.
        return ResultError(f"{names}: damaged and cannot be shown: {type(error).__name__}")


class _TimedExplainer:
    """An explainer with a time limit, since a stored run brings its own patterns."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._explainer = Explainer()

    def __call__(
        self, chains: Filters, text: str, language: str, choices: int
    ) -> list[PageReading]:
        begun = time.monotonic()
        readings = self._explainer(chains, text, language, choices)
        self._spent += time.monotonic() - begun
        if self._spent > _LONGEST_READING:
            raise ResultError(
                f"explaining its answers takes longer than {_LONGEST_READING:g} s: use tenbin"
                " report instead"
            )
        return readings


def _awaited(building: Future[Page]) -> Page:
    try:
        return building.result(_LONGEST_WAIT)
    except ResultError as error:
        raise ResultError(error.message, error.hint) from None
    except NotReadyError:
        raise ResultError("this report takes long to build; try again later") from None


def _read(name: str, path: Path) -> StoredRun:
    try:
        document = mapping(read_json(path / RESULT), "result")
        version = check_schema(document, Path(RESULT))
        result = parse_result(document, Path(RESULT))
        check_samples(path / SAMPLES)
    except ResultError as error:
        raise ResultError(f"{name}: {error.message}", error.hint) from None
    return StoredRun(path, result, version)


def _key(runs: Mapping[str, Path]) -> str:
    """Return a hash of the runs' paths, sizes and times of change."""
    marks = []
    for name, path in runs.items():
        for file in (RESULT, SAMPLES):
            try:
                status = check_plain(path / file)
            except ResultError as error:
                raise ResultError(f"{name}: {error.message}") from None
            marks.append(f"{path}/{file} {status.st_mtime_ns} {status.st_size} {status.st_ino}")
    return hashlib.sha256("\n".join(marks).encode("utf-8", "surrogateescape")).hexdigest()[:24]
