"""Rounds: requests that a backend was given together, so that a run that was killed can give them
together again.

What a batch holds shows in the last bits of its answers, and a backend makes batches of all that it
is given. Answers name the round in which they were given, by a checksum of its keys. Where those
that are known from a round and those that are still open add up to it, the round was broken off
and can go on in the same batches.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b

_BYTES = 16


class KeySum:
    """A checksum of a set of keys, in whatever order they come."""

    def __init__(self) -> None:
        """Of no keys."""
        self._count = self._total = 0

    def add(self, keys: Iterable[str]) -> None:
        """Count these in; none of them was counted before."""
        for key in keys:
            digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
            self._total += int.from_bytes(digest, "big")
            self._count += 1

    def joined(self, others: Iterable[KeySum]) -> KeySum:
        """That of these keys and the others' together."""
        whole = KeySum()
        for one in (self, *others):
            whole._count += one._count
            whole._total += one._total
        return whole

    def __str__(self) -> str:
        """As it is written down."""
        return f"{self._count}-{self._total % 256**_BYTES:032x}"


class Rounds:
    """What is found out about the rounds of known answers while they are looked up."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._open = KeySum()
        self._known: dict[int, tuple[KeySum, array[int]]] = {}

    def note(self, numbers: Mapping[str, int], known: Mapping[str, int]) -> None:
        """Some more requests.

        Args:
            numbers: Their numbers, by key.
            known: Those that are answered, with the number of the answer's source.
        """
        self._open.add(key for key in numbers if key not in known)
        by_source: dict[int, list[str]] = {}
        for key, source in known.items():
            by_source.setdefault(source, []).append(key)
        for source, keys in by_source.items():
            total, places = self._known.setdefault(source, (KeySum(), array("Q")))
            total.add(keys)
            places.extend(numbers[key] for key in keys)

    def broken_off(self, round_of: Callable[[int], str | None]) -> tuple[str, list[int]]:
        """The round that the open requests belong to, and the numbers of its known ones.

        Args:
            round_of: The round of a source; None where it is not known.

        Returns:
            A new round, of the open ones alone, where they are no earlier one's rest.
        """
        sources: dict[str, list[int]] = {}
        for source in self._known:
            if (name := round_of(source)) is not None:
                sources.setdefault(name, []).append(source)
        for name, some in sources.items():
            if str(self._open.joined(self._known[source][0] for source in some)) == name:
                return name, sorted(n for source in some for n in self._known[source][1])
        return str(self._open), []
