"""From a checked task file to Task records: one for each version and language it describes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tenbin.errors import TaskError
from tenbin.files.allowed_paths import Reach
from tenbin.records import (
    DEFAULT_TEMPLATE,
    INSTRUCTIONS,
    About,
    Citation,
    Dataset,
    DeclaredFormats,
    FewshotPlan,
    FilterUse,
    Kind,
    MetricUse,
    OptionFields,
    Parallel,
    Task,
    Template,
)
from tenbin.tasks.lm_eval.reading import ReadFile, read_task_file
from tenbin.tasks.rotation import split_rotation
from tenbin.tasks.sampling import SAMPLING_SETTINGS, sampling_of
from tenbin.tasks.schema import (
    LanguageBlock,
    OverrideBlock,
    SubsetBlock,
    TaskFile,
    TemplateBlock,
    WordingBlock,
)
from tenbin.tasks.task_file import plain_mapping

_KINDS: Mapping[str, Kind] = {
    "multiple_choice": "choice",
    "generate_until": "generate",
    "loglikelihood_rolling": "perplexity",
}
_METRICS: Mapping[Kind, tuple[str, ...]] = {
    "choice": ("acc", "acc_norm"),
    "generate": ("exact_match",),
    # lm-eval's three count words by spaces; where there are none a character is the better unit.
    "perplexity": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
}
# lm-eval's defaults, so that its files mean here what they mean there.
_TARGET_DELIMITER = " "
_FEWSHOT_DELIMITER = "\n\n"
_MAX_GEN_TOKS = 256
_WHOLE_TEXT = "loglikelihood_rolling scores the text of doc_to_target with no prompt before it"
_PYTHON = "lm-eval runs Python here; write it in Jinja, or prepare the rows beforehand"
_OWN_FOLDER = Reach()
_MOST_TEMPLATES = 10_000
_SHOWN_FAULTS = 10
_REFUSED = dict.fromkeys(("process_docs", "process_results", "custom_dataset", "class"), _PYTHON)


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """A task and how users may also write its version."""

    task: Task
    version_aliases: Mapping[str, str]
    path: Path


def load_file(
    path: Path, profile: str | None = None, reach: Reach = _OWN_FOLDER
) -> list[LoadedTask]:
    """All tasks that a file describes, worded as a reproduction profile words them.

    Args:
        path: The file.
        profile: A reproduction profile.
        reach: Where the files that it includes may lie, besides its own folder.

    Raises:
        TaskError: Naming the file and the key that is wrong.
    """
    read = read_task_file(path, reach)
    if read.mapping.get("rules") is not None:
        return [LoadedTask(_by_lm_eval_rules(read), {}, path)]
    mapping = plain_mapping(read)
    try:
        file = TaskFile.model_validate(mapping)
    except ValidationError as error:
        raise TaskError(_explain(path, error)) from error
    try:
        _check_amount(file)
        if file.languages and file.subsets:
            raise TaskError("languages and subsets exclude each other", "give one of them")
        _check_versions(file)
        return [
            LoadedTask(
                _placed(_build(file, version, part, profile), path), file.version_aliases, path
            )
            for version in _versions(file)
            for part in (file.languages or file.subsets or {file.language: OverrideBlock()})
        ]
    except TaskError as error:
        raise TaskError(f"{path}: {error.message}", error.hint) from error


def _by_lm_eval_rules(read: ReadFile) -> Task:
    from tenbin.tasks.lm_eval.templates import translate_templates

    return translate_templates(read.mapping, read.path, sha256=read.sha256).require()


def _placed(task: Task, path: Path) -> Task:
    """The task with the path of its file; relative paths of its data count from there."""
    dataset = replace(task.dataset, folder=str(path.parent), file=str(path))
    return replace(task, source=str(path), dataset=dataset)


def _check_versions(file: TaskFile) -> None:
    """Refuse versions of a language that the file does not have: tasks of a group share them."""
    for name, language in file.languages.items():
        for version in language.versions:
            if version not in file.versions:
                raise TaskError(
                    f"languages.{name}.versions.{version}: the file has no such version",
                    f'add "{version}": {{}} to its `versions:`',
                )


def _check_amount(file: TaskFile) -> None:
    """Refuse a file whose versions, languages, templates and variants multiply to too many."""
    parts = file.languages or file.subsets
    layers = [file, *file.versions.values(), *parts.values()]
    templates = sum(len(layer.templates) for layer in layers) + 1
    variants = max(len(layer.variants or ()) for layer in layers) + 1
    layers += [one for part in file.languages.values() for one in part.versions.values()]
    tasks = max(len(file.versions), 1) * max(len(parts), 1)
    if tasks * templates * variants > _MOST_TEMPLATES:
        raise TaskError(
            f"versions, languages or subsets, templates and variants together make "
            f"{tasks * templates * variants:,} templates; at most {_MOST_TEMPLATES:,} are possible"
        )


def _explain(path: Path, error: ValidationError) -> str:
    lines: list[str] = []
    for problem in error.errors(include_input=False, include_url=False):
        if len(lines) == _SHOWN_FAULTS:
            lines.append(f"{path}: and {error.error_count() - _SHOWN_FAULTS:,} more")
            break
        where = ".".join(_short(part) for part in problem["loc"])
        message = problem["msg"]
        if problem["type"] == "extra_forbidden":
            message = _REFUSED.get(where, "unknown key")
        lines.append(f"{path}: {where}: {message}")
    return "\n".join(lines)


def _short(part: str | int) -> str:
    text = str(part)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _versions(file: TaskFile) -> list[str]:
    if file.versions:
        return list(file.versions)
    return [str(file.metadata.get("version", "1.0"))]


def _build(file: TaskFile, version: str, part: str, profile: str | None) -> Task:
    """The task of one version and of one language or subset."""
    by_version = file.versions.get(version, OverrideBlock())
    subset = file.subsets.get(part)
    by_language = file.languages.get(part, LanguageBlock())
    language = file.language if subset else by_language.language or part
    layers: list[OverrideBlock] = [subset or by_language, by_version, file]
    if version in by_language.versions:
        layers.insert(0, by_language.versions[version])
    kind = _KINDS[file.output_type]
    if kind == "perplexity":
        _refuse_prompt_keys(file, layers)
    templates = {template.name: template for template in _templates(layers, kind, profile)}
    num_choices = _num_choices(file, layers, templates.values(), kind)
    default = file.default_template or next(iter(templates))
    if default not in templates:
        raise TaskError(f"default_template {default!r} is not among its templates")
    generation = [layer.generation_kwargs for layer in layers if layer.generation_kwargs]
    sampling = sampling_of({name: _first(generation, name) for name in SAMPLING_SETTINGS})
    if kind != "generate" and (sampling or file.repeats > 1):
        raise TaskError(
            f"{file.output_type} generates no text that could be sampled",
            "leave do_sample, temperature, top_p, top_k and repeats out",
        )
    name = f"{file.task}_{part}" if file.languages or subset else file.task
    # A whole text has no prompt, and an instruction has no answer that an example could show.
    alone = kind == "perplexity" or file.references == INSTRUCTIONS
    return Task(
        name=name,
        version=version,
        language=language,
        family=file.family or file.task,
        group=(subset.group if subset else None) or file.group,
        kind=kind,
        dataset=_dataset(file, part, subset),
        split=_scored_split(file),
        fewshot=FewshotPlan(None) if alone else _fewshot(file, layers),
        templates=templates,
        default_template=default,
        metrics=_metrics(layers, kind),
        filters=_filters(layers),
        references=file.references,
        labels=tuple(_first(layers, "labels") or ()),
        words=_first(layers, "words") or {},
        chance=_first(layers, "chance") or {},
        about=_about(file),
        num_choices=num_choices,
        max_gen_toks=_first(generation, "max_gen_toks") or _MAX_GEN_TOKS,
        sampling=sampling,
        repeats=file.repeats,
        title=(subset.title if subset else "") or file.title or file.task_alias or file.task,
        default_shots=file.num_fewshot or 0,
        parallel=_parallel(file, name, part),
        options=_options(file, layers, num_choices),
        formats=_formats(layers, language, kind, templates[default]),
    )


def _options(
    file: TaskFile, layers: list[OverrideBlock], num_choices: int | None
) -> OptionFields | None:
    """Which fields hold the options, and how many there are."""
    given = file.options
    if given is None:
        return None
    if not (given.lists or given.fields):
        raise TaskError("options: names no field", "give `lists` or `fields`")
    words = _first(layers, "words") or {}
    own = {"labels": _first(layers, "labels") or (), **{f"words.{n}": words[n] for n in words}}
    counts = [
        given.count,
        num_choices,
        *(len(own[path]) for path in given.lists if isinstance(own.get(path), list | tuple)),
    ]
    if given.fields:
        counts.append(len(given.fields))
    known = {count for count in counts if count is not None}
    if len(known) != 1 or min(known) < 2:
        said = " or ".join(map(str, sorted(known))) or "unknown"
        raise TaskError(
            f"options: the number of options is {said}",
            "give `count`, two or more, in agreement with `fields`, `labels` and `num_choices`",
        )
    return OptionFields(
        known.pop(), tuple(given.lists), tuple(given.fields), given.gold, tuple(given.fixed)
    )


def _formats(
    layers: list[OverrideBlock], language: str, kind: Kind, template: Template
) -> DeclaredFormats | None:
    """What the file says of prompt formats; None where it says nothing."""
    blocks = [layer.formats for layer in layers if layer.formats is not None]
    if not blocks:
        return None
    if kind != "choice" or not isinstance(template.target, str | int):
        raise TaskError("formats are for multiple_choice tasks with one right answer")
    labels, words = _first(layers, "labels") or (), _first(layers, "words") or {}
    return DeclaredFormats(tuple(blocks), language, template.target, words, tuple(labels))


def _num_choices(
    file: TaskFile, layers: list[OverrideBlock], templates: Iterable[Template], kind: Kind
) -> int | None:
    """The number of options that the task states; None if documents state it, or nothing does."""
    said: int | None = _first(layers, "num_choices")
    if said is None:
        return None
    if kind != "generate":
        raise TaskError(
            f"num_choices: {file.output_type} takes the number of options from doc_to_choice",
            "leave num_choices out",
        )
    for template in templates:
        if template.choices is not None:
            raise TaskError(
                f"template {template.name!r}: num_choices and doc_to_choice both give the "
                "number of options",
                "leave num_choices out: doc_to_choice gives it for each document",
            )
    return said


def _parallel(file: TaskFile, name: str, part: str) -> Parallel | None:
    if file.parallel is None:
        return None
    columns = file.group or name.removesuffix(f"_{part}")
    given = file.parallel
    return Parallel(given.key, file.family or columns, columns, given.compares)


def _first(layers: list[Any], key: str) -> Any:
    """The value of the nearest layer that sets the key."""
    return next((v for v in (getattr(layer, key, None) for layer in layers) if v is not None), None)


def _templates(layers: list[OverrideBlock], kind: Kind, profile: str | None) -> Iterator[Template]:
    names: dict[str, None] = {}
    for layer in reversed(layers):
        names.update(dict.fromkeys(layer.templates))
    variants = _first(layers, "variants") or {}
    for name in names or {DEFAULT_TEMPLATE: None}:
        if split_rotation(name)[1]:
            raise TaskError(
                f"template {name!r}: a name that ends in ~ and a number means rotated options",
                "give it another name",
            )
        blocks = [layer.templates[name] for layer in layers if name in layer.templates]
        overrides = [b.profiles[profile] for b in blocks if profile and profile in b.profiles]
        _refuse_task_settings(name, [*overrides, *blocks, *variants.values()])
        wording = [*overrides, *blocks, *layers]
        yield _template(name, wording, kind)
        for variant, block in variants.items():
            yield _template(f"{name}+{variant}", [block, *wording], kind)


def _refuse_task_settings(name: str, wording: list[WordingBlock]) -> None:
    """Refuse generation settings in a template, except `until`: they belong to the task."""
    for block in wording:
        for key in ("max_gen_toks", *SAMPLING_SETTINGS):
            if getattr(block.generation_kwargs, key, None) is not None:
                raise TaskError(
                    f"template {name!r}: generation_kwargs: {key} is a setting of the task",
                    "set it beside `task:`, or under `versions:`; templates may set `until`",
                )


def _template(name: str, wording: list[WordingBlock], kind: Kind) -> Template:
    text = _first(wording, "doc_to_text")
    target = _first(wording, "doc_to_target")
    choices = _first(wording, "doc_to_choice")
    if kind == "perplexity":
        text = _only_target(name, wording, text)
    if text is None:
        raise TaskError(f"template {name!r} has no doc_to_text")
    if target is None:
        raise TaskError(f"template {name!r} has no doc_to_target")
    if kind == "choice" and choices is None:
        raise TaskError(f"template {name!r} has no doc_to_choice")
    target_delimiter = _first(wording, "target_delimiter")
    fewshot_delimiter = _first(wording, "fewshot_delimiter")
    if target_delimiter is None:
        target_delimiter = _TARGET_DELIMITER
    if fewshot_delimiter is None:
        fewshot_delimiter = _FEWSHOT_DELIMITER
    generation = [block.generation_kwargs for block in wording if block.generation_kwargs]
    # Without generation_kwargs, an answer ends where the next example would begin.
    until = _first(generation, "until") if generation else [fewshot_delimiter]
    return Template(
        name=name,
        description=_first(wording, "description") or "",
        text=text,
        choices=tuple(choices) if isinstance(choices, list) else choices,
        target=target,
        stop=tuple(until or ()) if kind == "generate" else (),
        example_target=_first(wording, "example_target"),
        meant_for=_first([b for b in wording if isinstance(b, TemplateBlock)], "meant_for") or "",
        source=_first([b for b in wording if isinstance(b, TemplateBlock)], "source") or "",
        system_prompt=_first(wording, "system_prompt"),
        target_delimiter=target_delimiter,
        fewshot_delimiter=fewshot_delimiter,
    )


def _refuse_prompt_keys(file: TaskFile, layers: list[OverrideBlock]) -> None:
    given = {
        "num_fewshot": file.num_fewshot,
        "fewshot_split": file.fewshot_split,
        "fewshot_config": _first(layers, "fewshot_config"),
        "filter_list": _first(layers, "filter_list"),
        "references": file.references,
    }
    for key, value in given.items():
        if value:
            raise TaskError(f"{key}: {_WHOLE_TEXT}", "leave it out")


def _only_target(name: str, wording: list[WordingBlock], text: str | None) -> str:
    """Refuse every part of a prompt: a text that is scored as a whole has none."""
    for key in ("doc_to_text", "description", "doc_to_choice", "example_target"):
        if _first(wording, key):
            raise TaskError(
                f"template {name!r}: {key}: {_WHOLE_TEXT}",
                "leave it out, or put it into doc_to_target, where it is scored with the text",
            )
    return text or ""


def _about(file: TaskFile) -> About | None:
    given = file.about
    if given is None:
        return None
    cited = given.citation
    citation = Citation(**cited.model_dump()) if cited else None
    return About(given.asks, tuple(given.faults), citation, given.shots, given.note)


def _dataset(file: TaskFile, part: str, subset: SubsetBlock | None) -> Dataset:
    if file.dataset is not None:
        config = part if file.languages else None
        return Dataset(file.dataset, config, where=subset.where if subset else {})
    if subset is not None:
        raise TaskError("subsets need `dataset`, a set of the catalogue")
    if file.dataset_path is None:
        raise TaskError(
            "the file names no data", "give dataset_path (a hub id, or json with data_files)"
        )
    return Dataset(file.dataset_path, file.dataset_name, False, file.dataset_kwargs)


def _scored_split(file: TaskFile) -> str:
    split = file.test_split or file.validation_split or file.training_split
    if split is None:
        raise TaskError("the file names no split", "give test_split or validation_split")
    return split


def _fewshot(file: TaskFile, layers: list[OverrideBlock]) -> FewshotPlan:
    config = _first(layers, "fewshot_config")
    split = file.fewshot_split or file.training_split or file.validation_split or file.test_split
    if config is None:
        return FewshotPlan(split)
    if config.sampler == "stratified" and config.label is None:
        raise TaskError(
            "fewshot_config: a stratified sampler needs `label`, the field of its strata"
        )
    return FewshotPlan(
        config.split or split, config.sampler, config.label, whole_split=config.whole_split
    )


def _filters(layers: list[OverrideBlock]) -> tuple[FilterUse, ...]:
    """The chains of `filter_list`; an option `words.NAME` is that word of the language."""
    words = _first(layers, "words") or {}

    def option(value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith("words."):
            return value
        name = value.removeprefix("words.")
        if name not in words:
            raise TaskError(f"filter_list: {value}: `words` has no {name!r}")
        return words[name]

    return tuple(
        FilterUse(
            chain.name,
            tuple(
                (step.function, {key: option(one) for key, one in (step.model_extra or {}).items()})
                for step in chain.filter
            ),
        )
        for chain in _first(layers, "filter_list") or ()
    )


def _metrics(layers: list[OverrideBlock], kind: Kind) -> tuple[MetricUse, ...]:
    given = _first(layers, "metric_list")
    if not given:
        return tuple(MetricUse(name, name) for name in _METRICS[kind])
    return tuple(
        MetricUse(block.metric, block.name or block.metric, dict(block.model_extra or {}))
        for block in given
    )
