"""Compares stored runs document by document.

comparability    what two cells do not have in common, and whether that matters
pairs            which cells are compared with which
groups           which groups, and what their means are made of
report           the records that come out
requirement      what a comparison must show, and whether it does
compare          joins these
"""

from tenbin.analysis.compare.compare import compare_runs
from tenbin.analysis.compare.pairs import Side, Wanted
from tenbin.analysis.compare.report import (
    Change,
    ComparedRun,
    ComparedScore,
    ComparisonReport,
    GroupComparison,
    MetricComparison,
)

__all__ = [
    "Change",
    "ComparedRun",
    "ComparedScore",
    "ComparisonReport",
    "GroupComparison",
    "MetricComparison",
    "Side",
    "Wanted",
    "compare_runs",
]
