"""Checksums of the journal's rows: whether a row is what was written.

They find damage and careless edits. They are no signature: whoever rewrites a row together with its
digest is not found out.
"""

from __future__ import annotations

from hashlib import blake2b

SIZE = 16
"""Bytes of a digest."""


class RowDigest:
    """Digests of the answers of one fingerprint."""

    def __init__(self, fingerprint: str) -> None:
        """Begin with what all rows share."""
        name = fingerprint.encode()
        self._begun = blake2b(b"answer %d " % len(name) + name, digest_size=SIZE)

    def of(self, key: str, kind: str, payload: bytes, source: int) -> bytes:
        """The digest of one row."""
        state = self._begun.copy()
        state.update(f"{len(key)} {key}{kind} {source} ".encode(errors="surrogatepass"))
        state.update(payload)
        return state.digest()


def digest_of_source(number: int, description: bytes) -> bytes:
    """The digest of a row that says what gave answers."""
    return blake2b(b"source %d " % number + description, digest_size=SIZE).digest()
