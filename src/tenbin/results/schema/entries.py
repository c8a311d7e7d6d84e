"""The parts of result.json, one frozen record each; `RunResult` in `result.py` holds them.

A reader keeps keys that it does not know, so that keys added later do not break it. A writer
cannot add one by accident: constructors take the fields below and nothing else, which mypy checks,
and `results.write` refuses a record that holds further keys.

Fields are written in the order of declaration, and only if they were set: an absent key and null
are different things, and older files lack keys.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Count: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 62)]
Whole: TypeAlias = Annotated[int, Field(gt=-(1 << 62), lt=1 << 62)]
# An integer stays an integer, so that a file is written as it was read.
Number: TypeAlias = Whole | Annotated[float, Field(allow_inf_nan=False)]
Texts: TypeAlias = Annotated[tuple[str, ...], Field(strict=False)]
ScoreEntries: TypeAlias = dict[str, Number | str | None]
Open: TypeAlias = dict[str, object]
"""A part whose keys belong to a backend or to the options of a run."""


class Record(BaseModel):
    """A part of result.json. Types are taken as they are: `"5"` is not a number."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="allow",
        populate_by_name=True,
        protected_namespaces=(),
        # Validators are built for the records that a command uses, when it uses them.
        defer_build=True,
    )

    def states(self, field: str) -> bool:
        """Whether the file has the key of a field, possibly with null; older files lack some."""
        return field in self.model_fields_set

    def to_json(self) -> dict[str, Any]:
        """The keys and values as the file holds them."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Detectable(Record):
    """The smallest difference to another run that would be found with 80 % power at 5 %."""

    unpaired: Number | None = Field(description="To a run on other documents.")
    paired: Number | None = Field(
        description="To a run on the same documents, if the two correlate by 0.5 over documents."
    )
    by_correlation: dict[str, Number | None] = Field(
        default_factory=dict,
        description="Correlation to the difference found on the same documents; null where a test "
        "of so few finds nothing.",
    )
    reason: str = Field(default="", description="Why neither is known; absent if they are.")


class UnweightedMean(Record):
    """The plain mean of a group's tasks."""

    value: Number | None = Field(description="The mean of the tasks' values.")
    stderr: Number | None = Field(description="Its standard error.")
    low: Number | None = Field(description="Lower end of the 95 % interval.")
    high: Number | None = Field(description="Upper end of the 95 % interval.")
    interval_method: str | None = Field(
        default=None, description="`wilson`, `t`, `bca`, `percentile` or `none`."
    )


class PartEntry(Record):
    """One kind of the parts that a metric is pooled over, such as a type of instruction."""

    value: Number = Field(description="Mean value of these parts.")
    n: Count = Field(description="How many there are, in all scored documents.")


class MetricDetail(Record):
    """What the value of one metric rests on."""

    n: Count = Field(description="Documents behind the value.")
    clusters: Count | None = Field(
        default=None, description="Independent units among the documents, such as paragraphs."
    )
    failed: Count = Field(description="Documents without a value.")
    aggregation: str = Field(
        default="",
        description="How values of documents become one: `mean`, `mcc`, …, or `function NAME`.",
    )
    stderr_method: str | None = Field(
        default=None, description="`analytic`, `bootstrap` or `none`."
    )
    low: Number | None = Field(default=None, description="Lower end of the 95 % interval.")
    high: Number | None = Field(default=None, description="Upper end of the 95 % interval.")
    interval_method: str | None = Field(
        default=None, description="`wilson`, `t`, `bca`, `percentile` or `none`."
    )
    detectable: Detectable | None = Field(
        default=None, description="Differences that a comparison could find."
    )
    higher_is_better: bool = Field(description="Whether a higher value is better.")
    unit: Literal["", "%"] = Field(description="`%` if values run from 0 to 100, else empty.")
    weight: Number | None = Field(
        default=None, description="Words, bytes or characters behind a perplexity."
    )
    unweighted: UnweightedMean | None = Field(
        default=None, description="Of a group: the plain mean of its tasks."
    )
    parts: dict[str, PartEntry] | None = Field(
        default=None,
        description="Of a metric over parts of documents: kind of part to its mean, such as the "
        "types of instructions; absent for other metrics.",
    )


class ParallelEntry(Record):
    """Which items a task shares with tasks in other languages and modes."""

    key: str = Field(description="Field that names the item.")
    items: str = Field(description="Family of the tasks that share their items.")
    columns: str = Field(description="Group of the tasks that differ in language alone.")
    compares: Literal["answers", "outcomes"] = Field(
        default="answers",
        description="`outcomes` if an answer is a text of its language, so that only whether it is"
        " right can be compared; absent otherwise.",
    )


