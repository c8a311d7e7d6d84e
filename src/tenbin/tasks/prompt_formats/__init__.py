"""Prompt formats: templates that a grammar makes of the parts that a task file declares.

A format is one level for each dimension; its id says them all, and is the name of its template.
"""

from tenbin.tasks.prompt_formats.exclusions import check_exclusions, excluded_formats
from tenbin.tasks.prompt_formats.format_id import PromptFormat, is_format, read_format
from tenbin.tasks.prompt_formats.sample import sample_formats
from tenbin.tasks.prompt_formats.template import with_format, with_formats

__all__ = [
    "PromptFormat",
    "check_exclusions",
    "excluded_formats",
    "is_format",
    "read_format",
    "sample_formats",
    "with_format",
    "with_formats",
]
