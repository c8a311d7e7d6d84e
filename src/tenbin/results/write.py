"""Writes the files of a run: result.json, samples.parquet and run.yaml, all of them or none."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel

from tenbin.files.atomic import atomic_file
from tenbin.files.disk_errors import writing
from tenbin.results.arrow import arrow_array
from tenbin.results.folder import REMEDY, RESULT, RUN_FILE, SAMPLES, RunFolder
from tenbin.results.read import RUN_ID_KEY, SCHEMA_KEY
from tenbin.results.schema import RunResult, Sample, SamplesFile, arrow_schema
from tenbin.results.schema.sample import columns

_ROWS_PER_GROUP = 1_000
"""Rows of a Parquet row group: few enough to be read on demand, enough to compress well."""
_row = attrgetter(*columns())
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def write_run(
    folder: RunFolder, result: RunResult, samples: Iterable[Sample], run_file: Mapping[str, Any]
) -> RunResult:
    """Write all files of a run; each appears whole or not at all.

    All are written before the first gets its name. If the process is killed between two names, the
    digest in result.json shows that the files do not belong together.

    Args:
        folder: Where the run goes.
        result: Everything but the digest of the samples.
        samples: The documents.
        run_file: The options for run.yaml.

    Returns:
        The result as it was written, with the digest of the samples.
    """
    from tenbin.files.yaml_text import write_yaml

    unknown = next(_unknown_keys(result), None)
    assert unknown is None, f"results.schema does not declare {unknown}"
    path = folder.path
    metadata = {SCHEMA_KEY: str(result.schema_version)}
    if result.run_id is not None:
        metadata[RUN_ID_KEY] = result.run_id
    with ExitStack() as names:
        names.enter_context(writing(path, REMEDY))
        # They get their names in the opposite order: samples first, the user's own file last.
        targets = dict.fromkeys((folder.result_file, path / RESULT))
        results = [names.enter_context(atomic_file(file)) for file in targets]
        settings = names.enter_context(atomic_file(path / RUN_FILE))
        written = write_samples(names.enter_context(atomic_file(path / SAMPLES)), samples, metadata)
        identified = SamplesFile(sha256=written.sha256, bytes=written.bytes)
        complete = result.model_copy(update={"samples": identified})
        text = json.dumps(complete.to_json(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        # Names of files need not be UTF-8: what is none stands there as the text of its escape.
        text = _HALF_PAIR.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text)
        for file in results:
            file.write_text(text, encoding="utf-8")
        settings.write_text(write_yaml(dict(run_file)), encoding="utf-8")
    return complete


def _unknown_keys(value: object, where: str = "result") -> Iterator[str]:
    """Keys of records that the schema does not declare."""
    if isinstance(value, BaseModel):
        yield from (f"{where}.{name}" for name in value.model_extra or ())
        for name in value.model_fields_set:
            yield from _unknown_keys(getattr(value, name), f"{where}.{name}")
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _unknown_keys(entry, f"{where}.{name}")
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _unknown_keys(entry, where)


@dataclass(frozen=True, slots=True)
class Written:
    """What identifies a samples file."""

    sha256: str
    bytes: int
    rows: int


class _HashedFile:
    """A file that is hashed as it is written."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def write_samples(
    path: Path, samples: Iterable[Sample], metadata: Mapping[str, str] | None = None
) -> Written:
    """Write samples in row groups, so that memory does not grow with their number.

    Args:
        path: The file.
        samples: The documents.
        metadata: Stored in the file beside the rows: which run it belongs to.
    """
    import pyarrow.parquet as pq

    schema, count = arrow_schema(), 0
    if metadata:
        schema = schema.with_metadata(dict(metadata))
    with path.open("wb") as file:
        hashed = _HashedFile(file)
        with pq.ParquetWriter(hashed, schema, compression="zstd") as writer:
            for group in _row_groups(samples):
                count += len(group)
                writer.write_table(_table(group, schema))
        return Written(hashed.digest.hexdigest(), file.tell(), count)


def _table(group: Sequence[Sample], schema: Any) -> Any:
    import pyarrow as pa

    by_column = zip(*map(_row, group), strict=True)
    arrays = [
        arrow_array(values, field.type) for values, field in zip(by_column, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _row_groups(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    rest = iter(samples)
    while group := list(islice(rest, _ROWS_PER_GROUP)):
        yield group
