"""result.json, schema version 3: the whole of it, and what must hold between its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tenbin.results.schema.entries import (
    CellConfig,
    Count,
    DataFileEntry,
    DocumentCounts,
    EngineAnswers,
    GenerationLengths,
    GroupDefinition,
    MergedRun,
    MetricDetail,
    Number,
    Open,
    PromptEntry,
    Record,
    SamplesFile,
    ScoreEntries,
    TemplateChoices,
    UsageEntry,
)
from tenbin.results.schema.stopping import Stopping

SCHEMA_VERSION = 3


@dataclass(frozen=True, slots=True)
class MetricScore:
    """One number of the results with what it rests on."""

    metric: str
    value: float | None
    """None when no document could be scored."""
    stderr: float | None
    detail: MetricDetail


class RunResult(Record):
    """result.json: scores, what they rest on, and what makes them reproducible."""

    tenbin_version: str | None = Field(default=None, description="The program that wrote it.")
    schema_version: Count = Field(
        default=SCHEMA_VERSION, description="Version of this schema; older files are migrated."
    )
    results: dict[str, ScoreEntries] = Field(
        description="Task id to its `alias`, each metric, and each standard error (`acc_stderr`)."
    )
    details: dict[str, Annotated[dict[str, MetricDetail], Field(min_length=1)]] = Field(
        description="Task id to metric to what its value rests on."
    )
    versions: dict[str, str] = Field(default_factory=dict, description="Task id to task version.")
    n_shot: dict[str, Count] = Field(
        default_factory=dict,
        validation_alias="n-shot",
        serialization_alias="n-shot",
        description="Task id to shots.",
    )
    n_samples: dict[str, DocumentCounts] = Field(
        validation_alias="n-samples",
        serialization_alias="n-samples",
        description="Task id to its numbers of documents.",
    )
    higher_is_better: dict[str, dict[str, bool]] = Field(
        default_factory=dict, description="Task id to metric to whether higher is better."
    )
    configs: Annotated[dict[str, CellConfig], Field(min_length=1)] = Field(
        description="Task id to the task as it was asked."
    )
    data: dict[str, dict[str, list[DataFileEntry]]] = Field(
        description="Task id to split to the files that its rows came from."
    )
    prompts: dict[str, PromptEntry] = Field(description="Task id to hashes of its prompts.")
    lengths: dict[str, GenerationLengths] = Field(
        default_factory=dict, description="Id of a generation task to the lengths of its answers."
    )
    groups: dict[str, ScoreEntries] = Field(
        description="Group to its metrics: means weighted by documents."
    )
    group_subtasks: dict[str, list[str]] = Field(description="Group to the ids of its tasks.")
    group_details: dict[str, dict[str, MetricDetail]] = Field(
        description="Group to metric to what its value rests on."
    )
    group_definitions: dict[str, GroupDefinition] = Field(
        default_factory=dict,
        description="Group of the catalogue to what its mean is made of; absent without any.",
    )
    chosen_by: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="Task id to option (`task`, `template`, `num_fewshot`) to who chose its value: "
        "`profile NAME`, `group NAME` or `suite NAME`; absent where the user chose all.",
    )
    skipped: dict[str, str] = Field(
        default_factory=dict,
        description="With `--skip_missing`: task id to why its data could not be had; absent if "
        "there is none.",
    )
    failures: dict[str, dict[str, Count]] = Field(
        description="Task id to reason to documents that failed; tasks without failures are absent."
    )
    warnings: list[str] = Field(description="Lines shown below the table.")
    config: Open = Field(description="The options of the run.")
    profile: str | None = Field(default=None, description="The profile, or `tenbin`.")
    libraries: dict[str, str] = Field(
        default_factory=dict, description="Versions of Python and of libraries scores depend on."
    )
    plugins: dict[str, str] = Field(
        default_factory=dict,
        description="`backend NAME`, `metric NAME` or `task NAME` of another package, to its name "
        "and version; absent if there are none.",
    )
    git_hash: str | None = Field(
        default=None, description="Revision of tenbin's checkout; `+dirty` if files differ."
    )
    run_id: str | None = Field(
        default=None, description="Hash of the model, the data and all settings that affect scores."
    )
    tags: list[str] = Field(
        default_factory=list, description="With `--tags`: names that the user gave the run."
    )
    note: str | None = Field(
        default=None, description="With `--note`: what the user wrote about the run."
    )
    partial: bool = Field(default=False, description="Whether the run was stopped before its end.")
    model: Open = Field(description="What the backend says of the model.")
    engine: Open | None = Field(default=None, description="The engine, as in `model`.")
    answered_by: list[EngineAnswers] = Field(
        default_factory=list, description="Engines that gave answers, the most first."
    )
    fingerprint: str = Field(description="Fingerprint of the model: names its journal.")
    answers_from_journal: Count | None = Field(
        default=None, description="Requests that the journal answered."
    )
    scale: Open | None = Field(default=None, description="With workers: how work was spread.")
    date: str = Field(description="When the run began, in UTC.")
    usage: UsageEntry | None = Field(
        default=None, description="Tokens and cost; null if no server counts them."
    )
    total_evaluation_time_seconds: Number | None = Field(
        default=None, description="Seconds from the first check to the last score."
    )
    timing: dict[str, Number] = Field(
        default_factory=dict,
        description="Stage to its seconds, from the start of the command to the last score; stages "
        "do not overlap.",
    )
    template_choice: TemplateChoices | None = Field(
        default=None, description="With `--template auto`: what was chosen."
    )
    leaders: dict[str, list[list[str]]] = Field(
        default_factory=dict,
        description="With `--then`: task and version to the ids that lead a sweep on a budget, for "
        "each fold of the documents those that lead on the others; absent otherwise.",
    )
    stopping: Stopping | None = Field(
        default=None, description="With `--until`: when each task stopped; absent otherwise."
    )
    merged: list[MergedRun] = Field(
        default_factory=list,
        description="The runs that `tenbin merge` joined; absent for a run of its own.",
    )
    samples: SamplesFile | None = Field(
        default=None, description="Identifies the samples that belong to this result."
    )

    @property
    def seed(self) -> int:
        """`--seed` of the run."""
        seed = self.config["seed"]
        assert isinstance(seed, int), "checked by result_fault"
        return seed

    @property
    def model_name(self) -> str:
        """What the backend calls the model."""
        return str(self.model.get("model"))

    def scores(self, id: str) -> list[MetricScore]:
        """The metrics of a task."""
        return list(_scores(self.results[id], self.details[id]))

    def group_scores(self, id: str) -> list[MetricScore]:
        """The metrics of a group."""
        return list(_scores(self.groups[id], self.group_details[id]))


def stderr_key(metric: str) -> str:
    """The key of a metric's standard error, as lm-eval writes it: `exact_match_stderr,filter`."""
    name, comma, filter_name = metric.partition(",")
    return f"{name}_stderr{comma}{filter_name}"


