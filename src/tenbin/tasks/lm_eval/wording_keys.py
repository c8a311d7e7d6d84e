"""How an lm-eval task words questions and examples: doc_to_*, delimiters and fewshot_config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tenbin.records import (
    DEFAULT_TEMPLATE,
    MOST_CHOICES,
    ExampleWording,
    Kind,
    TaskFunction,
    Template,
)
from tenbin.tasks.lm_eval.scoring_keys import stop_strings
from tenbin.tasks.lm_eval.task_keys import Keys

_TARGET_DELIMITER, _FEWSHOT_DELIMITER = " ", "\n\n"


def template(keys: Keys, kind: Kind, generation: Keys) -> Template:
    """The one wording of a task file.

    Args:
        keys: The whole file.
        kind: How the task asks.
        generation: Its `generation_kwargs`.
    """
    fewshot_delimiter = keys.text("fewshot_delimiter")
    target_delimiter = keys.text("target_delimiter")
    if fewshot_delimiter is None:
        fewshot_delimiter = _FEWSHOT_DELIMITER
    if target_delimiter is None:
        target_delimiter = _TARGET_DELIMITER
    text, target = keys.source("doc_to_text"), _target(keys)
    choices = _choices(keys)
    has_prompt = kind != "perplexity"
    if target is None:
        _missing(keys, "doc_to_target")
    if has_prompt and text is None:
        _missing(keys, "doc_to_text")
    if kind == "choice" and choices is None:
        _missing(keys, "doc_to_choice")
    if kind == "choice" and choices in ("", ()):
        keys.refuse("doc_to_choice", "names no choice", "write the choices, or Jinja that does")
    return Template(
        name=DEFAULT_TEMPLATE,
        # A whole text is scored without any prompt, whatever the file says about one.
        description=(keys.template("description") or "") if has_prompt else "",
        text=text if has_prompt and text is not None else "",
        choices=choices,
        target="" if target is None else target,
        target_delimiter=target_delimiter,
        fewshot_delimiter=fewshot_delimiter,
        stop=stop_strings(generation, fewshot_delimiter)
        if kind == "generate"
        else (),
        gen_prefix=keys.template("gen_prefix"),
        example=_example(keys) if has_prompt else None,
    )  # fmt: skip


def _missing(keys: Keys, key: str) -> None:
    # What is there but of a wrong type has been refused already.
    if keys.mapping.get(key) is None:
        keys.refuse(key, "is missing", f"write {key}")


def _example(keys: Keys) -> ExampleWording | None:
    """What `fewshot_config` words differently; None where it words nothing."""
    config = keys.inner("fewshot_config")
    wording = ExampleWording(
        text=config.source("doc_to_text"),
        choices=_choices(config),
        target=_target(config),
        target_delimiter=config.text("target_delimiter"),
        fewshot_delimiter=config.text("fewshot_delimiter"),
        gen_prefix=config.template("gen_prefix"),
    )
    if "gen_prefix" in config.mapping and wording.gen_prefix is None:
        # A null takes the prefix away from examples; without the key they have the question's.
        wording = replace(wording, gen_prefix="")
    return None if wording == ExampleWording() else wording


def _target(keys: Keys) -> str | int | TaskFunction | tuple[str, ...] | None:
    written = keys.mapping.get("doc_to_target")
    if not isinstance(written, list):
        return keys.source("doc_to_target")
    if not all(type(one) in (str, int) for one in written):
        keys.refuse("doc_to_target", "a list holds texts or indices", "write the right answers")
        return None
    return tuple(written)


def _choices(keys: Keys) -> str | tuple[str, ...] | TaskFunction | None:
    written = keys.mapping.get("doc_to_choice")
    if isinstance(written, Mapping):
        written = list(written.values())
    if written is None or isinstance(written, TaskFunction):
        return written
    if isinstance(written, str):
        return keys.template("doc_to_choice")
    if not isinstance(written, list) or not all(isinstance(one, str) for one in written):
        keys.refuse(
            "doc_to_choice",
            f"takes texts, not {str(written)[:60]!r}",
            "write each choice in quotes: YAML reads yes, no and 1 as other things than text",
        )
        return None
    if len(written) > MOST_CHOICES:
        keys.refuse("doc_to_choice", f"has more than {MOST_CHOICES:,} choices", "take some out")
        return None
    return tuple(written)
