"""Stored runs read back: result.json, and the samples where they are asked for.

Two files that are not of one run are never read as one: result.json names the digest of its
samples, which is checked when samples are read. Listings need result.json alone and check no
digest. Knows files; what a document's entries mean, others know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenbin.errors import ResultError
from tenbin.files.json_text import parse_json
from tenbin.results.document import SCHEMA_VERSION
from tenbin.results.samples import read_samples, samples_digest, samples_facts
from tenbin.results.shape import shape_fault

RESULT, SAMPLES = "result.json", "samples.parquet"
FACT_RUN, FACT_SCHEMA = "tenbin_run_id", "tenbin_schema_version"
"""What samples.parquet says of itself."""
_AGAIN = "run the same command again: it goes on from the journal and writes both anew"


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run read back."""

    path: Path
    document: Mapping[str, Any]

    def samples(self, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Every document of the run, whole or in some columns.

        Raises:
            ResultError: The samples are missing, damaged, or those of another run.
        """
        self.check_samples()
        return self._of_this_run(read_samples(self.path / SAMPLES, columns))

    def _of_this_run(self, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for row in rows:
            if row["id"] not in self.document["configs"]:
                raise ResultError(
                    f"{self.path / SAMPLES}: has a document of {row['id']!r}, and {RESULT} has no "
                    "such task",
                    _AGAIN,
                )
            yield row

    def check_samples(self) -> None:
        """See that the samples are those that result.json was written with.

        Raises:
            ResultError: They are missing or others. Runs of earlier shapes do not say.
        """
        told = self.document.get("samples")
        if told is None:
            return
        path = self.path / SAMPLES
        if isinstance(told, dict) and samples_digest(path) == told.get("sha256"):
            return
        ids = [self.document.get("run_id"), samples_facts(path).get(FACT_RUN)]
        why = (
            "one was changed, or the run was killed while it was written"
            if ids[0] == ids[1]
            else f"result {ids[0]}, samples {ids[1] or 'that name none'}"
        )
        raise ResultError(f"{self.path}: {RESULT} and {SAMPLES} are not of one run: {why}", _AGAIN)


def read_run(path: str | Path) -> StoredRun:
    """A stored run, by its folder or its result.json.

    Raises:
        ResultError: When there is no run, or it is damaged.
    """
    place = Path(path)
    copy = None
    if place.suffix == ".json" and place.with_suffix(".run").is_dir():
        place, copy = place.with_suffix(".run"), place
    folder = place.parent if place.name == RESULT else place
    document = read_document(folder / RESULT, path)
    if copy is not None and copy.exists() and read_document(copy, path) != document:
        raise ResultError(f"{copy} and {folder / RESULT} are not of one run", _AGAIN)
    return StoredRun(folder, document)


def read_document(file: Path, named: str | Path | None = None) -> dict[str, Any]:
    """A result.json, of a shape that this program knows.

    Args:
        file: The file.
        named: How the user named the run, for the message where there is none.

    Raises:
        ResultError: It is not there, damaged, or of a newer shape.
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
            f"{named or file}: no stored run there", f"name a run folder or its {RESULT}"
        ) from error
    except (OSError, ValueError) as error:
        raise ResultError(f"{file}: cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise ResultError(f"{file}: is no result of a run")
    check_schema(document, file)
    if (fault := shape_fault(document)) is not None:
        raise ResultError(f"{file}: is damaged, or no result of a run: {fault}", _AGAIN)
    return document


def check_schema(document: Mapping[str, Any], file: Path) -> None:
    """Refuse what a newer program has written: what it means is not known here.

    Raises:
        ResultError: The shape is newer, or no shape is named.
    """
    shape = document.get("schema_version")
    if not isinstance(shape, int) or isinstance(shape, bool) or shape < 1:
        raise ResultError(f"{file}: is no result of a run: its schema_version is {shape!r}")
    if shape > SCHEMA_VERSION:
        raise ResultError(
            f"{file}: has schema version {shape}, and this tenbin knows those up to "
            f"{SCHEMA_VERSION}",
            f"read it with tenbin {document.get('tenbin_version', 'of that time')} or newer",
        )
