"""Reads stored runs: result.json as a `RunResult`, and the samples where they are asked for.

Two files that do not belong to one run are never read as one: result.json holds the digest of its
samples, which is checked when samples are read. A listing reads result.json alone and checks no
digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from tenbin.errors import ResultError
from tenbin.files.json_text import parse_json
from tenbin.results.folder import BESIDE_RESULT, RESULT, SAMPLES, is_run
from tenbin.results.migrate import migrate
from tenbin.results.schema import SCHEMA_VERSION, RunResult, Sample, result_fault
from tenbin.results.schema.sample import (
    REQUIRED,
    RowError,
    SampledAnswer,
    SampleOutcome,
    check_columns,
    check_sample,
    columns,
)

RUN_ID_KEY, SCHEMA_KEY = "tenbin_run_id", "tenbin_schema_version"
"""Metadata of samples.parquet."""
_AGAIN = "run the same command again: it goes on from the journal and writes both anew"
_BATCH = 1_000
"""Rows that are read at a time."""
Watch: TypeAlias = Callable[[str, int, int], None]
"""What is read, documents done, and all of them: `Listener.prepare`."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run read back."""

    path: Path
    result: RunResult
    version: int
    """Schema version of the file, before migration."""
    watch: Watch | None = field(default=None, compare=False, repr=False)
    """Called with how many samples were read, some hundreds at a time."""

    @property
    def document(self) -> dict[str, Any]:
        """result.json as plain values."""
        return self.result.to_json()

    def samples(self, columns: Sequence[str] | None = None) -> Iterator[Sample]:
        """Every document of the run.

        Args:
            columns: The columns to read besides the required ones; all if None.

        Raises:
            ResultError: The samples are missing, damaged, or those of another run.
        """
        self.check_samples()
        found = self._of_this_run(read_samples(self.path / SAMPLES, columns))
        return found if self.watch is None else self._watched(found, self.watch)

    def _watched(self, samples: Iterator[Sample], watch: Watch) -> Iterator[Sample]:
        total = sum(counts.effective for counts in self.result.n_samples.values())
        what = f"reading {self.path}"
        for done, sample in enumerate(samples, 1):
            yield sample
            if done % _BATCH == 0 or done == total:
                watch(what, done, max(done, total))

    def sample_rows(self, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """The same as plain values."""
        return (sample.to_json() for sample in self.samples(columns))

    def _of_this_run(self, samples: Iterator[Sample]) -> Iterator[Sample]:
        for sample in samples:
            if sample.id not in self.result.configs:
                raise ResultError(
                    f"{self.path / SAMPLES}: has a document of {sample.id!r}, and {RESULT} has no "
                    "such task",
                    _AGAIN,
                )
            yield sample

    def check_samples(self) -> None:
        """Check that the samples are those that result.json was written with.

        Raises:
            ResultError: They are missing or others. Runs before schema version 3 do not say.
        """
        expected = self.result.samples
        if expected is None:
            return
        path = self.path / SAMPLES
        if samples_digest(path) == expected.sha256:
            return
        ids = [self.result.run_id, samples_metadata(path).get(RUN_ID_KEY)]
        why = (
            "one was changed, or the run was killed while it was written"
            if ids[0] == ids[1]
            else f"result {ids[0]}, samples {ids[1] or 'that name none'}"
        )
        raise ResultError(f"{self.path}: {RESULT} and {SAMPLES} are not of one run: {why}", _AGAIN)


def read_run(path: str | Path, watch: Watch | None = None) -> StoredRun:
    """A stored run, by its folder or its result.json.

    Args:
        path: The folder or the file.
        watch: Called with what is read, how many samples are done, and of how many.

    Raises:
        ResultError: There is no run, or it is damaged.
    """
    place = Path(path)
    copy = None
    if place.suffix == ".json" and place.with_suffix(".run").is_dir():
        place, copy = place.with_suffix(".run"), place
    elif place.suffix == ".json" and place.name != RESULT and place.is_file():
        # The file alone, as somebody sent it: scores can be read, samples are missed where needed.
        document, version = _read_document(place, path)
        return StoredRun(place.with_suffix(".run"), _validated(document, place), version, watch)
    folder = place.parent if place.name == RESULT else place
    if not is_run(folder) and is_run(folder / BESIDE_RESULT):
        folder, copy = folder / BESIDE_RESULT, folder / RESULT
    document, version = _read_document(folder / RESULT, path)
    if copy is not None and copy.exists() and _read_document(copy, path)[0] != document:
        raise ResultError(f"{copy} and {folder / RESULT} are not of one run", _AGAIN)
    return StoredRun(folder, _validated(document, folder / RESULT), version, watch)


def read_result(file: Path) -> RunResult:
    """A result.json, migrated to the current schema version.

    Raises:
        ResultError: It is not there, damaged, or of a newer schema version.
    """
    document, _ = _read_document(file, file)
    return _validated(document, file)


def parse_result(document: Any, file: Path) -> RunResult:
    """The result in parsed JSON, migrated to the current schema version.

    Args:
        document: The parsed text.
        file: Where it was read from, for messages.

    Raises:
        ResultError: It is damaged, or of a newer schema version.
    """
    return _validated(migrate(document, check_schema(document, file)), file)


def _read_document(file: Path, named: str | Path) -> tuple[dict[str, Any], int]:
    """The migrated document and the schema version that the file has.

    Args:
        file: The file.
        named: How the user named the run, for the message if there is none.
    """
    try:
        document = parse_json(file.read_text(encoding="utf-8"), strict=True)
    except (FileNotFoundError, NotADirectoryError) as error:
        if (file.parent / SAMPLES).is_file():
            raise ResultError(
                f"{file.parent}: {SAMPLES} is there and {RESULT} is not: the run was killed while "
                "it was written",
                _AGAIN,
            ) from error
        raise ResultError(
            f"{named}: no stored run there", f"name a run folder or its {RESULT}"
        ) from error
    except (OSError, ValueError) as error:
        raise ResultError(f"{file}: cannot be read: {error}") from error
    version = check_schema(document, file)
    return migrate(document, version), version


def check_schema(document: Any, file: Path) -> int:
    """The schema version of a document; one that a newer program has written is refused.

    Raises:
        ResultError: The version is newer, or the document names none.
    """
    if not isinstance(document, dict):
        raise ResultError(f"{file}: is no result of a run")
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ResultError(f"{file}: is no result of a run: its schema_version is {version!r}")
    if version > SCHEMA_VERSION:
        raise ResultError(
            f"{file}: has schema version {version}, and this tenbin knows those up to "
            f"{SCHEMA_VERSION}",
            f"read it with tenbin {document.get('tenbin_version', 'of that time')} or newer",
        )
    return version


def _validated(document: Mapping[str, Any], file: Path) -> RunResult:
    try:
        result = RunResult.model_validate(document)
        fault = result_fault(result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        fault = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    if fault is not None:
        raise ResultError(f"{file}: is damaged, or no result of a run: {fault}", _AGAIN)
    return result


def read_samples(path: Path, wanted: Sequence[str] | None = None) -> Iterator[Sample]:
    """The rows of a samples file, a batch at a time.

    Args:
        path: The file.
        wanted: The columns to read besides the required ones; all if None. What is not read, and
            what files of earlier schema versions lack, is None.

    Raises:
        ResultError: The file is missing or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            check_columns(schema)
            names = [
                name
                for name in columns()
                if (wanted is None or name in wanted or name in REQUIRED) and name in schema.names
            ]
            for batch in file.iter_batches(batch_size=_BATCH, columns=names):
                for sample in _samples(batch):
                    number += 1
                    check_sample(sample)
                    yield sample
    except RowError as error:
        raise ResultError(f"{path}, row {number}: {error}", "run the same command again") from error
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def _samples(batch: Any) -> Iterator[Sample]:
    """The rows of an Arrow batch, built from its columns."""
    values = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    for name, record in (("outcomes", SampleOutcome), ("samples", SampledAnswer)):
        if name in values:
            values[name] = _records(values[name], record)
    empty = [None] * batch.num_rows
    return (Sample(*row) for row in zip(*(values.get(n, empty) for n in columns()), strict=True))


def _records(column: Sequence[Any], record: type[SampleOutcome] | type[SampledAnswer]) -> list[Any]:
    """A column of lists of structs as lists of records; nulls stay, for the check of the row."""
    known = record.__dataclass_fields__.keys()
    return [
        entries
        and [
            one and record(**{name: value for name, value in one.items() if name in known})
            for one in entries
        ]
        for entries in column
    ]


def samples_digest(path: Path) -> str:
    """The sha256 of a samples file; computed once for a file that stays the same.

    Raises:
        ResultError: The file is missing or cannot be read.
    """
    try:
        found = path.stat()
        return _digest(path, found.st_size, found.st_mtime_ns, found.st_ino)
    except OSError as error:
        raise _unreadable(path, error) from error


@lru_cache(maxsize=64)
def _digest(path: Path, size: int, changed: int, inode: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def samples_metadata(path: Path) -> dict[str, str]:
    """The metadata of a samples file; empty if it has none.

    Raises:
        ResultError: The file is missing or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_metadata(path).metadata or {}
        return {key.decode(): value.decode() for key, value in found.items()}
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ResultError:
    if isinstance(error, FileNotFoundError):
        return ResultError(f"{path}: the samples are missing", "run the same command again")
    return ResultError(f"{path}: the samples cannot be read: {error}", "run the same command again")
