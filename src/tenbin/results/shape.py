"""The shape of result.json, as far as the commands that read stored runs rely on it.

A file may be damaged, edited or made by another program: what is not of this shape is refused when
it is read, in one sentence, instead of breaking whatever reads it. Entries that are not named here
may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Count = Annotated[int, Field(ge=0, lt=1 << 62)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(gt=-(1 << 62), lt=1 << 62)]


class _Part(BaseModel):
    """Types are taken as they are: `"5"` is no number. Further keys are left alone."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Detectable(_Part):
    unpaired: Number | None
    paired: Number | None


class _Unweighted(_Part):
    value: Number | None
    stderr: Number | None
    low: Number | None
    high: Number | None


class _Detail(_Part):
    n: Count
    failed: Count
    clusters: Count | None = None
    aggregation: str = ""
    stderr_method: str | None = None
    low: Number | None = None
    high: Number | None = None
    interval_method: str | None = None
    detectable: _Detectable | None = None
    higher_is_better: bool
    unit: Literal["", "%"]
    weight: Number | None = None
    unweighted: _Unweighted | None = None


class _Parallel(_Part):
    key: str
    items: str
    columns: str


class _Thinking(_Part):
    budget: Count


class _Config(_Part):
    task: str
    version: str
    template: str
    language: str
    output_type: str
    split: str
    num_fewshot: Count
    seed: Whole
    role: str | None = None
    family: str | None = None
    fewshot_split: str | None = None
    fewshot_delimiter: str | None = None
    dataset: str | None = None
    dataset_config: str | None = None
    parallel: _Parallel | None = None
    choices_by: str | None = None
    num_choices: Count | None = None
    do_sample: bool | None = None
    temperature: Number | None = None
    top_p: Number | None = None
    top_k: Count | None = None
    repeats: Count | None = None
    thinking: _Thinking | None = None
    filters: dict[str, list[dict[str, Any]]] = Field(default_factory=dict)


class _DataFile(_Part):
    path: str
    sha256: str
    rows: Count
    version: str | None = None


class _Prompts(_Part):
    template_hash: str


class _Counts(_Part):
    original: Count
    effective: Count
    asked: Count = 0


class _Lengths(_Part):
    answers: Count
    answer_tokens: Number | None
    thinking_tokens: Number | None
    thoughts: dict[str, Count] | None


class _Usage(_Part):
    prompt_tokens: Count
    cached_tokens: Count
    completion_tokens: Count
    calls: Count
    cost: Number | None
    prices: dict[str, Any] | None = None
    not_counted: Count
    from_journal: Count


class _Model(_Part):
    engine: dict[str, Any] | None = None


class _Settings(_Part):
    seed: Whole


class _Result(_Part):
    results: dict[str, dict[str, Number | str | None]]
    details: dict[str, Annotated[dict[str, _Detail], Field(min_length=1)]]
    configs: Annotated[dict[str, _Config], Field(min_length=1)]
    counts: dict[str, _Counts] = Field(alias="n-samples")
    data: dict[str, dict[str, list[_DataFile]]]
    prompts: dict[str, _Prompts]
    groups: dict[str, dict[str, Number | str | None]]
    group_subtasks: dict[str, list[str]]
    group_details: dict[str, dict[str, _Detail]]
    failures: dict[str, dict[str, Count]]
    warnings: list[str]
    lengths: dict[str, _Lengths] = Field(default_factory=dict)
    usage: _Usage | None = None
    config: _Settings
    model: _Model
    engine: dict[str, Any] | None = None
    profile: str | None = None
    fingerprint: str
    date: str
    total_evaluation_time_seconds: Number | None = None
    answers_from_journal: Count | None = None
    tenbin_version: str | None = None
    run_id: str | None = None
    partial: bool = False


def shape_fault(document: Mapping[str, Any]) -> str | None:
    """What is wrong with the shape of a result document; None: nothing."""
    try:
        _Result.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"{where}: {first['msg']}"
    return next(_loose_ends(document), None)


def _loose_ends(document: Mapping[str, Any]) -> Iterator[str]:
    """Entries that others rely on and that are not there."""
    for name in ("results", "details", "n-samples", "data", "prompts"):
        yield from (f"{name}: lacks {id}" for id in document["configs"] if id not in document[name])
    yield from _unscored("results", document["results"], document["details"])
    if document.get("partial"):
        counts = document["n-samples"].items()
        yield from (f"n-samples.{id}: lacks asked" for id, one in counts if "asked" not in one)
    for name in ("group_subtasks", "group_details"):
        yield from (f"{name}: lacks {id}" for id in document["groups"] if id not in document[name])
    others = (id for id in document["group_details"] if id not in document["groups"])
    yield from (f"groups: lacks {id}" for id in others)
    for id, config in document["configs"].items():
        if config.get("do_sample"):
            drawn = (name for name in ("temperature", "top_p", "top_k") if config.get(name) is None)
            yield from (f"configs.{id}: is sampled and lacks {name}" for name in drawn)
    yield from _unscored("groups", document["groups"], document["group_details"])


def _unscored(
    name: str, results: Mapping[str, Any], details: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for id, entries in results.items():
        for metric in details.get(id, {}):
            first, comma, rest = metric.partition(",")
            for entry in (metric, f"{first}_stderr{comma}{rest}"):
                if entry not in entries or isinstance(entries[entry], str):
                    yield f"{name}.{id}: has no number {entry}"
