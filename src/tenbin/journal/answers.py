"""All answers of one run: those that the journal keeps, and those that nobody keeps.

Failures are asked again next time, and some runs keep no journal: such answers are on disk too,
until the run is over, so that memory does not grow with them.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from tenbin.errors import BackendError
from tenbin.journal.store import Journal
from tenbin.records import Failure, Response
from tenbin.shelf import chunks, marks, scratch_database

_TABLE = "CREATE TABLE answers (key TEXT PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID"


class Answers:
    """Answers by key."""

    def __init__(self, journal: Journal | None) -> None:
        """Those of a run with this journal, or with none."""
        self._journal = journal
        self._passing = scratch_database(_TABLE)

    def known(self, keys: Sequence[str]) -> dict[str, Response]:
        """What was answered in earlier runs."""
        return self._journal.read(keys) if self._journal is not None else {}

    def write(self, portion: Sequence[tuple[str, Response]]) -> None:
        """Keep answers, all of them or none."""
        passing = portion
        if self._journal is not None:
            self._journal.write(portion)
            passing = [pair for pair in portion if isinstance(pair[1], Failure)]
        self._passing.executemany(
            "INSERT INTO answers VALUES (?, ?)",
            ((key, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)) for key, answer in passing),
        )

    def find(self, keys: Sequence[str]) -> dict[str, Response]:
        """Those of these answers that are there."""
        found = self.known(keys)
        for chunk in chunks(key for key in keys if key not in found):
            rows = self._passing.execute(
                f"SELECT key, answer FROM answers WHERE key IN ({marks(chunk)})", chunk
            )
            found |= {key: pickle.loads(answer) for key, answer in rows}
        return found

    def read(self, keys: Sequence[str]) -> dict[str, Response]:
        """These answers, all of which were written.

        Raises:
            BackendError: Some are gone.
        """
        found = self.find(keys)
        gone = sum(key not in found for key in keys)
        if gone:
            place = self._journal.path if self._journal is not None else "a temporary file"
            raise BackendError(
                f"{gone:,} answers are no longer in {place}",
                "something changed the file while the run was under way: run it again",
            )
        return found

    def close(self) -> None:
        """Close all files."""
        self._passing.close()
        if self._journal is not None:
            self._journal.close()
