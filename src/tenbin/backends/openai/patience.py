"""How long to wait before another try: what the server says, else longer each time.

Knows headers and dates; sends nothing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 60.0


@dataclass(slots=True)
class Patience:
    """Waits between tries, spread by a seeded generator so that calls do not return together."""

    retries: int
    first: float = 0.5
    longest: float = LONGEST_WAIT
    generator: random.Random = field(default_factory=lambda: random.Random(0))

    def wait_before(self, attempt: int, asked_for: float | None) -> float:
        """Seconds before the next try.

        Args:
            attempt: How many tries there were.
            asked_for: What the server asked for; never shortened.
        """
        spread = self.generator.random()
        if asked_for is not None:
            return asked_for + self.first * spread
        longest = min(self.longest, self.first * 2.0 ** (attempt - 1))
        return longest * (0.5 + 0.5 * spread)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a server asks to wait: given as a number, or as a date; None where it does not.

    Args:
        headers: The answer's, looked up in lower case.
        now: The time, for dates.
    """
    written = headers.get("retry-after", "").strip()
    if not written:
        return None
    try:
        return max(0.0, float(written)) if float(written) < float("inf") else None
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(written)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return max(0.0, (moment - (now or datetime.now(timezone.utc))).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None
