"""What a target is: where its inputs come from, and what is done with one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

Make = Callable[[Random], bytes]
Check = Callable[[bytes, Path], None]


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that tenbin reads."""

    name: str
    make: Make
    """An input out of valid ones; the same for the same state of the generator."""
    check: Check
    """Reads an input as the command does, in an empty folder that it may write to. Returns where
    the input is accepted, raises a TenbinError where it is refused."""
    seeds: Callable[[], Sequence[bytes]]
    """The valid inputs: where these are refused, damaged ones do not get far either."""
    seconds: float = 5.0
    """Processor time that one input may take."""
    megabytes: int = 256
    """Memory that one input may add to the most that the process has ever had."""
    share: float = 1.0
    """Of the inputs or seconds of a run, next to the other targets."""


class PropertyError(AssertionError):
    """An input was accepted, and what was made of it is not as it must be."""


def input_at(target: Target, seed: int, index: int) -> bytes:
    """The input of this number: what a worker that hangs or dies was given can be made again."""
    return target.make(Random(f"{seed} {target.name} {index}"))
