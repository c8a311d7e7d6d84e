"""The types of a stored run: `RunResult` is result.json, `Sample` is a row of samples.parquet.

`tenbin schema` prints them as JSON Schema; docs/schema/ holds what it prints.
"""

from tenbin.results.schema.entries import (
    CellConfig,
    DataFileEntry,
    Detectable,
    DocumentCounts,
    EngineAnswers,
    FunctionEntry,
    GenerationLengths,
    GroupDefinition,
    MetricDetail,
    OriginEntry,
    ParallelEntry,
    PartEntry,
    PromptEntry,
    Record,
    SamplesFile,
    TemplateChoice,
    TemplateChoices,
    ThinkingEntry,
    UnweightedMean,
    UsageEntry,
)
from tenbin.results.schema.result import (
    SCHEMA_VERSION,
    MetricScore,
    RunResult,
    result_fault,
    stderr_key,
)
from tenbin.results.schema.sample import Sample, SampledAnswer, SampleOutcome, arrow_schema
from tenbin.results.schema.stopping import (
    BlockEntry,
    DecidedStop,
    LookEntry,
    Stopping,
    WidthStop,
)

__all__ = [
    "SCHEMA_VERSION",
    "BlockEntry",
    "CellConfig",
    "DataFileEntry",
    "DecidedStop",
    "Detectable",
    "DocumentCounts",
    "EngineAnswers",
    "FunctionEntry",
    "GenerationLengths",
    "GroupDefinition",
    "LookEntry",
    "MetricDetail",
    "MetricScore",
    "OriginEntry",
    "ParallelEntry",
    "PartEntry",
    "PromptEntry",
    "Record",
    "RunResult",
    "Sample",
    "SampleOutcome",
    "SampledAnswer",
    "SamplesFile",
    "Stopping",
    "TemplateChoice",
    "TemplateChoices",
    "ThinkingEntry",
    "UnweightedMean",
    "UsageEntry",
    "WidthStop",
    "arrow_schema",
    "result_fault",
    "stderr_key",
]
