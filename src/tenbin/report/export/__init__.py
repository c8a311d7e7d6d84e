"""Scores of stored runs as text for elsewhere: tables, records, model cards.

names             what runs are called beside each other
table             which scores belong into one column, which are missing, and why
numbers           values in one unit for a table
grid              a table arranged for reading: headings, rows, footnotes
records           the same as one flat record per score
csv_text, jsonl, markdown, latex, html_table      one format each
published         where the data of a task was published
model_card        `model-index` of hub model cards
every_eval_ever   the JSON of Every Eval Ever
formats           from the name of a format to its text
"""

from tenbin.report.export.formats import FORMATS, ExportSettings, export_text
from tenbin.report.export.names import name_runs
from tenbin.report.export.table import NamedRun

__all__ = ["FORMATS", "ExportSettings", "NamedRun", "export_text", "name_runs"]
