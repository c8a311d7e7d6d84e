"""Compares stored runs document by document.

comparability    what two cells do not have in common, and whether that matters
pairs            which cells are compared with which
report           the records that come out
compare          joins these
"""

from tenbin.analysis.compare.compare import compare_runs
from tenbin.analysis.compare.pairs import Side, Wanted
from tenbin.analysis.compare.report import (
    Change,
    ComparedRun,
    ComparisonReport,
    MetricComparison,
)

__all__ = [
    "Change",
    "ComparedRun",
    "ComparisonReport",
    "MetricComparison",
    "Side",
    "Wanted",
    "compare_runs",
]