class ThinkingEntry(Record):
    """The thinking section that was kept apart from answers."""

    opening: str = Field(default="", description="Mark before the thinking section.")
    closing: str = Field(default="", description="Mark after the thinking section.")
    budget: Count = Field(description="Tokens that thinking may take.")


class FunctionEntry(Record):
    """A Python function of a task file that took part in the run."""

    file: str = Field(description="Its file, or its module if a package brings it.")
    name: str = Field(description="Its name.")
    sha256: str = Field(description="Checksum of the file.")


class OriginEntry(Record):
    """Where an lm-eval task came from."""

    path: str = Field(description="The task file.")
    sha256: str = Field(description="Checksum of the file with all that it includes.")
    package: str | None = Field(
        default=None, description="Installed package that brings it, with its version."
    )
    functions: list[FunctionEntry] = Field(
        default_factory=list, description="Its functions, which were trusted and ran."
    )


class CellConfig(Record):
    """A task as it was asked: data, template, shots, decoding."""

    task: str = Field(description="Name of the task.")
    version: str = Field(description="Version of the task.")
    template: str = Field(description="Name of the template.")
    language: str = Field(description="Language of the task.")
    family: str | None = Field(
        default=None, description="Tasks of one family show the same examples."
    )
    parallel: ParallelEntry | None = Field(
        default=None, description="Items shared with other tasks; null if there are none."
    )
    output_type: str = Field(
        description="`choice`, `generate`, `loglikelihood`, or `roll` for perplexity."
    )
    dataset: str | None = Field(default=None, description="Name of the data set.")
    dataset_config: str | None = Field(default=None, description="Part of the data set.")
    split: str = Field(description="Split that was scored.")
    role: str | None = Field(
        default=None,
        description="`score`; `select` for documents that choose a template; `part` in a sweep on a"
        " budget, where each prompt is asked of a part of the documents.",
    )
    fewshot_split: str | None = Field(default=None, description="Split that examples come from.")
    fewshot_sampler: str | None = Field(
        default=None, description="`default`, `stratified` or `first_n`."
    )
    num_fewshot: Count = Field(description="Examples in each prompt.")
    limit: Number | None = Field(default=None, description="`--limit`, if there was one.")
    seed: Whole = Field(description="Seed that examples were sampled with.")
    description: str | None = Field(default=None, description="Text before the examples.")
    doc_to_text: str | int | None = Field(default=None, description="Template of the question.")
    doc_to_choice: str | Texts | None = Field(default=None, description="Template of the choices.")
    doc_to_target: str | int | Texts | None = Field(
        default=None, description="Template of the answer."
    )
    num_choices: Count | None = Field(
        default=None, description="Choices that a question of a generation task offers."
    )
    target_delimiter: str | None = Field(default=None, description="Text before an answer.")
    fewshot_delimiter: str | None = Field(default=None, description="Text between examples.")
    until: Texts = Field(default=(), description="Stop strings.")
    max_gen_toks: Count | None = Field(default=None, description="Limit of an answer in tokens.")
    do_sample: bool | None = Field(default=None, description="Whether answers were sampled.")
    temperature: Number | None = Field(default=None, description="Sampling temperature.")
    top_p: Number | None = Field(default=None, description="Nucleus sampling.")
    top_k: Count | None = Field(default=None, description="Top-k sampling; 0 for all tokens.")
    repeats: Count | None = Field(default=None, description="Answers for each document.")
    thinking: ThinkingEntry | None = Field(
        default=None, description="Thinking that was kept apart; null if none was."
    )
    metrics: Texts = Field(default=(), description="Metrics that were asked for.")
    filters: dict[str, list[Open]] = Field(
        default_factory=dict, description="Filter name to the steps that extract an answer."
    )
    tools: dict[str, str] | None = Field(
        default=None,
        description="What a metric leaves to other programs, such as `sentences`, to the program "
        "with its version; absent if it leaves nothing.",
    )
    origin: OriginEntry | None = Field(
        default=None, description="Of an lm-eval task: its file and functions; absent for others."
    )
    rotation: Count | None = Field(
        default=None,
        description="Places that the options were rotated by: option `i` of the row was shown at "
        "position `(i - rotation) mod options`; absent if they were shown as the row has them.",
    )
    format: dict[str, str] | None = Field(
        default=None,
        description="Of a prompt format: dimension of the grammar to its level, `–` where the "
        "dimension has no effect; absent for templates that somebody wrote.",
    )
    choices_by: str | None = Field(
        default=None, description="How choices were made; null if there were none."
    )


class GroupDefinition(Record):
    """What a mean that the catalogue defines is made of."""

    weighting: str = Field(description="How members are weighted, in words.")
    metrics: dict[str, str] = Field(description="Task id to the metric that enters the mean.")
    weights: dict[str, Number] = Field(description="Task id to its weight; together 1.")


