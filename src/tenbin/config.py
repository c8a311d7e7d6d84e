"""Flags and run files → one frozen RunConfig. Unknown keys are refused, values are checked.

Knows no task, data or model: only what a user may write and what type it has.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from tenbin.errors import ConfigError
from tenbin.profiles import Profile, find_profile
from tenbin.records import Thinking

DEFAULT_SEED = 1234
SCALE = ("workers", "ray_address", "num_gpus", "num_cpus")
"""Settings that say where a run is worked out and not what comes out."""
MODELS, AT_ONCE = "models", "models_at_once"
"""Keys of a run file that many models have in common."""
AUTO = "auto"
CROSSFIT = "crossfit"


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything a run depends on, as the user wrote it."""

    tasks: tuple[str, ...]
    """Ids, patterns, groups, bare names or task files."""
    model: str = "hf"
    model_args: Mapping[str, Any] = field(default_factory=dict)
    template: str | None = None
    """Template for bare names and groups; `auto` chooses it on documents held out."""
    templates: tuple[str, ...] = ()
    """Templates to sweep over; `all` stands for every one that a task has."""
    num_fewshot_sweep: tuple[int, ...] = ()
    """Numbers of shots to sweep over."""
    seeds: int = 1
    """Draws of examples to sweep over, from `seed` upwards."""
    select_on: str | None = None
    """Where templates are chosen: `crossfit`, or `SPLIT:N` for documents of another split."""
    num_fewshot: tuple[int, ...] = ()
    """None given: each task's own; one: for all; else one per entry of `tasks`."""
    limit: tuple[float, ...] = ()
    """Like num_fewshot; a value below 1 is a fraction."""
    seed: int = DEFAULT_SEED
    batch_size: int | Literal["auto"] = "auto"
    dtype: str | None = None
    device: str | None = None
    encoding: Literal["joint", "separate"] = "joint"
    apply_chat_template: bool = False
    system_instruction: str | None = None
    system_prompt: str | None = None
    """Fills templates that write their own system part; SYSTEM_PROMPT in the environment."""
    chat_template_args: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the model's chat template, such as enable_thinking."""
    fewshot_as_multiturn: bool = False
    fewshot: Literal["random", "fixed"] = "random"
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Laid over each generation task's own settings: do_sample, temperature, top_p, top_k,
    max_gen_toks."""
    repeats: int | None = None
    """Answers drawn to each document of a generation task; None: the task's own number."""
    thinking: tuple[str, ...] = ()
    """The two marks around a reasoning model's thoughts; none: all that is written is answer."""
    thinking_budget: int | None = None
    """Tokens of thought before an answer; None: the usual number."""
    extra_metrics: tuple[str, ...] = ()
    """Metrics beyond a task's own: `acc_pmi`, or `PATTERN:acc_pmi` for some tasks only."""
    data_dir: str | None = None
    sample_data: bool = False
    jglue_version: Literal["1.1", "1.3"] = "1.1"
    split: str | None = None
    """Score this split instead of the task's own."""
    offline: bool = False
    include_path: tuple[str, ...] = ()
    profile: str | None = None
    output_path: str | None = None
    cache_dir: str | None = None
    no_cache: bool = False
    workers: int | None = None
    """Workers that answer, each with a model of its own; None: this process alone, or with
    `ray_address` as many as the cluster has room for."""
    ray_address: str | None = None
    """A Ray cluster: `auto`, HOST:PORT or ray://HOST:PORT; None: one of this machine's own."""
    num_gpus: float | None = None
    """GPUs a worker, a fraction where several share one; None: what the model asks for."""
    num_cpus: float | None = None
    """CPUs a worker, and so its threads; None: one."""
    shard_size: int | None = None
    """Requests that are handed to a worker at a time, at most; None: 256."""

    @property
    def way(self) -> Profile:
        """The profile's settings."""
        return find_profile(self.profile)

    @property
    def reasoning(self) -> Thinking | None:
        """How generation tasks let the model think; None: not at all."""
        if not self.thinking:
            return None
        opening, closing = self.thinking
        if self.thinking_budget is None:
            return Thinking(opening, closing)
        return Thinking(opening, closing, self.thinking_budget)

    @property
    def held_out(self) -> tuple[str, int] | None:
        """The split and number of documents that templates are chosen on; None: the scored ones."""
        if self.select_on is None or self.select_on == CROSSFIT:
            return None
        split, _, count = self.select_on.rpartition(":")
        return split, int(count)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for results and for a file that runs it again."""
        plain: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            plain[one.name] = list(value) if isinstance(value, tuple) else value
        plain["model_args"] = dict(self.model_args)
        plain["gen_kwargs"] = dict(self.gen_kwargs)
        plain["chat_template_args"] = dict(self.chat_template_args)
        return plain


def _text(value: Any) -> str:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError("a text")


def _path(value: Any) -> str:
    return os.fspath(value) if isinstance(value, Path) else _text(value)


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"true", "false", "1", "0", "yes", "no"}:
        return value.lower() in {"true", "1", "yes"}
    raise ValueError("true or false")


def _whole(value: Any) -> int:
    try:
        if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("a whole number") from None


def split_list(value: Any) -> list[Any]:
    """A YAML list as it is, a comma-separated text cut up, a single value alone."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value]


