"""Length classes: which rows may share a batch under LongRoPE and dynamic RoPE.

These choose their frequencies by the longest row of a batch, so that a short row beside a long one
would give other numbers than the same row by itself.
"""

from __future__ import annotations

from typing import Any


class LengthClasses:
    """Separates rows that must not share a batch."""

    def __init__(self, config: Any) -> None:
        """Inspect a model's configuration.

        Args:
            config: That of the text model.
        """
        rope = dict(getattr(config, "rope_parameters", None) or {})
        self._kind = str(rope.get("rope_type") or rope.get("type") or "default")
        self._threshold: int | None = None
        if self._kind in {"dynamic", "longrope"}:
            known = rope.get("original_max_position_embeddings")
            known = known or getattr(config, "original_max_position_embeddings", None)
            self._threshold = int(known or config.max_position_embeddings)

    def of(self, length: int, growth: int = 0) -> int:
        """Return the class of a row.

        Args:
            length: Its tokens.
            growth: Tokens that may be generated after it.
        """
        if self._threshold is None or length + growth <= self._threshold:
            return 0
        if self._kind == "longrope" and length > self._threshold:
            return 1
        # Rows of one length cross the threshold together, and grow together beyond it.
        return 1 + length
