"""Read the choice that a generated answer gives.

Knows texts, letters and the phrases of ten languages; knows no task, no gold answer and no metric.
"""

from tenbin.metrics.extraction.flexible import MOST_CHOICES, read_flexible
from tenbin.metrics.extraction.strict import read_strict

__all__ = ["MOST_CHOICES", "read_flexible", "read_strict"]
