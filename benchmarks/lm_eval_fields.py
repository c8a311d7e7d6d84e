"""Compare every task that tenbin makes of lm-eval's files with lm-eval's own reading of them.

Needs an environment with lm-eval 0.4.13 and tenbin's own requirements; nothing that a file names
is imported. Prints how many fields were compared, and each kind of difference with an example:

    PYTHONPATH=src python benchmarks/lm_eval_fields.py
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lm_eval
from lm_eval.api.registry import DEFAULT_METRIC_REGISTRY
from lm_eval.config.task import TaskConfig
from lm_eval.models.utils import normalize_gen_kwargs
from lm_eval.tasks._yaml_loader import load_yaml

from tenbin.files.allowed_paths import Reach
from tenbin.records import Task, TaskFunction
from tenbin.tasks.lm_eval.reading import read_task_file
from tenbin.tasks.lm_eval.translate import translate

ROOT = Path(lm_eval.__file__).parent / "tasks"
KINDS = {
    "multiple_choice": "choice",
    "generate_until": "generate",
    "loglikelihood_rolling": "perplexity",
    "loglikelihood": "loglikelihood",
}
Field = tuple[str, Any, Any]
"""Its name, what tenbin has and what lm-eval has."""


def main() -> int:
    """Compare; the exit code is 1 where a field differs."""
    logging.disable(logging.CRITICAL)
    compared: Counter[str] = Counter()
    differing: dict[str, tuple[str, Any, Any]] = {}
    refused: Counter[str] = Counter()
    tasks = 0
    for path in sorted(ROOT.glob("**/*.yaml")):
        keys = load_yaml(path, resolve_func=False)
        if "task" not in keys or "group" in keys or "class" in keys:
            continue
        translation = translate(read_task_file(path, Reach((ROOT,))).mapping, path)
        if translation.task is None:
            refused[translation.refusals[0].key] += 1
            continue
        tasks += 1
        given = {key: value for key, value in keys.items() if key not in ("tag", "task_list")}
        for name, mine, theirs in fields(translation.task, TaskConfig(**given)):
            compared[name] += 1
            if mine != theirs:
                differing.setdefault(name, (path.name, mine, theirs))
    print(f"{tasks:,} tasks, {sum(compared.values()):,} fields compared; refused: {dict(refused)}")
    for name, (file, mine, theirs) in differing.items():
        print(f"{name} differs, such as {file}: {mine!r:.200} is {theirs!r:.200} in lm-eval")
    return 1 if differing else 0


def plain(value: Any) -> Any:
    """A value in a form that both programs' values have: functions by name, tuples as lists."""
    if isinstance(value, TaskFunction):
        return f"function {value.name}"
    if isinstance(value, str) and value.startswith(f"{ROOT}/"):
        return f"function {value.rpartition('.')[2]}"
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def fields(task: Task, config: Any) -> Iterator[Field]:
    """Everything that both have, of one task."""
    kind, template = KINDS[config.output_type], task.templates["default"]
    yield "name", task.name, config.task
    yield "kind", task.kind, kind
    test, validation = config.test_split, config.validation_split
    yield "split", task.split, validation if test is None else test
    yield "target", plain(template.target), plain(config.doc_to_target)
    yield "choices", plain(template.choices), plain(config.doc_to_choice)
    yield "target_delimiter", template.target_delimiter, config.target_delimiter
    yield "fewshot_delimiter", template.fewshot_delimiter, config.fewshot_delimiter
    yield "gen_prefix", template.gen_prefix, config.gen_prefix
    yield "process_docs", plain(task.dataset.process_docs), plain(config.process_docs)
    yield "process_results", plain(task.process_results), plain(config.process_results)
    yield "custom_dataset", plain(task.dataset.custom_dataset), plain(config.custom_dataset)
    yield "dataset_path", task.dataset.name, config.dataset_path or config.task
    yield "dataset_name", task.dataset.config, config.dataset_name
    options = dict(config.dataset_kwargs or {})
    options.pop("trust_remote_code", None)
    yield "dataset_kwargs", dict(task.dataset.options), options
    metadata = config.metadata if isinstance(config.metadata, dict) else {}
    yield "version", task.version, str(metadata.get("version", "1.0"))
    yield from scoring(task, config)
    if kind != "perplexity":
        yield "text", plain(template.text), plain(config.doc_to_text)
        yield "description", template.description, config.description or ""
        yield from examples(task, config)
    if kind == "generate":
        yield from generation(task, config)


def examples(task: Task, config: Any) -> Iterator[Field]:
    """Where few-shot examples come from and how they are worded."""
    plan, shots, template = task.fewshot, config.fewshot_config, task.templates["default"]
    rule = (config.training_split, config.validation_split, config.test_split)
    split, samples = shots.split, None
    if split is None:
        samples = shots.samples
        if samples is None:
            split = next((one for one in rule if one is not None), None)
    yield "fewshot split", plan.split, split
    yield "fewshot samples", plain(plan.samples), plain(samples)
    yield "fewshot sampler", plan.sampler, shots.sampler
    yield "excludes document", plan.excludes_document, shots.split == config.test_split
    yield "num_fewshot", task.default_shots, config.num_fewshot or 0
    if shots.split is not None:
        own = plan.process_docs or task.dataset.process_docs
        yield "fewshot process_docs", plain(own), plain(shots.process_docs)
    for name, key in (
        ("text", "doc_to_text"),
        ("target", "doc_to_target"),
        ("choices", "doc_to_choice"),
        ("target_delimiter", "target_delimiter"),
        ("fewshot_delimiter", "fewshot_delimiter"),
        ("gen_prefix", "gen_prefix"),
    ):
        own = getattr(template.example, name, None)
        used = getattr(template, name) if own is None else own
        yield f"example {name}", plain(used), plain(getattr(shots, key))


def generation(task: Task, config: Any) -> Iterator[Field]:
    """How answers are generated."""
    settings = normalize_gen_kwargs(config.generation_kwargs)
    stops = [stop for stop in settings["until"] if stop]
    yield "until", list(task.templates["default"].stop), stops
    yield "max_gen_toks", task.max_gen_toks, settings["max_gen_toks"]
    temperature = float(settings.get("temperature", 0.0))
    sampled = bool(settings["do_sample"]) and temperature > 0
    yield "do_sample", task.sampling is not None, sampled
    yield "repeats", task.repeats, config.repeats if sampled else 1
    if task.sampling is not None:
        yield "temperature", task.sampling.temperature, temperature
        yield "top_p", task.sampling.top_p, settings.get("top_p", 1.0)


def scoring(task: Task, config: Any) -> Iterator[Field]:
    """Metrics and filters."""
    listed = config.metric_list
    if listed is None:
        yield (
            "metrics",
            [use.name for use in task.metrics],
            DEFAULT_METRIC_REGISTRY[config.output_type],
        )
    else:
        names = [plain(entry["metric"]).removeprefix("function ") for entry in listed]
        yield "metrics", [use.name for use in task.metrics], names
        for use, entry in zip(task.metrics, listed, strict=True):
            yield "higher_is_better", use.higher_is_better, entry.get("higher_is_better")
            if "aggregation" in entry:
                yield "aggregation", plain(use.aggregation), plain(entry["aggregation"])
    mine = [
        [
            use.name,
            [{"function": plain(name), **plain(dict(options))} for name, options in use.steps],
        ]
        for use in task.filters
    ]
    theirs = [[entry["name"], plain(entry["filter"])] for entry in config.filter_list or []]
    yield "filters", mine, theirs


if __name__ == "__main__":
    sys.exit(main())
