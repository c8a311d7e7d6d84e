"""Files with several wordings under lm-eval's rules: `rules: lm-eval` beside a map `templates:`.

All keys are lm-eval's and mean what they mean there. A template changes the wording of the file's
task, and every template is translated as a plain file with these words would be, so that a wording
has the same prompts in either form. `tenbin import-task` writes such files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tenbin.records import Task, Template
from tenbin.tasks.lm_eval.task_keys import Refusal
from tenbin.tasks.lm_eval.translate import Translation, translate

RULES = "lm-eval"
"""The value of `rules:` in such a file."""
OWN_KEYS = ("rules", "language", "title", "default_template", "templates")
"""Keys that lm-eval does not have."""
WORDING = (
    "description",
    "doc_to_text",
    "doc_to_choice",
    "doc_to_target",
    "target_delimiter",
    "fewshot_delimiter",
    "gen_prefix",
)
"""Keys of a template, besides `until` of `generation_kwargs` and the same in `fewshot_config`."""
_MEANT_FOR = "meant_for"
_INNER: Mapping[str, tuple[str, ...]] = {
    "generation_kwargs": ("until",),
    "fewshot_config": WORDING[1:],
}


def translate_templates(mapping: Mapping[str, Any], path: Path, *, sha256: str = "") -> Translation:
    """The task that such a file describes, with all needs and refusals.

    Args:
        mapping: The keys, with those of included files.
        path: The file, for messages and for data files beside it.
        sha256: Of the file with all that it includes.
    """
    refusals = list(_refusals(mapping, str(path)))
    if refusals:
        return Translation(None, (), tuple(refusals))
    shared = {key: value for key, value in mapping.items() if key not in OWN_KEYS}
    tasks: dict[str, Task] = {}
    for name, wording in mapping["templates"].items():
        found = translate(_laid_over(shared, wording), path, sha256=sha256)
        if found.task is None:
            named = [replace(one, key=f"templates.{name}: {one.key}") for one in found.refusals]
            return replace(found, refusals=tuple(named))
        tasks[name] = found.task
    default = mapping.get("default_template") or next(iter(tasks))
    task = replace(
        tasks[default],
        templates={
            name: _named(one, name, mapping["templates"][name]) for name, one in tasks.items()
        },
        default_template=default,
        language=str(mapping.get("language") or tasks[default].language),
        title=str(mapping.get("title") or tasks[default].title),
    )
    return replace(found, task=task)


def _named(task: Task, name: str, wording: Mapping[str, Any]) -> Template:
    (template,) = task.templates.values()
    return replace(template, name=name, meant_for=str(wording.get(_MEANT_FOR) or ""))


def _laid_over(shared: Mapping[str, Any], wording: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a plain file with a template's words."""
    mapping = {**shared, **{key: value for key, value in wording.items() if key != _MEANT_FOR}}
    for key in _INNER:
        if key in wording:
            mapping[key] = {**(shared.get(key) or {}), **(wording[key] or {})}
    return mapping


def _refusals(mapping: Mapping[str, Any], file: str) -> list[Refusal]:
    """What is wrong with the keys that lm-eval does not have."""
    if mapping.get("rules") != RULES:
        written = str(mapping.get("rules"))[:40]
        return [Refusal(file, "rules", f"there are no rules {written!r}", f"write {RULES}")]
    templates = mapping.get("templates")
    if not isinstance(templates, Mapping) or not templates:
        return [Refusal(file, "templates", "is no map of wordings", "name at least one template")]
    found = []
    for name, wording in templates.items():
        if not isinstance(name, str) or not isinstance(wording, Mapping):
            found.append(
                Refusal(
                    file,
                    f"templates.{name}",
                    "a template is a name with a map of keys",
                    "write the name in quotes if it is a number",
                )
            )
            continue
        for key, value in wording.items():
            inner = _INNER.get(key)
            if inner is None and key not in (*WORDING, _MEANT_FOR):
                remedy = f"templates may set {', '.join(WORDING)} and {_MEANT_FOR}"
                found.append(Refusal(file, f"templates.{name}.{key}", "is no wording", remedy))
            elif inner is not None and not (isinstance(value, Mapping) and set(value) <= {*inner}):
                remedy = f"templates may set {', '.join(inner)} there; the rest belongs to the task"
                found.append(Refusal(file, f"templates.{name}.{key}", "is no wording", remedy))
    default = mapping.get("default_template")
    if default is not None and default not in templates:
        remedy = f"templates: {', '.join(map(str, templates))}"
        found.append(Refusal(file, "default_template", f"there is no {default!r}", remedy))
    return found