def _scores(entries: ScoreEntries, details: Mapping[str, MetricDetail]) -> Iterator[MetricScore]:
    for metric, detail in details.items():
        value, stderr = entries[metric], entries[stderr_key(metric)]
        assert not isinstance(value, str) and not isinstance(stderr, str), "see result_fault"
        yield MetricScore(metric, value, stderr, detail)


def result_fault(result: RunResult) -> str | None:
    """What is wrong between the parts of a result, starting with the key; None if nothing is."""
    return next(_faults(result), None)


def _faults(result: RunResult) -> Iterator[str]:
    """Entries that others rely on and that are not there."""
    by_task: dict[str, Mapping[str, object]] = {
        "results": result.results,
        "details": result.details,
        "n-samples": result.n_samples,
        "data": result.data,
        "prompts": result.prompts,
    }
    for name, entries in by_task.items():
        yield from (f"{name}: lacks {id}" for id in result.configs if id not in entries)
    yield from _without_number("results", result.results, result.details)
    if result.partial:
        counts = result.n_samples.items()
        yield from (f"n-samples.{id}: lacks asked" for id, n in counts if not n.states("asked"))
    by_group: dict[str, Mapping[str, object]] = {
        "group_subtasks": result.group_subtasks,
        "group_details": result.group_details,
    }
    for name, entries in by_group.items():
        yield from (f"{name}: lacks {id}" for id in result.groups if id not in entries)
    others = (id for id in result.group_details if id not in result.groups)
    yield from (f"groups: lacks {id}" for id in others)
    for id, config in result.configs.items():
        if config.do_sample:
            settings = {name: getattr(config, name) for name in ("temperature", "top_p", "top_k")}
            missing = (name for name, value in settings.items() if value is None)
            yield from (f"configs.{id}: is sampled and lacks {name}" for name in missing)
    yield from _without_number("groups", result.groups, result.group_details)
    seed = result.config.get("seed")
    if not isinstance(seed, int) or isinstance(seed, bool) or abs(seed) >= 1 << 62:
        yield "config.seed: is not a whole number"
    if not isinstance(result.model.get("engine"), dict | None):
        yield "model.engine: is not an object"


def _without_number(
    name: str,
    results: Mapping[str, ScoreEntries],
    details: Mapping[str, Mapping[str, MetricDetail]],
) -> Iterator[str]:
    for id, entries in results.items():
        for metric in details.get(id, {}):
            for entry in (metric, stderr_key(metric)):
                if entry not in entries or isinstance(entries[entry], str):
                    yield f"{name}.{id}: has no number {entry}"
