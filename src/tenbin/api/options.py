"""The keywords that `evaluate` and its siblings share, for type checkers and completion."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar

from tenbin.config import RunConfig

Function = TypeVar("Function", bound=Callable[..., Any])


class RunOptions(TypedDict, total=False):
    """Options of a run; each is a flag of the command line, with underscores.

    None means the default. What a flag takes as text is taken as text here too.
    """

    model_args: Mapping[str, Any] | str | None
    template: str | None
    templates: Sequence[str] | str | None
    num_fewshot_sweep: Sequence[int] | int | str | None
    seeds: int | None
    select_on: str | None
    num_fewshot: Sequence[int] | int | str | None
    limit: Sequence[float] | float | str | None
    seed: int | None
    batch_size: int | str | None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None
    device: str | None
    encoding: Literal["joint", "separate"] | None
    apply_chat_template: bool | None
    system_instruction: str | None
    system_prompt: str | None
    chat_template_args: Mapping[str, Any] | str | None
    fewshot_as_multiturn: bool | None
    fewshot: Literal["random", "fixed"] | None
    gen_kwargs: Mapping[str, Any] | str | None
    repeats: int | None
    thinking: Sequence[str] | str | None
    thinking_budget: int | None
    extra_metrics: Sequence[str] | str | None
    data_dir: str | Path | None
    sample_data: bool | None
    data_versions: Mapping[str, str] | str | None
    split: str | None
    offline: bool | None
    include_path: Sequence[str | Path] | str | Path | None
    allow_outside_files: bool | None
    profile: str | None
    output_path: str | Path | None
    overwrite: bool | None
    cache_dir: str | Path | None
    no_cache: bool | None
    workers: int | None
    ray_address: str | None
    num_gpus: float | None
    num_cpus: float | None
    shard_size: int | None


def shows_options(function: Function) -> Function:
    """Give a function that takes `**options` a signature that names them, with their defaults."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    types = RunOptions.__annotations__
    options = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if one.default is MISSING else one.default,
            annotation=types[one.name].__forward_arg__,
        )
        for one in fields(RunConfig)
        if one.name in types and one.name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return function
