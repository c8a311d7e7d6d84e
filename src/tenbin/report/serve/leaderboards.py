"""The leaderboard of a served folder, built in the background and kept while its runs are the same.

What is read of a run, its result and its documents, is kept by the size and time of its files. The
scores are there as soon as all results are read; the ranks follow when documents were read too.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from tenbin.analysis.document import to_json
from tenbin.analysis.leaderboard.build import LeaderboardBuilder
from tenbin.analysis.leaderboard.models import COLUMNS, Source
from tenbin.analysis.leaderboard.ranking import (
    RunDocuments,
    UnreadableRunsError,
    Wanted,
    read_documents,
)
from tenbin.errors import ResultError, TenbinError
from tenbin.report.html.leaderboard import PageLeaderboard, page_leaderboard
from tenbin.report.serve.index import Found, find_runs
from tenbin.report.serve.served_files import check_plain, check_samples, mapping, read_json
from tenbin.results.folder import RESULT, SAMPLES
from tenbin.results.read import StoredRun, check_schema, parse_result

Signature = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class BoardState:
    """What is known of the leaderboard by now."""

    mark: str = ""
    """Of the scores and ranks that are shown; another mark: there is something new."""
    board: PageLeaderboard | None = None
    ranked: bool = False
    """Whether the ranks are there."""
    doing: str = ""
    """What is being done, such as `reading runs`; empty once all is done."""
    done: int = 0
    total: int = 0
    seconds_left: float | None = None


class BoardCache:
    """The leaderboard of a folder, kept current by a thread that runs while somebody looks."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = Lock()
        self._worker: Thread | None = None
        self._state = BoardState()
        self._signature = ""
        self._runs = _RunCache(root)
        self._written: tuple[str, bytes] = ("", b"")

    def state(self) -> BoardState:
        """Return what is known; if runs have changed, a new leaderboard is begun."""
        found = [one for one in find_runs(self._root) if one.finished]
        signature = _signature_of(found)
        with self._lock:
            busy = self._worker is not None and self._worker.is_alive()
            if signature != self._signature and not busy:
                self._signature = signature
                self._worker = Thread(target=self._build, args=(found, signature), daemon=True)
                self._state = replace(self._state, doing="reading results", done=0, total=0)
                self._worker.start()
            return self._state

    def answer(self, known: str) -> bytes:
        """Return the state as JSON, without the leaderboard if the page has it already.

        Args:
            known: The mark of what the page shows.
        """
        state = self.state()
        answer: dict[str, Any] = {
            "mark": state.mark,
            "ranked": state.ranked,
            "doing": state.doing,
            "done": state.done,
            "total": state.total,
            "seconds_left": state.seconds_left,
        }
        if state.mark == known or state.board is None:
            return json.dumps({**answer, "board": None}).encode()
        if self._written[0] != state.mark:
            self._written = state.mark, _json(to_json(state.board))
        return json.dumps(answer).encode()[:-1] + b', "board": ' + self._written[1] + b"}"

    def _build(self, found: Sequence[Found], signature: str) -> None:
        clock = _Clock()
        try:
            self._build_of(found, signature, clock)
        except Exception as error:
            # A stored run can hold anything; the list of runs is shown all the same.
            said = error.message if isinstance(error, TenbinError) else type(error).__name__
            said = said.replace(f"{self._root}/", "")
            self._tell(mark=signature, board=PageLeaderboard(error=said), ranked=True)
        finally:
            self._tell(doing="", seconds_left=None)

    def _build_of(self, found: Sequence[Found], signature: str, clock: _Clock) -> None:
        def watch(what: str, done: int, total: int) -> None:
            self._tell(doing=what, done=done, total=total, seconds_left=clock(what, done, total))

        sources, unread = [], {}
        for number, one in enumerate(found):
            watch("reading results", number, len(found))
            try:
                sources.append(self._runs.source(one))
            except ResultError as error:
                unread[one.name] = error.message
        while True:
            builder = LeaderboardBuilder(sources, unread=unread)
            if self._state.board is None:
                # Scores first: ranks may take a while.
                self._tell(mark=f"{signature}-scores", board=page_leaderboard(builder))
            try:
                builder.rank(read=self._runs.documents, watch=watch)
                break
            except UnreadableRunsError as error:
                unread |= error.reasons
                sources = [source for source in sources if source.name not in unread]
        self._tell(mark=signature, board=page_leaderboard(builder), ranked=True)

    def _tell(self, **changes: Any) -> None:
        with self._lock:
            self._state = replace(self._state, **changes)


class _RunCache:
    """Results and documents of runs, kept while their files have the same size and time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sources: dict[str, tuple[Signature, Source]] = {}
        self._documents: dict[str, tuple[Signature, RunDocuments]] = {}
        self._paths: dict[str, Path] = {}

    def source(self, found: Found) -> Source:
        """Return a run.

        Raises:
            ResultError: It is damaged.
        """
        signature = _signature(found.path)
        known = self._sources.get(found.name)
        if known is None or known[0] != signature:
            self._paths[found.name] = found.path
            self._sources[found.name] = known = signature, _read(found)
        return known[1]

    def documents(self, source: Source, wanted: Wanted) -> RunDocuments:
        """Return the documents of a run.

        Raises:
            ResultError: They are damaged.
        """
        path = self._paths[source.name]
        signature = _signature(path)
        known = self._documents.get(source.name)
        if known is None or known[0] != signature or not wanted.keys() <= known[1].measured.keys():
            self._documents[source.name] = known = signature, self._documents_of(source, wanted)
        return known[1]

    def _documents_of(self, source: Source, wanted: Wanted) -> RunDocuments:
        try:
            check_samples(self._paths[source.name] / SAMPLES)
            return read_documents(source, wanted)
        except ResultError as error:
            raise ResultError(error.message.replace(f"{self._root}/", "")) from None
        except Exception as error:
            # A stored run can hold anything, so any exception is possible here.
            raise ResultError(f"damaged: {type(error).__name__}") from None


def _read(found: Found) -> Source:
    document = mapping(read_json(found.path / RESULT), "result")
    version = check_schema(document, Path(RESULT))
    run = StoredRun(found.path, parse_result(document, Path(RESULT)), version)
    return Source(found.name, run.result, lambda: run.samples(COLUMNS))


class _Clock:
    """Estimates the time that a step still takes."""

    def __init__(self) -> None:
        self._what, self._began = "", 0.0

    def __call__(self, what: str, done: int, total: int) -> float | None:
        now = time.monotonic()
        if what != self._what:
            self._what, self._began = what, now
        return (now - self._began) / done * (total - done) if done else None


def _signature(path: Path) -> Signature:
    signature = []
    for file in (RESULT, SAMPLES):
        status = check_plain(path / file)
        signature.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(signature)


def _signature_of(found: Sequence[Found]) -> str:
    marks = []
    for one in found:
        try:
            marks.append(f"{one.name} {_signature(one.path)}")
        except ResultError as error:
            marks.append(f"{one.name} {error.message}")
    return hashlib.sha256("\n".join(marks).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
