"""Every error a user can meet, each with a remedy.

    TenbinError
    ├── ConfigError      a flag, a run file or a model argument is wrong
    ├── TaskError        a task, template or group is unknown or malformed
    ├── DataError        rows are missing, damaged or not what the task needs
    │   └── MissingData      rows are not where they were looked for: --skip_missing does without
    │       └── DownloadError    a published file could not be fetched
    │           └── AlteredFile      a fetched file is not the published one
    ├── BackendError     a model could not be loaded or driven
    │   └── ModelLost        a model that was loaded is gone: its process was killed, or broke
    ├── JournalError     the journal of answers is damaged, or its file cannot be used
    ├── PluginError      what an installed package adds cannot be used
    ├── StorageError     a file cannot be written: its disk is full, read-only or broken
    └── ResultError      a stored run cannot be read or compared
        └── NothingScored    it is whole, but holds no scored document to work with

The command line prints the message and the hint and nothing else; a traceback means a fault in
tenbin itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from tenbin.sandbox.printable import brief

_LONGEST_MESSAGE, _LONGEST_HINT = 4_000, 2_000
"""Characters: a message may repeat what it was given, which may be a file of any size."""


class TenbinError(Exception):
    """Something the user can mend; `hint` says how."""

    def __init__(self, message: str, hint: str = "") -> None:
        message = brief(message, _LONGEST_MESSAGE)
        super().__init__(message)
        self.message = message
        self.hint = brief(hint, _LONGEST_HINT)

    def __str__(self) -> str:
        return f"{self.message}\n  → {self.hint}" if self.hint else self.message


class ConfigError(TenbinError):
    """A flag, a run file or a model argument is wrong."""


class TaskError(TenbinError):
    """A task, template or group is unknown or malformed."""


class DataError(TenbinError):
    """Rows are missing, damaged or not what the task needs."""


class MissingData(DataError):
    """Rows are not where they were looked for; `--skip_missing` leaves their tasks out."""


class DownloadError(MissingData):
    """A published file could not be fetched, or is not the published one."""


class AlteredFile(DownloadError):
    """A fetched file is not the published one, which `--skip_missing` does not overlook."""


class BackendError(TenbinError):
    """A model could not be loaded or driven."""


class ModelLost(BackendError):
    """A model that was loaded is gone: its process was killed, or broke.

    Another one may do better, so that workers which say this are replaced.
    """


class JournalError(TenbinError):
    """The journal of answers is damaged, or its file cannot be used."""


class PluginError(TenbinError):
    """What an installed package adds to tenbin cannot be used."""


class StorageError(TenbinError):
    """A file cannot be written: its disk is full, read-only or broken."""


class ResultError(TenbinError):
    """A stored run cannot be read or compared."""


class NothingScored(ResultError):
    """A run is whole, but holds no scored document to work with."""


def guess_at(name: str, known: Iterable[str]) -> str:
    """The beginning of a hint where a name is nearly a known one; nothing where it is not."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}? " if close else ""
