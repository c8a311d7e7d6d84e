"""What came of one input: accepted, refused, or a finding with its place in the code."""

from __future__ import annotations

import shutil
import time
import traceback
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tenbin.errors import TenbinError
from tests.fuzz.target import Target

LONGEST_MESSAGE = 6_200
"""Characters of an error, its hint included."""
_SOURCE = "/src/tenbin/"
_OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one input."""

    kind: Literal["accepted", "refused", "finding"]
    place: str = ""
    """Of a finding: what happened and where. Findings of one place are one."""
    detail: str = ""


def judge(target: Target, data: bytes, folder: Path) -> Verdict:
    """Give one input to its target.

    Args:
        target: What reads it.
        data: The input.
        folder: An empty folder; it is emptied again.
    """
    began, before = time.process_time(), _peak_megabytes()
    try:
        target.check(data, folder)
        verdict = Verdict("accepted")
    except TenbinError as error:
        verdict = _judge_message(error)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        verdict = _finding(type(error).__name__, error)
    took, grew = time.process_time() - began, _peak_megabytes() - before
    _empty(folder)
    if verdict.kind == "finding":
        return verdict
    if grew > target.megabytes:
        return Verdict("finding", "memory", f"{grew:.0f} MB more than before")
    if took > target.seconds:
        return Verdict("finding", "slow", f"{took:.1f} s of processor time")
    return verdict


def _judge_message(error: TenbinError) -> Verdict:
    """A refusal must be a few words that any terminal can show."""
    shown = str(error)
    if not error.message.strip():
        return _finding("empty message", error)
    if len(shown) > LONGEST_MESSAGE:
        return _finding("long message", error, f"{len(shown):,} characters: {shown[:200]}")
    if "Traceback (most recent" in shown:
        return _finding("traceback in message", error)
    raw = [one for one in shown if one not in "\n\t" and unicodedata.category(one) in ("Cc", "Cs")]
    if raw:
        return _finding("raw characters in message", error, f"{raw[0]!r} in {shown[:300]!r}")
    return Verdict("refused", detail=shown)


def _finding(what: str, error: BaseException, detail: str = "") -> Verdict:
    told = detail or "".join(traceback.format_exception(error, limit=-12))[-4_000:]
    return Verdict("finding", f"{what} at {_place(error)}", told)


def _place(error: BaseException) -> str:
    """The innermost frame of tenbin's own, and what it called."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _SOURCE in frame.filename]
    if not own:
        return _OUTSIDE
    return f"{own[-1].filename.rpartition(_SOURCE)[2]}:{own[-1].name}"


def _peak_megabytes() -> float:
    """The most memory that this process has had; `getrusage` begins with that of its parent."""
    status = Path("/proc/self/status").read_bytes()
    at = status.find(b"VmHWM:")
    return int(status[at + 6 : status.find(b"kB", at)]) / 1024


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