def _names(value: Any) -> tuple[str, ...]:
    return tuple(_text(part) for part in split_list(value))


def _shots(value: Any) -> tuple[int, ...]:
    numbers = tuple(_whole(part) for part in split_list(value))
    if not numbers or any(number < 0 for number in numbers):
        raise ValueError("whole numbers of 0 or more")
    return numbers


def _amount(value: Any) -> float:
    number = _real(value)
    if number < 0 or (number > 1 and number != int(number)):
        raise ValueError("a whole number, or a fraction below 1")
    return number


def _processors(value: Any) -> float:
    if (number := _real(value)) <= 0:
        raise ValueError("a number above 0")
    return number


def _positive(value: Any) -> int:
    try:
        number = _whole(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError("a whole number above 0")
    return number


def _selection(value: Any) -> str:
    split, colon, count = str(value).rpartition(":")
    if value == CROSSFIT or (colon and split.strip() and count.isdecimal() and int(count) > 0):
        return str(value)
    raise ValueError("crossfit, or SPLIT:N such as train:200")


def _limits(value: Any) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in split_list(value))
    except (TypeError, ValueError):
        numbers = ()
    usable = all(n > 0 and (n < 1 or n.is_integer()) for n in numbers)
    if not numbers or not usable or isinstance(value, bool):
        raise ValueError("whole numbers above 0, or fractions between 0 and 1")
    return numbers


def _batch(value: Any) -> int | str:
    if value == "auto":
        return "auto"
    try:
        number = _whole(value)
    except ValueError:
        raise ValueError("auto, or a whole number above 0") from None
    if number < 1:
        raise ValueError("auto, or a whole number above 0")
    return number


