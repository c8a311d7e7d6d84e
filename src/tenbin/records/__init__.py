"""The frozen records that flow between the stages. Read these first.

Every stage takes some of them and gives others. They import no stage and hold no behaviour beyond
names derived from their own fields.
"""

from tenbin.records.document import Document, Prompt
from tenbin.records.outcome import Outcome, ScoreRow
from tenbin.records.request import Generate, Place, Request, Rolling, Score
from tenbin.records.response import (
    Failure,
    Finish,
    Picked,
    Response,
    Rolled,
    Scores,
    Text,
    ThinkingEnd,
    Usage,
)
from tenbin.records.task import (
    DEFAULT_TEMPLATE,
    MOST_CHOICES,
    MOST_REPEATS,
    MOST_SHOTS,
    MOST_TOKENS,
    Cell,
    DataFile,
    Dataset,
    FewshotPlan,
    FilterUse,
    Kind,
    MetricUse,
    Parallel,
    Sampling,
    Task,
    Template,
    Thinking,
)

__all__ = [
    "DEFAULT_TEMPLATE",
    "MOST_CHOICES",
    "MOST_REPEATS",
    "MOST_SHOTS",
    "MOST_TOKENS",
    "Cell",
    "DataFile",
    "Dataset",
    "Document",
    "Failure",
    "FewshotPlan",
    "FilterUse",
    "Finish",
    "Generate",
    "Kind",
    "MetricUse",
    "Outcome",
    "Parallel",
    "Picked",
    "Place",
    "Prompt",
    "Request",
    "Response",
    "Rolled",
    "Rolling",
    "Sampling",
    "Score",
    "ScoreRow",
    "Scores",
    "Task",
    "Template",
    "Text",
    "Thinking",
    "ThinkingEnd",
    "Usage",
]
