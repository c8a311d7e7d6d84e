"""Task files from lm-eval's form to tenbin's and back, as YAML text.

A file is written only if the task that it describes is the same as before: what was written is
read back and compared, part by part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import yaml

from tenbin.errors import TaskError
from tenbin.files.yaml_text import parse_yaml, write_yaml
from tenbin.records import DEFAULT_TEMPLATE, Task, Template
from tenbin.tasks.formats import OWN_KEYS as TENBIN_KEYS
from tenbin.tasks.lm_eval.functions import named_functions
from tenbin.tasks.lm_eval.reading import ReadFile
from tenbin.tasks.lm_eval.task_keys import fault_of
from tenbin.tasks.lm_eval.templates import OWN_KEYS, RULES, WORDING, translate_templates
from tenbin.tasks.lm_eval.translate import translate

_OUTPUT_TYPES = {
    "choice": "multiple_choice",
    "generate": "generate_until",
    "perplexity": "loglikelihood_rolling",
    "loglikelihood": "loglikelihood",
}
_METRICS = frozenset(
    {
        "acc", "acc_bytes", "acc_mutual_info", "acc_norm", "bits_per_byte", "bleu", "brier_score",
        "byte_perplexity", "chrf", "exact_match", "likelihood", "perplexity", "ter",
        "word_perplexity",
    }
)  # fmt: skip
"""Of lm-eval 0.4.13, as far as the name means the same in tenbin's own files: `f1` does not."""
_FILTERS = frozenset(
    {
        "format_span", "lowercase", "majority_vote", "map", "multi_choice_regex", "regex",
        "regex_pos", "remove_whitespace", "take_first", "take_first_k", "uppercase",
    }
)  # fmt: skip
_PLACES = ("origin", "source", "templates", "default_template", "dataset")
"""Fields of a task that are compared in their own way."""


def to_tenbin(read: ReadFile, template: str = DEFAULT_TEMPLATE, package: str | None = None) -> str:
    """A plain lm-eval file in tenbin's form: its wording as the first of a map `templates:`.

    Args:
        read: The file with all that it includes.
        template: What its wording is to be called.
        package: The installed package that brings it, with its version, for the comment.

    Raises:
        TaskError: The file is no plain task of lm-eval's, or a key cannot be used here.
    """
    mapping, path = read.mapping, read.path
    own = sorted({"rules", *TENBIN_KEYS} & mapping.keys())
    if own:
        raise TaskError(
            f"{path}: is in tenbin's form already: it has {', '.join(own)}",
            "it can be used as it is; --to lm-eval writes it for lm-eval",
        )
    if isinstance(mapping.get("task"), list) or "task_list" in mapping:
        raise TaskError(f"{path}: describes a group, not a task", "import its tasks one by one")
    before = translate(mapping, path).require()
    _refuse_functions(before, path)
    words = {key: mapping[key] for key in WORDING if key in mapping}
    rest = {key: value for key, value in mapping.items() if key not in WORDING}
    written = {
        "rules": RULES,
        "task": rest.pop("task"),
        "language": before.language,
        **rest,
        "default_template": template,
        "templates": {template: words},
    }
    where = f"{package}, " if package else ""
    text = (
        f"# Made by `tenbin import-task` from {_line(path.name)} "
        f"({where}sha256 {read.sha256[:16]}).\n"
        "# The keys are lm-eval's and mean the same; what it included is written out.\n"
        "# Further wordings go under `templates:`, each with the keys that differ.\n"
        + write_yaml(written, blocks=True)
    )
    after = translate_templates(_parsed(text), path).require()
    _check_equal(before, after, before.default_template, template, path)
    return text


def to_lm_eval(task: Task, template: str, mapping: Mapping[str, Any] | None = None) -> str:
    """One template of a task as a plain file for lm-eval.

    Args:
        task: The task.
        template: One of its templates.
        mapping: The keys of its file, if that is worded by lm-eval's rules.

    Raises:
        TaskError: Naming every key that lm-eval does not have.
    """
    path = Path(task.source)
    _refuse_functions(task, path)
    written = _task_mapping(task, template) if mapping is None else _plain(mapping, template)
    text = (
        f"# Made by `tenbin import-task --to lm-eval` from {_line(path.name)}, "
        f"{_line(task.name)} {_line(task.version)}, template {template}.\n"
        + write_yaml(written, blocks=True)
    )
    after = translate(_parsed(text), path).require()
    _check_equal(task, after, template, after.default_template, path, plain=mapping is None)
    return text


def _refuse_functions(task: Task, path: Path) -> None:
    functions = [f"{key} ({function})" for key, function in named_functions(task)]
    if functions:
        raise TaskError(
            f"{path}: is no plain file: it names Python functions: {', '.join(functions)}",
            "run it as it is with --trust_tasks; to import it, write these keys in Jinja, and "
            "prepare the rows beforehand",
        )


def _plain(mapping: Mapping[str, Any], template: str) -> dict[str, Any]:
    """The keys of a file with `rules: lm-eval`, or of a plain one, with one template's words."""
    words = dict(mapping.get("templates", {}).get(template, {}))
    words.pop("meant_for", None)
    written = {key: value for key, value in mapping.items() if key not in OWN_KEYS}
    for key in ("generation_kwargs", "fewshot_config"):
        if key in words:
            words[key] = {**(mapping.get(key) or {}), **words[key]}
    return {**written, **words}


