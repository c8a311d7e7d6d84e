"""Rows of a data set, checked, as documents: from a folder, the sample data or a download.

This stage knows data sets and files. It knows nothing of tasks, prompts or models.
"""

from tenbin.data.load import DocumentSet, load_documents
from tenbin.data.pinned import DatasetDescription, describe_dataset
from tenbin.data.source_choice import DataChoice, Progress, cache_directory

__all__ = [
    "DataChoice",
    "DatasetDescription",
    "DocumentSet",
    "Progress",
    "cache_directory",
    "describe_dataset",
    "load_documents",
]
