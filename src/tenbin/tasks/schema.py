"""The schema of a task file, a superset of lm-eval's YAML; `loader` makes Task records of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tenbin.records import MOST_CHOICES, MOST_REPEATS, MOST_SHOTS, MOST_TOKENS, Compared

_MOST_OPTIONS = 10
"""Options that every style of formats has symbols for."""
OutputType = Literal["multiple_choice", "generate_until", "loglikelihood_rolling"]


class Block(BaseModel):
    """Refuses keys it does not know, so that a misspelt one is not silently ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class GenerationBlock(Block):
    """lm-eval's `generation_kwargs`."""

    until: list[str] | None = None
    max_gen_toks: int | None = Field(default=None, gt=0, le=MOST_TOKENS)
    do_sample: bool | None = None
    temperature: float | None = Field(default=None, ge=0.0, allow_inf_nan=False)
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    top_k: int | None = Field(default=None, ge=0, le=MOST_TOKENS)

    @field_validator("until", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class WordingBlock(Block):
    """What a template says; unset parts come from the task, then from lm-eval's defaults."""

    description: str | None = None
    system_prompt: str | None = None
    """What `{{ system_prompt }}` stands for unless the user gives another text."""
    doc_to_text: str | None = None
    doc_to_choice: str | Annotated[list[str], Field(max_length=MOST_CHOICES)] | None = None
    doc_to_target: str | int | None = None
    example_target: str | None = None
    target_delimiter: str | None = None
    fewshot_delimiter: str | None = None
    generation_kwargs: GenerationBlock | None = None


class TemplateBlock(WordingBlock):
    """One entry of `templates:`."""

    meant_for: str | None = None
    source: str | None = None
    """Who publishes this wording; unset: it is tenbin's own."""
    profiles: dict[str, WordingBlock] = Field(default_factory=dict)
    """Reproduction profile → parts that it words differently."""


class FewshotBlock(Block):
    """lm-eval's `fewshot_config`, with tenbin's samplers."""

    sampler: Literal["default", "stratified", "first_n"] = "default"
    """`first_n`: the first rows of the split, in their order, for every document."""
    split: str | None = None
    label: str | None = None
    whole_split: bool = False
    """Examples of a subset come from all rows of the split."""


class ParallelBlock(Block):
    """Declares that other tasks of the family ask the same items."""

    key: str = "id"
    compares: Compared = "answers"
    """`outcomes` where an answer is a text of its language: right or wrong is compared."""


class OptionsBlock(Block):
    """Says which fields hold the options of a question, so that templates can be rotated."""

    lists: list[str] = Field(default_factory=list)
    fields: list[str] = Field(default_factory=list)
    gold: str = "label"
    count: int | None = Field(default=None, ge=2, le=MOST_CHOICES)
    """Options of a question; only needed where nothing else says it."""
    fixed: list[str] = Field(default_factory=list)
    """Templates that explain each option where it stands, and are never rotated."""


class MetricBlock(BaseModel):
    """One entry of `metric_list`; further keys are the metric's own options."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    metric: str
    name: str | None = None
    aggregation: (
        Literal["mean", "balanced_acc", "mcc", "macro_f1", "weighted_perplexity", "bits_per_byte"]
        | None
    ) = None
    """Accepted because lm-eval's files have it; a metric always uses its own aggregation."""
    higher_is_better: bool | None = None


class StepBlock(BaseModel):
    """One step of a filter; further keys are the step's own options."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    function: str


class FilterBlock(Block):
    """One entry of `filter_list`."""

    name: str
    filter: list[StepBlock]


class InstructionBlock(Block):
    """An instruction that asks for a symbol otherwise than for a text."""

    letter: str
    number: str | None = None
    """Unset: the sentence for letters, where it says {symbol}; else there is none."""
    text: str


class LabelWordsBlock(Block):
    """One entry of `labels:` of a format's wording."""

    words: str | Annotated[list[str], Field(min_length=2, max_length=_MOST_OPTIONS)]
    instructions: list[str | InstructionBlock]
    answers: Annotated[list[str], Field(min_length=1)]
    needs_instruction: bool = False


class SymbolsBlock(Block):
    """The words for the symbols of options."""

    letter: str
    number: str


class FormatWordingBlock(Block):
    """The words of formats in one language."""

    names: dict[str, Annotated[list[str], Field(min_length=1)]]
    answers: list[str] = Field(default_factory=list)
    instructions: list[str | InstructionBlock] = Field(default_factory=list)
    labels: dict[str, LabelWordsBlock] = Field(default_factory=dict)
    symbols: SymbolsBlock = SymbolsBlock(letter="letter", number="number")
    inputs: dict[str, str] = Field(default_factory=dict)
    """Sources of parts of the input that depend on the language of the wording."""


class FormatsBlock(Block):
    """The parts that prompt formats are made of (docs/prompt-formats.md)."""

    inputs: dict[str, str] | None = None
    options: Annotated[list[str], Field(min_length=2, max_length=_MOST_OPTIONS)] | None = None
    numeric_options: bool | None = None
    sentence_options: bool | None = None
    native: FormatWordingBlock | None = None
    english: FormatWordingBlock | None = None


class OverrideBlock(WordingBlock):
    """What a version or a language changes."""

    templates: dict[str, TemplateBlock] = Field(default_factory=dict)
    labels: list[str] | None = None
    words: dict[str, Any] | None = None
    """Words of the language, which templates name as `words.NAME`."""
    chance: dict[str, float] | None = None
    num_choices: int | None = Field(default=None, ge=2, le=26)
    """Options of each question of a generation task; `doc_to_choice` gives it per document."""
    fewshot_config: FewshotBlock | None = None
    metric_list: list[MetricBlock] | None = None
    filter_list: list[FilterBlock] | None = None
    variants: dict[str, WordingBlock] | None = None
    formats: FormatsBlock | None = None


class CitationBlock(Block):
    """The publication to cite."""

    authors: str
    year: int
    title: str
    venue: str


class AboutBlock(Block):
    """What pages and listings say about a task."""

    asks: str
    faults: list[str] = Field(default_factory=list)
    citation: CitationBlock | None = None
    shots: str = ""
    note: str = ""


class LanguageBlock(OverrideBlock):
    """One entry of `languages:`."""

    language: str | None = None
    """The language's code, where the entry is called otherwise (`jpn_Jpan`: ja)."""
    versions: dict[str, OverrideBlock] = Field(default_factory=dict)
    """What versions of the file change in this language alone."""


class SubsetBlock(OverrideBlock):
    """One entry of `subsets:`: the rows with these values, as a task of their own."""

    where: dict[str, str]
    title: str = ""
    group: str | None = None


class TaskFile(OverrideBlock):
    """A whole task file."""

    task: str
    title: str = ""
    task_alias: str | None = None
    family: str | None = None
    group: str | None = None
    tag: str | list[str] | None = None
    language: str = "und"
    dataset: str | None = None
    dataset_path: str | None = None
    dataset_name: str | None = None
    dataset_kwargs: dict[str, Any] = Field(default_factory=dict)
    output_type: OutputType = "generate_until"
    training_split: str | None = None
    validation_split: str | None = None
    test_split: str | None = None
    fewshot_split: str | None = None
    references: str | None = None
    parallel: ParallelBlock | None = None
    options: OptionsBlock | None = None
    num_fewshot: int | None = Field(default=None, ge=0, le=MOST_SHOTS)
    repeats: int = Field(default=1, ge=1, le=MOST_REPEATS)
    default_template: str | None = None
    versions: dict[str, OverrideBlock] = Field(default_factory=dict)
    version_aliases: dict[str, str] = Field(default_factory=dict)
    languages: dict[str, LanguageBlock] = Field(default_factory=dict)
    subsets: dict[str, SubsetBlock] = Field(default_factory=dict)
    about: AboutBlock | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    should_decontaminate: bool = False
    doc_to_decontamination_query: str | None = None
