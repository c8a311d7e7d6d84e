"""Files of a served folder: only regular files are opened, and only up to a size.

Otherwise, whoever can write into the folder could make the server show any file of the machine
through a link, wait for ever on a pipe, or run out of memory.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from tenbin.errors import ResultError

_MEBIBYTE = 1 << 20
MOST_JSON = 64 * _MEBIBYTE
MOST_SAMPLES = 4096 * _MEBIBYTE
"""Uncompressed bytes of samples, as the file states them."""


class DamagedError(ResultError):
    """A file of a run is not what it should be; the message says why."""


def check_plain(path: Path) -> os.stat_result:
    """Check that a path is a regular file.

    Raises:
        DamagedError: It is missing, or something else.
    """
    try:
        found = path.lstat()
    except OSError as error:
        raise DamagedError(f"{path.name}: {error.strerror}") from None
    if stat.S_ISLNK(found.st_mode):
        raise DamagedError(f"{path.name} is a symbolic link, which is not followed")
    if not stat.S_ISREG(found.st_mode):
        raise DamagedError(f"{path.name} is not a regular file")
    return found


def read_json(path: Path, most: int = MOST_JSON) -> Any:
    """Return the JSON of a regular file.

    Raises:
        DamagedError: It is not a regular file, too large, or no JSON.
    """
    check_plain(path)
    try:
        # It may have become a link or a pipe since the check.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise DamagedError(f"{path.name} is not a regular file")
            content = opened.read(most + 1)
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        reason = "is a symbolic link, which is not followed" if is_link else str(error.strerror)
        raise DamagedError(f"{path.name}: {reason}") from None
    if len(content) > most:
        raise DamagedError(f"{path.name} is larger than {most // _MEBIBYTE} MiB")
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_refuse)
    except RecursionError:
        raise DamagedError(f"{path.name} is nested too deeply") from None
    except ValueError:
        raise DamagedError(f"{path.name} is not valid JSON") from None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def check_samples(path: Path) -> None:
    """Check that samples are a regular file of a size that can be shown.

    Raises:
        DamagedError: They are not.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_plain(path)
    try:
        with pq.ParquetFile(path) as file:
            metadata = file.metadata
            size = sum(
                metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups)
            )
    except (OSError, pa.ArrowException):
        raise DamagedError(f"{path.name} is not a valid Parquet file") from None
    if size > MOST_SAMPLES:
        raise DamagedError(
            f"{path.name} holds more than {MOST_SAMPLES // _MEBIBYTE:,} MiB of samples:"
            " use tenbin report instead"
        )


def text(value: Any, name: str) -> str:
    """Return a text from an untrusted file; empty for null.

    Raises:
        DamagedError: It is something else, or very long.
    """
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > 1_000:
        raise DamagedError(f"its {name} is not a name")
    # A lone surrogate cannot be encoded as UTF-8.
    return value.encode("utf-8", "backslashreplace").decode()


def number(value: Any, name: str) -> float | None:
    """Return a finite number; None for null.

    Raises:
        DamagedError: It is something else.
    """
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) < 1e15 or math.isnan(value):
        raise DamagedError(f"its {name} is not a number that can be shown")
    return float(value) if isinstance(value, float) else value


def count(value: Any, name: str) -> int:
    """Return a non-negative integer.

    Raises:
        DamagedError: It is none.
    """
    found = number(value, name)
    if not isinstance(value, int) or found is None or found < 0:
        raise DamagedError(f"its {name} is not a count")
    return value


def mapping(value: Any, name: str) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        DamagedError: It is something else.
    """
    if not isinstance(value, dict):
        raise DamagedError(f"its {name} is not an object")
    return value
