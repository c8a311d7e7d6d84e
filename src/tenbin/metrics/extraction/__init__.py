"""Read the choice that a generated answer gives, by the phrases of ten languages.

`strict` reads the form that a prompt asks for. `flexible` reads free text: `clean` brings it into a
plain form, `sections` divides it, `mention` finds the letters, and `stance` says how each stands.
"""

from tenbin.metrics.extraction.flexible import MOST_CHOICES, read_flexible
from tenbin.metrics.extraction.strict import read_strict

__all__ = ["MOST_CHOICES", "read_flexible", "read_strict"]
