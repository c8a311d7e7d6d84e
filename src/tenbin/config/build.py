"""From options as a user wrote them to a RunConfig: types, unknown names, contradictions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tenbin.config.run_config import AUTO, OPTIONS, RunConfig
from tenbin.config.values import DECIDED, split_list
from tenbin.errors import ConfigError
from tenbin.sandbox.printable import shown

if TYPE_CHECKING:
    from tenbin.config.profiles import Profile


def build_config(given: Mapping[str, Any], where: str = "") -> RunConfig:
    """Check and complete what the user wrote.

    Args:
        given: Keys of RunConfig; None means not given.
        where: Where the keys come from, for messages: a file's name, or nothing for flags.

    Raises:
        ConfigError: An unknown key, a value of the wrong kind, or settings that contradict.
    """
    return complete_config(check_values(given, where))


def complete_config(values: dict[str, Any]) -> RunConfig:
    """Complete values that `check_values` has checked.

    Raises:
        ConfigError: Settings that contradict each other.
    """
    if not values.get("tasks") and not values.get("suite"):
        raise ConfigError(
            "no tasks were named",
            "name some with --tasks, or a suite with --suite; `tenbin tasks` lists what there is",
        )
    if len(values.get("tasks", ())) == 1:
        from tenbin.config.lm_eval_options import hint_for_tasks

        if hint := hint_for_tasks(values["tasks"]):
            raise ConfigError(f"--tasks {values['tasks'][0]}: no task has this name", hint)
    if "system_prompt" not in values and os.environ.get("SYSTEM_PROMPT"):
        values.update(check_values({"system_prompt": os.environ["SYSTEM_PROMPT"]}))
    from tenbin.config.profiles import find_profile

    profile = find_profile(values.get("profile"))
    _apply_profile(profile, values)
    if values.get("sample_data") and values.get("data_dir"):
        raise ConfigError("--sample_data and --data_dir exclude each other", "give one of them")
    _check_sweep(values)
    _check_dependent(values)
    _check_workers(values)
    return RunConfig(**values)


def check_values(given: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The given values in their types, without those that are None.

    Args:
        given: Option names, with underscores or hyphens, and values as a user wrote them.
        where: Where they come from, for messages: a file's name, or nothing for flags.

    Raises:
        ConfigError: An unknown name, or a value of the wrong kind.
    """
    prefix = f"{where}: " if where else "--"
    values: dict[str, Any] = {}
    for name, value in _without_shorthands(given).items():
        key = str(name).replace("-", "_")
        if key not in OPTIONS:
            raise ConfigError(f"{prefix}{name}: unknown key", _hint_for_unknown(key))
        if value is None:
            continue
        try:
            values[key] = OPTIONS[key].kind.parse(value)
        except ValueError as error:
            from tenbin.config.lm_eval_options import hint_for_value

            raise ConfigError(
                f"{prefix}{name} takes {error}, not {shown(value)}", hint_for_value(key, value)
            ) from None
    return values


