"""From keys and values as a user wrote them to a RunConfig.

Knows every key, its kind, and which keys contradict each other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from tenbin.config import kinds, writing
from tenbin.config.profiles import Profile, find_profile
from tenbin.config.settings import CROSSFIT, RunConfig
from tenbin.errors import ConfigError
from tenbin.records import MOST_REPEATS, MOST_SHOTS
from tenbin.sandbox.printable import shown


def _selection(value: Any) -> str:
    split, colon, count = str(value).rpartition(":")
    if value == CROSSFIT or (
        colon and split.strip() and count.isdecimal() and 0 < len(count) < 19 and int(count) > 0
    ):
        return str(value)
    raise ValueError("crossfit, or SPLIT:N such as train:200")


_COERCE: dict[str, Callable[[Any], Any]] = {
    "tasks": kinds.names,
    "model": kinds.text,
    "model_args": kinds.parse_model_args,
    "template": kinds.text,
    "templates": kinds.names,
    "num_fewshot_sweep": kinds.shots,
    "seeds": kinds.positive_to(MOST_SHOTS),
    "select_on": _selection,
    "num_fewshot": kinds.shots,
    "limit": kinds.limits,
    "seed": kinds.whole,
    "batch_size": kinds.batch,
    "dtype": kinds.one_of("auto", "float32", "bfloat16", "float16"),
    "device": kinds.text,
    "encoding": kinds.one_of("joint", "separate"),
    "apply_chat_template": kinds.flag,
    "system_instruction": kinds.text,
    "system_prompt": kinds.text,
    "chat_template_args": writing.template_args,
    "fewshot_as_multiturn": kinds.flag,
    "fewshot": kinds.one_of("random", "fixed"),
    "gen_kwargs": writing.gen_kwargs,
    "repeats": kinds.positive_to(MOST_REPEATS),
    "thinking": writing.marks,
    "thinking_budget": writing.budget,
    "extra_metrics": kinds.names,
    "data_dir": kinds.path,
    "sample_data": kinds.flag,
    "data_versions": kinds.versions,
    "split": kinds.text,
    "offline": kinds.flag,
    "include_path": kinds.names,
    "allow_outside_files": kinds.flag,
    "profile": kinds.text,
    "output_path": kinds.path,
    "overwrite": kinds.flag,
    "cache_dir": kinds.path,
    "no_cache": kinds.flag,
    "workers": kinds.positive,
    "ray_address": kinds.text,
    "num_gpus": kinds.amount,
    "num_cpus": kinds.processors,
    "shard_size": kinds.positive,
}


def build_config(given: Mapping[str, Any], where: str = "") -> RunConfig:
    """Check and complete what the user wrote.

    Args:
        given: Keys of RunConfig; None means not given.
        where: Where the keys come from, for messages: a file's name, or nothing for flags.

    Raises:
        ConfigError: An unknown key, a value of the wrong kind, or settings that contradict.
    """
    values = check_values(given, where)
    if not values.get("tasks"):
        raise ConfigError(
            "no tasks were named", "name some with --tasks; `tenbin tasks` lists what there is"
        )
    if "system_prompt" not in values and os.environ.get("SYSTEM_PROMPT"):
        values.update(check_values({"system_prompt": os.environ["SYSTEM_PROMPT"]}))
    profile = find_profile(values.get("profile"))
    _apply_profile(profile, values)
    if values.get("sample_data") and values.get("data_dir"):
        raise ConfigError("--sample_data and --data_dir exclude each other", "give one of them")
    _check_sweep(values)
    _check_dependent(values)
    _check_workers(values)
    return RunConfig(**values)


def check_values(given: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The given values in their types; what is None is left out."""
    prefix = f"{where}: " if where else "--"
    values: dict[str, Any] = {}
    for name, value in _without_shorthands(given).items():
        key = str(name).replace("-", "_")
        if key not in _COERCE:
            close = get_close_matches(key, _COERCE, n=1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise ConfigError(
                f"{prefix}{name}: unknown key", f"{hint}known keys: {', '.join(_COERCE)}"
            )
        if value is None:
            continue
        try:
            values[key] = _COERCE[key](value)
        except ValueError as error:
            raise ConfigError(f"{prefix}{name} takes {error}, not {shown(value)}") from None
    return values


def _without_shorthands(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """`jglue_version: 1.3` as `data_versions: {jglue: 1.3}`, for any suite of data sets."""
    short = {name: suite for name in given if (suite := version_shorthand(str(name)))}
    if not short:
        return given
    rest = {name: value for name, value in given.items() if name not in short}
    named = [f"{short[name]}={given[name]}" for name in short if given[name] is not None]
    if named:
        versions = rest.get("data_versions") or []
        listed = (
            [f"{suite}={version}" for suite, version in versions.items()]
            if isinstance(versions, Mapping)
            else kinds.split_list(versions)
        )
        rest["data_versions"] = [*listed, *named]
    return rest


def version_shorthand(name: str) -> str | None:
    """The suite whose version a key chooses: `jglue` of `jglue_version`; None for other keys."""
    suite, found, rest = name.replace("-", "_").rpartition("_version")
    return suite if suite and found and not rest else None


def _apply_profile(profile: Profile, values: dict[str, Any]) -> None:
    for key in ("encoding", "seed"):
        settled = getattr(profile, key)
        if settled is None:
            continue
        if values.get(key, settled) != settled:
            raise ConfigError(
                f"profile {profile.name} means {key} {settled}, not {values[key]}",
                f"leave --{key} out, or leave the profile out",
            )
        values[key] = settled
    if profile.draw == "running" and values.get("fewshot") == "fixed":
        raise ConfigError(f"profile {profile.name} draws examples in its own way, not fixed")


def _check_dependent(values: Mapping[str, Any]) -> None:
    """Refuse what has no effect without another key."""
    if values.get("thinking_budget") is not None and not values.get("thinking"):
        raise ConfigError("--thinking_budget bounds thoughts", "add --thinking on")
    if values.get("chat_template_args") and not values.get("apply_chat_template"):
        raise ConfigError(
            "--chat_template_args are variables of the model's chat template",
            "add --apply_chat_template",
        )


def _check_sweep(values: Mapping[str, Any]) -> None:
    """Refuse what a sweep cannot mean."""
    if values.get("template") and values.get("templates"):
        raise ConfigError(
            "--template names one template and --templates several", "give one of them"
        )
    if values.get("num_fewshot_sweep") and values.get("num_fewshot"):
        raise ConfigError(
            "--num_fewshot and --num_fewshot_sweep both set the shots", "give one of them"
        )
    for name in ("templates", "num_fewshot_sweep"):
        given = values.get(name, ())
        if len(set(given)) < len(given):
            raise ConfigError(f"--{name} names one of its values twice", "name each once")


def _check_workers(values: Mapping[str, Any]) -> None:
    """Refuse what is said of workers where there are none."""
    if values.get("workers") or values.get("ray_address"):
        return
    for name in ("num_gpus", "num_cpus", "shard_size"):
        if values.get(name) is not None:
            raise ConfigError(
                f"--{name} says what a worker takes, and there are no workers",
                "add --workers N, or --ray_address for a cluster",
            )