def _task_mapping(task: Task, name: str) -> dict[str, Any]:
    """The keys of a task in tenbin's own form.

    Raises:
        TaskError: Naming every key that lm-eval does not have.
    """
    template = task.templates[name]
    lacking = list(_lacking(task, template))
    if lacking:
        raise TaskError(
            f"{task.source}: {task.name}, template {name}: lm-eval has no {'; no '.join(lacking)}",
            "another template may do without, or write the task without these keys",
        )
    mapping: dict[str, Any] = {
        "task": task.name,
        "dataset_path": task.dataset.name,
        "dataset_name": task.dataset.config,
        "dataset_kwargs": dict(task.dataset.options) or None,
        "output_type": _OUTPUT_TYPES[task.kind],
        "test_split": task.split,
        "fewshot_split": task.fewshot.split,
        "num_fewshot": task.default_shots or None,
        "description": template.description or None,
        "doc_to_text": template.text,
        "doc_to_choice": list(template.choices)
        if isinstance(template.choices, tuple)
        else template.choices,
        "doc_to_target": template.target,
        "target_delimiter": template.target_delimiter,
        "fewshot_delimiter": template.fewshot_delimiter,
        "generation_kwargs": _generation(task, template),
        "filter_list": [
            {"name": use.name, "filter": [{"function": f, **dict(o)} for f, o in use.steps]}
            for use in task.filters
        ]
        or None,
        "metric_list": [{"metric": use.metric, **dict(use.options)} for use in task.metrics],
        "tag": list(task.tags) or None,
        "metadata": {"version": task.version},
    }
    return {key: value for key, value in mapping.items() if value is not None}


def _generation(task: Task, template: Template) -> dict[str, Any] | None:
    if task.kind != "generate":
        return None
    settings: dict[str, Any] = {"until": list(template.stop), "max_gen_toks": task.max_gen_toks}
    sampling = task.sampling
    if sampling is None:
        return {**settings, "do_sample": False}
    # Written out in full: what a file leaves out is another number in transformers.
    return {
        **settings,
        "do_sample": True,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
    }


def _lacking(task: Task, template: Template) -> Iterator[str]:
    """What the task has and lm-eval does not, as the keys of task files."""
    if task.dataset.pinned:
        yield f"dataset ({task.dataset.name}, which tenbin reads in a way of its own)"
    if task.references is not None:
        yield "references"
    if template.example_target is not None:
        yield "example_target"
    if task.fewshot.sampler == "stratified":
        yield "fewshot_config: sampler: stratified"
    if task.repeats > 1:
        yield "repeats whose mean counts"
    choices = template.choices if isinstance(template.choices, tuple) else ()
    if any(mark in one for one in choices for mark in ("{{", "{%")):
        yield "doc_to_choice with Jinja in a list"
    texts = (template.description, template.text, template.target, template.choices, *choices)
    for name in ("labels", "system_prompt"):
        if any(isinstance(text, str) and _names(text, name) for text in texts):
            yield f"{name} in a template"
    if template.description and _names(template.description, ""):
        yield "description with Jinja that is rendered once"
    for use in task.metrics:
        if use.metric not in _METRICS or use.name != use.metric:
            yield f"metric {use.name}"
    for chain in task.filters:
        for function, _ in chain.steps:
            if function not in _FILTERS:
                yield f"filter {function}"


def _line(name: str) -> str:
    """A name as one line of a comment: what is not printed is escaped."""
    return name if name.isprintable() else ascii(name)


def _names(text: str, name: str) -> bool:
    """Whether a text is Jinja that holds a name."""
    return name in text and fault_of(text) is None and ("{{" in text or "{%" in text)


def _parsed(text: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = parse_yaml(text.encode(), yaml.SafeLoader, "the written file")
    return found


def _check_equal(
    before: Task, after: Task, mine: str, theirs: str, path: Path, plain: bool = False
) -> None:
    """Refuse to write a file that describes another task.

    Args:
        before: The task that was read.
        after: The task of the written file.
        mine: The template of the first.
        theirs: The template of the second.
        path: The file that was read.
        plain: Whether only what a plain file of lm-eval's can say is compared.
    """
    first, second = before.templates[mine], after.templates[theirs]
    differing = [
        one.name
        for one in fields(Template)
        if one.name not in ("name", "meant_for")
        if getattr(first, one.name) != getattr(second, one.name)
    ]
    # Each form has its own rule for keys that some rows lack.
    data = [
        replace(one.dataset, folder=None, metadata={}, equal_keys=False) for one in (before, after)
    ]
    if data[0] != data[1]:
        differing.append("dataset")
    names = ("kind", "split", "version", "name", "max_gen_toks", "sampling", "default_shots")
    kept = [one.name for one in fields(Task) if one.name not in _PLACES]
    for name in names if plain else kept:
        if getattr(before, name) != getattr(after, name):
            differing.append(name)
    if differing:
        raise TaskError(
            f"{path}: cannot be written in the other form without a change of "
            f"{', '.join(differing)}"
        )
