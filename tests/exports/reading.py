"""Reads back what clients have written: MLflow's store with its client, W&B's offline log."""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_BLOCK, _HEADER = 32768, 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


@contextlib.contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@dataclass
class OfflineRun:
    """A run as W&B would upload it."""

    run: Any = None
    """The last record of the run itself: id, project, name, tags, notes."""
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[Any] = field(default_factory=list)
    exit_code: int | None = None


def offline_runs(folder: Path) -> list[OfflineRun]:
    """Every offline run in a folder, the oldest first."""
    return [_read(file) for file in sorted(folder.glob("wandb/offline-run-*/*.wandb"))]


def _read(file: Path) -> OfflineRun:
    found = OfflineRun()
    for record in _records(file.read_bytes()):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            found.run = record.run
            found.config |= {
                one.key: json.loads(one.value_json) for one in record.run.config.update
            }
        elif kind == "config":
            found.config |= {one.key: json.loads(one.value_json) for one in record.config.update}
        elif kind == "summary":
            found.summary |= {
                _key(one): json.loads(one.value_json) for one in record.summary.update
            }
        elif kind == "history":
            found.history.append(
                {_key(one): json.loads(one.value_json) for one in record.history.item}
            )
        elif kind == "artifact":
            found.artifacts.append(record.artifact)
        elif kind == "exit":
            found.exit_code = record.exit.exit_code
    return found


def _key(item: Any) -> str:
    return item.key or "/".join(item.nested_key)


def _records(data: bytes) -> Iterator[Any]:
    """The records of W&B's log: protocol buffers in the log format of LevelDB."""
    from wandb.proto import wandb_internal_pb2

    assert data[:4] == b":W&B"
    at, parts = _HEADER, b""
    while at + _HEADER <= len(data):
        left = _BLOCK - at % _BLOCK
        size, kind = struct.unpack_from("<HB", data, at + 4)
        if left < _HEADER or not kind:
            at += left
            continue
        body = data[at + _HEADER : at + _HEADER + size]
        at += _HEADER + size
        parts = body if kind in (_FULL, _FIRST) else parts + body
        if kind in (_FULL, _LAST):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(parts)
            yield record
