"""Diagnosis of a model's tokenizer on tasks, without weights: what `tenbin doctor` does.

`examine` goes through the cells, `cell` looks at one of them, `report` gives the records.
"""

from tenbin.pipeline.doctor.examine import Examination, examination_config, examine
from tenbin.pipeline.doctor.report import CellReport, DiagnosisReport, report_of

__all__ = [
    "CellReport",
    "DiagnosisReport",
    "Examination",
    "examination_config",
    "examine",
    "report_of",
]
