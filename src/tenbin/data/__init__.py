"""Data sets to documents: rows from a folder, the sample data or a download, checked.

`load` is the way through; `sources` finds files, `readers` reads rows, `schemas` checks them.
"""

from tenbin.data.load import DocumentSet, load_documents, load_samples, rows_of_subset
from tenbin.data.process_docs import made_splits
from tenbin.data.sources.choice import DataChoice, Progress
from tenbin.data.sources.pinned import DatasetDescription, describe_dataset
from tenbin.files.home import cache_directory

__all__ = [
    "DataChoice",
    "DatasetDescription",
    "DocumentSet",
    "Progress",
    "cache_directory",
    "describe_dataset",
    "load_documents",
    "load_samples",
    "made_splits",
    "rows_of_subset",
]
