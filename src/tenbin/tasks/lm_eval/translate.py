"""From the keys of an lm-eval task file to a Task, by the meaning they have in lm-eval 0.4.13.

Nothing that the file names is imported or run. All that stands in the way is said at once: what
cannot be used here (refusals), and what a run would need first (trust in functions, packages).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tenbin.errors import TaskError
from tenbin.records import (
    MOST_SHOTS,
    Dataset,
    FewshotPlan,
    Kind,
    Task,
    TaskFunction,
    TaskOrigin,
)
from tenbin.tasks.lm_eval import scoring_keys, wording_keys
from tenbin.tasks.lm_eval.functions import named_functions
from tenbin.tasks.lm_eval.languages import language_of
from tenbin.tasks.lm_eval.needs import Need, needs_of, refuse_missing_files
from tenbin.tasks.lm_eval.task_keys import Keys, Refusal

_KINDS: Mapping[str, Kind] = {
    "multiple_choice": "choice",
    "generate_until": "generate",
    "loglikelihood_rolling": "perplexity",
    "loglikelihood": "loglikelihood",
}
_SAMPLERS: tuple[Literal["default", "first_n"], ...] = ("default", "first_n")
_FIRST_VERSION = "1.0"
_WRITTEN_TASK_KEYS = """
    task task_alias tag group task_list include custom_dataset dataset_path dataset_name
    dataset_kwargs training_split validation_split test_split fewshot_split process_docs
    doc_to_text doc_to_target doc_to_image doc_to_audio unsafe_code doc_to_choice process_results
    use_prompt description target_delimiter fewshot_delimiter fewshot_config num_fewshot
    metric_list output_type generation_kwargs repeats filter_list should_decontaminate
    doc_to_decontamination_query gen_prefix metadata class
"""
_TASK_KEYS = frozenset(_WRITTEN_TASK_KEYS.split())
_WRITTEN_FEWSHOT_KEYS = """
    sampler split process_docs fewshot_indices samples doc_to_text doc_to_choice doc_to_target
    gen_prefix fewshot_delimiter target_delimiter