def _real(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError("a number")
    return number


def _temperature(value: Any) -> float:
    if (number := _real(value)) < 0:
        raise ValueError("a number of 0 or more")
    return number


def _share(value: Any) -> float:
    if not 0 < (number := _real(value)) <= 1:
        raise ValueError("a number above 0, up to 1")
    return number


def _top_k(value: Any) -> int:
    if (number := _whole(value)) < 0:
        raise ValueError("a whole number above 0, or 0 for all tokens")
    return number


_GENERATION: dict[str, Callable[[Any], Any]] = {
    "do_sample": _flag,
    "temperature": _temperature,
    "top_p": _share,
    "top_k": _top_k,
    "max_gen_toks": _positive,
}


def _gen_kwargs(value: Any) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, content in parse_model_args(value).items():
        if name not in _GENERATION:
            close = get_close_matches(name, _GENERATION, n=1)
            guess = f", did you mean {close[0]}?" if close else ""
            raise ValueError(f"{', '.join(_GENERATION)} (no {name}{guess})")
        try:
            given[name] = _GENERATION[name](content)
        except ValueError as error:
            raise ValueError(f"{error} as {name}") from None
    return given


def _marks(value: Any) -> tuple[str, ...]:
    """YAML reads on and off as true and false."""
    if value is True or value in ("on", "true"):
        return (Thinking().opening, Thinking().closing)
    # An empty list is what a stored run says of none.
    if value is False or value in ("off", "false", [], ()):
        return ()
    given = split_list(value) if isinstance(value, str | list | tuple) else []
    marks = tuple(str(mark).strip() for mark in given)
    if len(marks) == 2 and all(marks):
        return marks
    raise ValueError("on, off, or the two marks around a thought as OPENING,CLOSING")


def _budget(value: Any) -> int:
    if (number := _whole(value)) < 0:
        raise ValueError("a whole number of 0 or more")
    return number


def _template_args(value: Any) -> dict[str, Any]:
    """Values of a command line in the types that a template tests for."""
    known = {"true": True, "false": False, "none": None, "null": None}
    given = {}
    for name, content in parse_model_args(value).items():
        if not name.isidentifier():
            raise ValueError(f"names of variables; {name!r} is none")
        if isinstance(content, str):
            content = known.get(content.lower(), int(content) if content.isdecimal() else content)
        given[name] = content
    return given


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if str(value) not in allowed:
            raise ValueError(f"one of: {', '.join(allowed)}")
        return str(value)

    return check


def parse_model_args(value: Any) -> dict[str, Any]:
    """`pretrained=PATH,dtype=float32` as a mapping; a mapping stays as it is."""
    if isinstance(value, Mapping):
        return dict(value)
    arguments: dict[str, Any] = {}
    for part in split_list(value):
        name, equals, content = str(part).partition("=")
        if not equals or not name.strip():
            raise ValueError(f"name=value pairs joined by commas; {part!r} is none")
        if name.strip() in arguments:
            raise ValueError(f"each name once; {name.strip()!r} stands there twice")
        arguments[name.strip()] = content.strip()
    return arguments


_COERCE: dict[str, Callable[[Any], Any]] = {
    "tasks": _names,
    "model": _text,
    "model_args": parse_model_args,
    "template": _text,
    "templates": _names,
    "num_fewshot_sweep": _shots,
    "seeds": _positive,
    "select_on": _selection,
    "num_fewshot": _shots,
    "limit": _limits,
    "seed": _whole,
    "batch_size": _batch,
    "dtype": _one_of("auto", "float32", "bfloat16", "float16"),
    "device": _text,
    "encoding": _one_of("joint", "separate"),
    "apply_chat_template": _flag,
    "system_instruction": _text,
    "system_prompt": _text,
    "chat_template_args": _template_args,
    "fewshot_as_multiturn": _flag,
    "fewshot": _one_of("random", "fixed"),
    "gen_kwargs": _gen_kwargs,
    "repeats": _positive,
    "thinking": _marks,
    "thinking_budget": _budget,
    "extra_metrics": _names,
    "data_dir": _path,
    "sample_data": _flag,
    "jglue_version": _one_of("1.1", "1.3"),
    "split": _text,
    "offline": _flag,
    "include_path": _names,
    "profile": _text,
    "output_path": _path,
    "cache_dir": _path,
    "no_cache": _flag,
    "workers": _positive,
    "ray_address": _text,
    "num_gpus": _amount,
    "num_cpus": _processors,
    "shard_size": _positive,
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
        values["system_prompt"] = os.environ["SYSTEM_PROMPT"]
    profile = find_profile(values.get("profile"))
    _apply_profile(profile, values)
    if values.get("sample_data") and values.get("data_dir"):
        raise ConfigError("--sample_data and --data_dir exclude each other", "give one of them")
    _check_sweep(values)
    _check_dependent(values)
    _check_workers(values)
    return RunConfig(**values)


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


def check_values(given: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """The given values in their types; what is None is left out."""
    prefix = f"{where}: " if where else "--"
    values: dict[str, Any] = {}
    for name, value in given.items():
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
            raise ConfigError(f"{prefix}{name} takes {error}, not {value!r}") from None
    return values


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


@dataclass(frozen=True, slots=True)
class ModelsFile:
    """A run with a list of models, in a file or in Python."""

    shared: Mapping[str, Any]
    """Keys for all of them."""
    models: tuple[Mapping[str, Any], ...]
    at_once: int | None
    """Runs that go on side by side; None: as many as there is room for."""


def read_models_file(path: str | Path) -> ModelsFile | None:
    """A run file that names many models; None where it is one run's.

    Raises:
        ConfigError: Naming the file, when it cannot be read or its models are no list.
    """
    loaded = _read_mapping(path)
    return list_models(loaded, f"--config {path}") if MODELS in loaded else None


def list_models(given: Mapping[str, Any], where: str) -> ModelsFile:
    """Keys of a run, among them a list of models.

    Raises:
        ConfigError: Naming the place, when the models are no list or a key is unknown.
    """
    shared = {name: value for name, value in given.items() if name not in (MODELS, AT_ONCE)}
    models, at_once = given.get(MODELS), given.get(AT_ONCE)
    if not isinstance(models, list | tuple) or not models:
        raise ConfigError(f"{where}: {MODELS} is a list of models", "each entry names one model")
    try:
        number = None if at_once is None else _positive(at_once)
    except ValueError as error:
        raise ConfigError(f"{where}: {AT_ONCE} takes {error}, not {at_once!r}") from None
    return ModelsFile(check_values(shared, where), tuple(models), number)


def read_run_file(path: str | Path) -> dict[str, Any]:
    """The keys of a run file.

    Raises:
        ConfigError: Naming the file, when it cannot be read or is no mapping.
    """
    loaded = _read_mapping(path)
    if MODELS in loaded:
        raise ConfigError(
            f"--config {path}: a list of models is for `tenbin run`",
            "name one model, or run the file with `tenbin run --config`",
        )
    return check_values(loaded, str(path))


def _read_mapping(path: str | Path) -> dict[str, Any]:
    import yaml

    try:
        loaded = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"--config {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"--config {path}: not valid YAML: {error}") from error
    if not isinstance(loaded, dict):
        raise ConfigError(f"--config {path}: a run file is a mapping of keys")
    return loaded


def _counted(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries} entries"


def pair_numbers(name: str, numbers: Sequence[float], entries: Sequence[str]) -> list[float | None]:
    """One number per entry: none given, one for all, or as many as entries.

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
    raise ConfigError(
        f"--{name} gives {len(numbers)} numbers for {_counted(len(entries))} of --tasks:\n"
        + "\n".join(rows),
        "give one number for all, or one per entry in the order written; "
        "a pattern or a group counts as one entry",
    )
