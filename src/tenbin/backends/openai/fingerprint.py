"""The server's half of a journal key: one hash of what is known of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def fingerprint_of(parts: Mapping[str, Any]) -> str:
    """One hash of everything that was gathered; the order of the parts does not matter."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