"""
_FEWSHOT_KEYS = frozenset(_WRITTEN_FEWSHOT_KEYS.split())
_UNSUPPORTED: Mapping[str, tuple[str, str]] = {
    "class": (
        "the task is a Python class, which reads and judges in ways of its own",
        "run it with lm-eval, or write what it does as YAML",
    ),
    "doc_to_image": ("images are not supported", "run it with lm-eval: tenbin evaluates text"),
    "doc_to_audio": ("audio is not supported", "run it with lm-eval: tenbin evaluates text"),
    "unsafe_code": (
        "scoring runs the code that the model writes",
        "run it with lm-eval in a container: tenbin never runs a model's code",
    ),
    "use_prompt": (
        "prompts of promptsource are not supported",
        "write the prompt as doc_to_text and doc_to_target",
    ),
}


@dataclass(frozen=True, slots=True)
class Translation:
    """A task, or why there is none."""

    task: Task | None
    """None where something is refused."""
    needs: tuple[Need, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    def require(self) -> Task:
        """The task.

        Raises:
            TaskError: All refusals, one a line.
        """
        if self.task is None:
            remedies = dict.fromkeys(refusal.remedy for refusal in self.refusals)
            raise TaskError("\n".join(map(str, self.refusals)), "; ".join(remedies))
        return self.task


def translate(
    mapping: Mapping[str, Any], path: Path, *, sha256: str = "", package: str | None = None
) -> Translation:
    """The task that a file describes, with all needs and refusals.

    Args:
        mapping: The keys, with those of included files; functions as inert records.
        path: The file, for messages and for data files beside it.
        sha256: Of the file with all that it includes.
        package: The installed package that brings the file, with its version.
    """
    keys = Keys(mapping, str(path))
    _refuse_keys(keys)
    if "class" in mapping:
        return Translation(None, (), tuple(keys.refusals))  # the class holds all the rest
    task = _task(keys, path)
    functions = named_functions(task)
    needs = tuple(needs_of(functions))
    refuse_missing_files(keys, functions)
    if keys.refusals:
        return Translation(None, needs, tuple(keys.refusals))
    by_name = tuple(sorted({function for _, function in functions}, key=str))
    return Translation(
        replace(task, origin=TaskOrigin(str(path), sha256, package, by_name)), needs
    )  # fmt: skip


def _refuse_keys(keys: Keys) -> None:
    """Refuse what does not exist here, and what lm-eval would not know either."""
    for key, (reason, remedy) in _UNSUPPORTED.items():
        # To lm-eval a file with the key `class` is a class, whatever stands there.
        if keys.flag(key) or (key == "class" and key in keys.mapping):
            keys.refuse(key, reason, remedy)
    if "class" in keys.mapping:
        return
    for key in keys.mapping:
        if key not in _TASK_KEYS:
            keys.refuse(
                str(key),
                "is no key of lm-eval's task files",
                f"take {key} out, or put it under metadata",
            )


def _task(keys: Keys, path: Path) -> Task:
    """The task as far as the keys allow; what they do not allow has become a refusal."""
    name = keys.text("task")
    if not name:
        keys.refuse("task", "is missing", "give the task a name")
        name = path.stem
    kind = _kind(keys)
    generation = keys.inner("generation_kwargs")
    sampling = None
    if kind == "generate":
        scoring_keys.refuse_generation_keys(generation)
        sampling = scoring_keys.sampling(generation)
    process_results = keys.function("process_results")
    template = wording_keys.template(keys, kind, generation)
    scored = kind != "perplexity"
    shots = keys.number("num_fewshot", 0, MOST_SHOTS)
    return Task(
        name=name,
        version=_version(keys.mapping.get("metadata")),
        language=language_of(name, keys.mapping),
        family=name,
        group=None,
        kind=kind,
        dataset=_dataset(keys, path, name),
        split=_scored_split(keys),
        fewshot=_fewshot(keys) if scored else FewshotPlan(None),
        templates={template.name: template},
        default_template=template.name,
        metrics=scoring_keys.metrics(keys, kind, process_results is not None),
        filters=scoring_keys.filters(keys),
        max_gen_toks=scoring_keys.token_limit(generation),
        sampling=sampling,
        repeats=scoring_keys.repeats(keys, sampling is not None),
        title=keys.text("task_alias") or name,
        source=str(path),
        default_shots=(shots or 0) if scored else 0,
        zero_shot=scored and shots == 0,
        process_results=process_results,
        tags=_tags(keys),
    )


def _kind(keys: Keys) -> Kind:
    written = keys.mapping.get("output_type", "generate_until")
    if not isinstance(written, str) or written not in _KINDS:
        keys.refuse(
            "output_type", f"there is no {written!r}", f"write one of {', '.join(_KINDS)}"
        )  # fmt: skip
        return "generate"
    return _KINDS[written]


def _version(metadata: Any) -> str:
    version = metadata.get("version") if isinstance(metadata, Mapping) else None
    return _FIRST_VERSION if version is None else str(version)


def _tags(keys: Keys) -> tuple[str, ...]:
    written = keys.mapping.get("tag") or ()
    tags = [written] if isinstance(written, str) else written
    if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) for tag in tags):
        keys.refuse("tag", "takes a name or a list of names", "write names")
        return ()
    return tuple(dict.fromkeys(tags))


def _dataset(keys: Keys, path: Path, name: str) -> Dataset:
    custom = keys.function("custom_dataset")
    written = keys.text("dataset_path")
    if written is None and custom is None:
        keys.refuse(
            "dataset_path",
            "the file names no data",
            "give dataset_path (a hub id, or json with data_files)",
        )
    options = dict(keys.inner("dataset_kwargs").mapping)
    # Code of a data set is never run; lm-eval drops the key too where `datasets` has no such code.
    options.pop("trust_remote_code", None)
    metadata = keys.mapping.get("metadata")
    return Dataset(
        name=written or name,
        config=keys.text("dataset_name"),
        pinned=False,
        options=options,
        folder=str(path.parent),
        file=str(path),
        process_docs=keys.function("process_docs"),
        custom_dataset=custom,
        metadata=dict(metadata) if custom and isinstance(metadata, Mapping) else {},
        equal_keys=True,
    )


def _scored_split(keys: Keys) -> str:
    names = [keys.text(key) for key in ("test_split", "validation_split", "training_split")]
    split = next((name for name in names if name is not None), None)
    if split is None:
        keys.refuse("test_split", "the file names no split", "give test_split or validation_split")
    return split or ""


def _fewshot(keys: Keys) -> FewshotPlan:
    """Where examples come from: a split that the file names, its own samples, or lm-eval's rule."""
    config = keys.inner("fewshot_config")
    for key in config.mapping:
        if key not in _FEWSHOT_KEYS:
            config.refuse(
                str(key), "is no key of lm-eval's fewshot_config", f"take {key} out"
            )  # fmt: skip
    sampler = config.mapping.get("sampler", "default")
    if sampler not in _SAMPLERS:
        config.refuse("sampler", f"there is no {sampler!r}", f"write {' or '.join(_SAMPLERS)}")
        sampler = "default"
    named = config.text("split") if "split" in config.mapping else keys.text("fewshot_split")
    samples = _samples(config) if named is None else None
    rule = [keys.text(key) for key in ("training_split", "validation_split", "test_split")]
    split = named
    if named is None and samples is None:
        split = next((name for name in rule if name is not None), None)
    return FewshotPlan(
        split=split,
        sampler="first_n" if sampler == "first_n" else "default",
        samples=samples,
        indices=_indices(config),
        # lm-eval asks for it only where the split is named.
        process_docs=config.function("process_docs") if named is not None else None,
        excludes_document=named == keys.text("test_split"),
    )


def _samples(config: Keys) -> tuple[Mapping[str, Any], ...] | TaskFunction | None:
    written = config.mapping.get("samples")
    if written is None or isinstance(written, TaskFunction):
        return written
    return tuple(entry.mapping for entry in config.entries("samples"))


def _indices(config: Keys) -> tuple[int, ...] | None:
    written = config.mapping.get("fewshot_indices")
    if written is None:
        return None
    if not isinstance(written, list) or not all(type(one) is int and one >= 0 for one in written):
        config.refuse("fewshot_indices", "takes a list of row numbers from 0", "write row numbers")
        return None
    return tuple(written)