class DocumentCounts(Record):
    """How many documents a task has."""

    original: Count = Field(description="Rows of the split.")
    effective: Count = Field(description="Documents asked; of a partial run, those answered.")
    asked: Count = Field(default=0, description="Of a partial run: all documents to be asked.")


class DataFileEntry(Record):
    """A file that rows were read from."""

    path: str = Field(description="Where it was.")
    sha256: str = Field(description="Its checksum.")
    rows: Count = Field(description="Rows in it.")
    source: str | None = Field(
        default=None,
        description="`download`, `data_dir`, `sample_data` or `datasets`; for functions of task "
        "files `process_docs`, `custom_dataset` or `samples`.",
    )
    version: str | None = Field(default=None, description="Version of the data, if known.")
    verified: bool = Field(
        default=False, description="Whether the bytes are those of the published file."
    )


class PromptEntry(Record):
    """Hashes of what was asked, and what the context window did to prompts."""

    template_hash: str = Field(description="Hash of the template's texts.")
    prompts_hash: str | None = Field(
        default=None, description="Hash of every prompt, continuation, stop string and limit."
    )
    documents_with_dropped_examples: Count = Field(
        default=0, description="Documents that lost examples to fit the window."
    )
    dropped_examples: Count = Field(default=0, description="Examples lost, in all.")
    truncated_documents: Count = Field(
        default=0, description="Documents truncated from the left to fit the window."
    )
    letter_share: Number | None = Field(
        default=None, description="Mean probability that choice labels hold as the first token."
    )


class GenerationLengths(Record):
    """Lengths of the answers of a generation task."""

    answers: Count = Field(description="Answers, each sampled one counted.")
    answer_tokens: Number | None = Field(description="Mean tokens of an answer.")
    cut_answers: Count = Field(default=0, description="Answers ended by the limit.")
    thinking_tokens: Number | None = Field(description="Mean tokens of thinking.")
    thoughts: dict[str, Count] | None = Field(
        description="How thinking ended, to the number of answers; null if none was kept apart."
    )


class EngineAnswers(Record):
    """One of the engines that gave the answers."""

    answers: Count = Field(description="How many it gave.")
    engine: Open | None = Field(default=None, description="The engine; null if it is not known.")
    model: str | None = Field(default=None, description="The model's name.")
    dtype: str | None = Field(default=None, description="Type of its weights.")
    device: str | None = Field(default=None, description="Where it ran.")
    parameters: Count | None = Field(default=None, description="Number of parameters.")
    libraries: Open | None = Field(default=None, description="Versions of its libraries.")


class UsageEntry(Record):
    """What a server counted for the answers of this run."""

    prompt_tokens: Count = Field(description="Tokens of prompts.")
    completion_tokens: Count = Field(description="Tokens of answers.")
    cached_tokens: Count = Field(description="Prompt tokens that came from the server's cache.")
    calls: Count = Field(description="Calls, retries among them.")
    answers: Count = Field(default=0, description="Answers that were counted.")
    not_counted: Count = Field(description="Answers that the server did not count.")
    from_journal: Count = Field(description="Answers that were in the journal.")
    cost: Number | None = Field(description="What it cost; null without prices.")
    prices: Open | None = Field(default=None, description="Prices of a million tokens.")


class TemplateChoice(Record):
    """The template that `--template auto` chose for a task."""

    template: str = Field(description="The chosen template.")
    metric: str = Field(description="The metric that it was chosen by.")
    documents: Count = Field(description="Documents that it was chosen on.")
    scores: dict[str, Number] = Field(description="Template to its score on these documents.")


class TemplateChoices(Record):
    """What `--template auto` chose."""

    select_on: str = Field(description="Split and number of documents, such as `train:200`.")
    tasks: dict[str, TemplateChoice] = Field(description="Task and version to the choice.")


class SamplesFile(Record):
    """What identifies the samples.parquet of this run."""

    sha256: str = Field(description="Checksum of the file.")
    bytes: Count = Field(description="Size of the file.")


class MergedRun(Record):
    """A run that `tenbin merge` joined with others."""

    run_id: str | None = Field(description="Its own `run_id`.")
    date: str = Field(description="When it began, in UTC.")
    tenbin_version: str | None = Field(default=None, description="The program that wrote it.")
    git_hash: str | None = Field(default=None, description="Revision of tenbin's checkout.")
    cells: list[str] = Field(description="Task ids of this result that come from it.")
    ids: dict[str, str] = Field(
        default_factory=dict,
        description="Task id here to its id in that run, where it had another there.",
    )
    config: Open = Field(description="The options of that run.")
    libraries: dict[str, str] = Field(default_factory=dict, description="Versions of libraries.")
    samples: SamplesFile | None = Field(default=None, description="Identifies its samples.")
