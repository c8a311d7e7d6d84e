"""Has a backend begin to load while prompts are still made, if there will be something to ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tenbin.backends.base import Backend, prepare
from tenbin.journal.store import Journal

_LOOKED_UP = 16
"""Keys looked up of each chunk of a plan: one that is missing is seen soon, and a run whose answers
are all there looks hardly more of them up than it would anyway."""


class EarlyStart:
    """Watches a plan grow, and has the backend prepare when a request needs it."""

    def __init__(self, backend: Backend, open_journal: Callable[[], Journal | None]) -> None:
        """Nothing is opened yet.

        Args:
            backend: What will be asked.
            open_journal: Opens the journal of this run; None where it keeps none.
        """
        self._backend = backend
        self._open_journal = open_journal
        self._journal: Journal | None = None
        self._is_open = self._has_begun = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """After an error the journal is closed: nobody has got it."""
        if kind is not None and self._journal is not None:
            self._journal.close()

    def journal(self) -> Journal | None:
        """The journal, opened by the first call."""
        if not self._is_open:
            self._journal, self._is_open = self._open_journal(), True
        return self._journal

    def watch(self, keys: Sequence[str]) -> None:
        """Take note of requests that were planned, by their keys."""
        if self._has_begun or not keys:
            return
        some = keys[:: max(1, len(keys) // _LOOKED_UP)]
        journal = self.journal()
        if journal is None or len(journal.sources_of(some)) < len(some):
            self._has_begun = True
            prepare(self._backend)
