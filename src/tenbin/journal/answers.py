"""All answers of one run: those that the journal keeps, and those that nobody keeps.

Failures are asked again next time, and some runs keep no journal: such answers are on disk too,
until the run is over, so that memory does not grow with them.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tenbin.errors import BackendError
from tenbin.files.disk_list import chunks, marks, scratch_database
from tenbin.journal.rounds import Rounds
from tenbin.journal.store import Journal
from tenbin.records import Failure, Response
from tenbin.records.model_info import ROUND, Given, lasting

_TABLE = "CREATE TABLE answers (key TEXT PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID"


class Answers:
    """Answers by key."""

    def __init__(
        self, journal: Journal | None, describe: Callable[[], Mapping[str, Any]] = dict
    ) -> None:
        """Those of a run with this journal, or with none.

        Args:
            journal: Where answers outlive the run.
            describe: Says what gives new answers, once it has given some.
        """
        self._journal = journal
        self._describe = describe
        self._source: int | None = None
        self._round: str | None = None
        self._kinds: set[type] = set()
        self._given: Counter[int] = Counter()
        """Answers by the source that gave them."""
        self._passing = scratch_database(_TABLE)

    @property
    def damaged(self) -> int:
        """How many rows of the journal were damaged and are asked again."""
        return self._journal.damaged if self._journal is not None else 0

    @property
    def place(self) -> str:
        """Where they are kept."""
        return str(self._journal.path) if self._journal is not None else "a temporary file"

    def known(self, keys: Sequence[str]) -> dict[str, int]:
        """Which of these were answered in earlier runs, each with the number of its source.

        To be asked once for each key.
        """
        if self._journal is None:
            return {}
        found = self._journal.sources_of(keys)
        self._given.update(found.values())
        return found

    def broken_off(self, rounds: Rounds) -> tuple[str, list[int]]:
        """The round that open requests belong to, and the numbers of its known ones."""
        return rounds.broken_off(self._round_of)

    def _round_of(self, source: int) -> str | None:
        described = self._journal.source(source) if self._journal is not None else None
        named = (described or {}).get(ROUND)
        return named if isinstance(named, str) else None

    def begin_round(self, name: str) -> None:
        """Name the round of the answers that follow."""
        if self._journal is not None and self._source is not None:
            # Of the round before, which a run that asks in blocks has had.
            self._note_source(self._journal, self._describe())
            self._source, self._kinds = None, set()
        self._round = name

    def write(self, portion: Sequence[tuple[str, Response]]) -> None:
        """Keep answers, all of them or none."""
        passing = portion
        if self._journal is not None:
            self._write_down(self._journal, portion)
            passing = [pair for pair in portion if isinstance(pair[1], Failure)]
        else:
            self._given[0] += sum(not isinstance(answer, Failure) for _, answer in portion)
        if passing:
            self._passing.executemany(
                "INSERT INTO answers VALUES (?, ?)",
                ((key, pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)) for key, answer in passing),
            )

    def _write_down(self, journal: Journal, portion: Sequence[tuple[str, Response]]) -> None:
        kinds = {type(answer) for _, answer in portion} - {Failure}
        if not kinds <= self._kinds:
            # An engine knows how it scores once it has scored, and how it writes once it has
            # written: what is known now is noted now, since the run may be killed.
            self._kinds |= kinds
            self._note_source(journal, self._describe())
        self._given.update(journal.write(portion, self._source or 0))

    def _note_source(self, journal: Journal, description: Mapping[str, Any]) -> None:
        kept = lasting(description) | ({ROUND: self._round} if self._round is not None else {})
        if self._source is None:
            self._source = journal.add_source(kept)
        else:
            journal.change_source(self._source, kept)

    def given_by(self, description: Mapping[str, Any]) -> list[Given]:
        """What gave the answers, once all are there.

        Args:
            description: Of what gave the new ones, now that it has given all.
        """
        if self._journal is None:
            return [Given(count, lasting(description)) for count in self._given.values()]
        if self._source is not None:
            self._note_source(self._journal, description)
        numbers = sorted(self._given, key=lambda number: (-self._given[number], number))
        return [Given(self._given[number], self._described(number)) for number in numbers]

    def _described(self, source: int) -> Mapping[str, Any] | None:
        """What a source says of its engine."""
        found = self._journal.source(source) if self._journal is not None else None
        return None if found is None else lasting(found)

    def find(self, keys: Sequence[str]) -> dict[str, Response]:
        """Those of these answers that are there."""
        found = self._journal.read(keys) if self._journal is not None else {}
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
            raise BackendError(
                f"{gone:,} answers are no longer in {self.place}",
                "something changed the file while the run was under way: run it again",
            )
        return found

    def close(self) -> None:
        """Close all files."""
        self._passing.close()
        if self._journal is not None:
            self._journal.close()
