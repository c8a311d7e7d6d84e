"""Diagnosis of a model's tokenizer on tasks, without weights: what `tenbin doctor` does.

`examining` goes through the cells, `cell` looks at one of them, `document` gives plain values.
"""

from tenbin.pipeline.doctor.document import as_document
from tenbin.pipeline.doctor.examine import Examination, examination_config, examine

__all__ = ["Examination", "as_document", "examination_config", "examine"]