def _hint_for_unknown(key: str) -> str:
    from difflib import get_close_matches

    from tenbin.config.lm_eval_options import hint_for_name

    if hint := hint_for_name(key):
        return hint
    close = get_close_matches(key, OPTIONS, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"{guess}known keys: {', '.join(OPTIONS)}"


def _without_shorthands(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """`jglue_version: 1.3` as `data_versions: {jglue: 1.3}`, for any collection of data sets."""
    short = {name: collection for name in given if (collection := version_shorthand(str(name)))}
    if not short:
        return given
    rest = {name: value for name, value in given.items() if name not in short}
    named = [f"{short[name]}={given[name]}" for name in short if given[name] is not None]
    if named:
        versions = rest.get("data_versions") or []
        listed = (
            [f"{collection}={version}" for collection, version in versions.items()]
            if isinstance(versions, Mapping)
            else split_list(versions)
        )
        rest["data_versions"] = [*listed, *named]
    return rest


def version_shorthand(name: str) -> str | None:
    """The collection whose version a key chooses: `jglue` of `jglue_version`; else None."""
    collection, found, rest = name.replace("-", "_").rpartition("_version")
    return collection if collection and found and not rest else None


def _apply_profile(profile: Profile, values: dict[str, Any]) -> None:
    for key in ("encoding", "seed"):
        settled = getattr(profile, key)
        if settled is None:
            continue
        if values.get(key, settled) != settled:
            raise ConfigError(
                f"profile {profile.name} sets {key} to {settled}, not {values[key]}",
                f"leave --{key} out, or leave the profile out",
            )
        values[key] = settled
    if profile.apply_chat_template:
        values.setdefault("apply_chat_template", True)
    if profile.multiturn_chat and values.get("apply_chat_template"):
        values.setdefault("fewshot_as_multiturn", True)
    if profile.sampler != "document" and values.get("fewshot") == "fixed":
        raise ConfigError(
            f"profile {profile.name} samples examples in its own way: --fewshot fixed is not "
            "possible"
        )


def _check_dependent(values: Mapping[str, Any]) -> None:
    """Refuse what has no effect without another key."""
    if values.get("thinking_budget") is not None and not values.get("thinking"):
        raise ConfigError("--thinking_budget limits thinking, which is off", "add --thinking on")
    decided = values.get("until") == DECIDED
    if decided and not values.get("against"):
        raise ConfigError(
            "--until decided compares with a stored run, and none is named",
            "add --against RUN; or give a width, such as --until ±2",
        )
    if values.get("export_args") and not values.get("export"):
        raise ConfigError(
            "--export_args says where a run is shown, and nothing is to show it",
            "add --export wandb or --export mlflow",
        )
    if values.get("against") and not decided:
        raise ConfigError(
            "--against has no effect without --until decided",
            "add it; to compare two finished runs: tenbin compare",
        )
    if values.get("chat_template_args") and not values.get("apply_chat_template"):
        raise ConfigError(
            "--chat_template_args has no effect without the model's chat template",
            "add --apply_chat_template",
        )


def _check_sweep(values: Mapping[str, Any]) -> None:
    """Refuse what a sweep cannot mean."""
    if values.get("template") and values.get("templates"):
        raise ConfigError(
            "--template names one template and --templates several", "give one of them"
        )
    if values.get("formats") and values.get("template") not in (None, AUTO):
        raise ConfigError(
            "--template names one template and --formats asks for others",
            "leave one of them out, or name the template with --templates",
        )
    if values.get("formats") and values.get("rotations") and not values.get("templates"):
        raise ConfigError(
            "--rotations rotates templates, and --formats has the rotation among its dimensions",
            "leave --rotations out, or name templates with --templates",
        )
    for name in ("exclude_formats", "chat_formats"):
        if values.get(name) and not values.get("formats"):
            raise ConfigError(
                f"--{name} is about prompt formats, but none were asked for", "add --formats N"
            )
    if values.get("chat_formats") and values.get("apply_chat_template"):
        raise ConfigError(
            "--apply_chat_template puts all prompts into the model's chat format, --chat_formats "
            "some",
            "give one of them",
        )
    if values.get("num_fewshot_sweep") and values.get("num_fewshot"):
        raise ConfigError(
            "--num_fewshot and --num_fewshot_sweep both set the shots", "give one of them"
        )
    _check_budget(values)
    for name in ("templates", "num_fewshot_sweep"):
        given = values.get(name, ())
        if len(set(given)) < len(given):
            raise ConfigError(f"--{name} names a value twice", "name each value once")


def _check_budget(values: Mapping[str, Any]) -> None:
    """Refuse what a sweep on a budget cannot mean."""
    if values.get("budget") is None:
        if values.get("then"):
            raise ConfigError("--then follows a sweep on a budget", "add --budget 4x")
        return
    if values.get("until"):
        raise ConfigError(
            "--budget asks a part of the documents that is settled beforehand, and --until stops "
            "when enough were asked",
            "give one of them",
        )
    if values.get("select_on") and not values.get("then"):
        raise ConfigError(
            "--budget estimates a distribution and chooses nothing: --select_on has no effect",
            "leave it out, or add --then best:3 to run the leading prompts in full",
        )
    if values.get("then") and values.get("no_cache"):
        raise ConfigError(
            "--then takes the answers of the first part from the journal, which --no_cache leaves"
            " out",
            "leave --no_cache out",
        )


def _check_workers(values: Mapping[str, Any]) -> None:
    """Refuse what is said of workers where there are none."""
    if values.get("workers") or values.get("ray_address"):
        return
    for name in ("num_gpus", "num_cpus", "shard_size"):
        if values.get(name) is not None:
            raise ConfigError(
                f"--{name} is a setting of workers, and there are none",
                "add --workers N, or --ray_address for a cluster",
            )


def pair_numbers(name: str, numbers: Sequence[float], entries: Sequence[str]) -> list[float | None]:
    """One number per entry of `--tasks`, where none, one, or as many as entries are given.

    Raises:
        ConfigError: Showing the pairing, when the counts differ.
    """
    if not numbers:
        return [None] * len(entries)
    if len(numbers) == 1:
        return [numbers[0]] * len(entries)
    if len(numbers) == len(entries):
        return list(numbers)
    width = max(len(entry) for entry in entries)
    rows = []
    for position in range(max(len(entries), len(numbers))):
        entry = entries[position] if position < len(entries) else "(no task)"
        number = f"{numbers[position]:g}" if position < len(numbers) else "(no number)"
        rows.append(f"    {entry:<{width}}  {number}")
    counted = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
    raise ConfigError(
        f"--{name} gives {len(numbers)} numbers for {counted} of --tasks:\n" + "\n".join(rows),
        "give one number for all, or one per entry in the order written; "
        "a pattern or a group counts as one entry",
    )
