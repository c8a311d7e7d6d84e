"""The `--model_args` of a checkpoint, checked before anything heavy is imported.

Imports neither torch nor transformers, so that a wrong argument is an error at once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any

from tenbin.backends.base import BackendSettings, refuse_argument
from tenbin.errors import BackendError, ConfigError

DTYPES = ("auto", "float32", "bfloat16", "float16")
ENGINES = ("auto", "tree", "rows", "cache", "plain")
"""Scoring engines, the fastest first, and `auto` for the fastest that passes the probe."""


@dataclass(frozen=True, slots=True)
class HfArguments:
    """The model arguments of one run, coerced to their types."""

    pretrained: str
    """A folder, a .gguf file, a hub id, or `smollm2-135m`."""
    revision: str | None = None
    subfolder: str | None = None
    tokenizer: str | None = None
    """Folder or hub id of another tokenizer than the model's own."""
    use_fast_tokenizer: bool = True
    add_bos_token: bool | None = None
    dtype: str = "auto"
    max_length: int | None = None
    trust_remote_code: bool = False
    gguf_file: str | None = None
    """Name of the .gguf file inside the folder that `pretrained` names."""
    peft: str | None = None
    """Folder or hub id of a PEFT adapter."""
    device: str | None = None
    device_map: str | None = None
    parallelize: bool = False
    """The same as device_map=auto."""
    load_in_4bit: bool = False
    load_in_8bit: bool = False
    attn_implementation: str | None = None
    engine: str = "auto"
    """The scoring engine: auto, tree, rows, cache or plain."""
    compile: str = "auto"
    """Compile the model's layers: always, never, or auto for long runs on a GPU."""
    packed_weights: bool = True
    """Keep linear layers in the layout of the CPU's matrix kernel, where that is possible."""
    probe: str = "remembered"
    """Whether to reuse an earlier probe result: remembered, or always to probe again."""
    cache_dir: str | None = None
    """Where hub downloads are kept."""


def as_boolean(value: object) -> bool:
    """Return a word such as `yes` or `0` as a bool; ValueError for any other."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in {"true", "1", "yes", "on"}:
        return True
    if word in {"false", "0", "no", "off"}:
        return False
    raise ValueError("neither True nor False")


def _positive(value: object) -> int:
    if isinstance(value, bool):
        raise ValueError("not a whole number")
    try:
        number = int(str(value))
    except ValueError:
        raise ValueError("not a whole number") from None
    if number < 1:
        raise ValueError("not above zero")
    return number


def _dtype(value: object) -> str:
    short = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "half": "float16"}
    word = str(value).removeprefix("torch.")
    word = short.get(word, word)
    if word not in DTYPES:
        raise ValueError(f"none of {', '.join(DTYPES)}")
    return word


def _word(value: object) -> str:
    word = str(value)
    if not word:
        raise ValueError("empty")
    return word


def _when(value: object) -> str:
    word = {"true": "always", "false": "never"}.get(str(value).lower(), str(value).lower())
    if word not in ("auto", "always", "never"):
        raise ValueError("none of auto, always, never")
    return word


def _probe(value: object) -> str:
    word = str(value).strip().lower()
    if word not in ("remembered", "always"):
        raise ValueError("neither remembered nor always")
    return word


def _engine(value: object) -> str:
    word = str(value).strip().lower()
    if word not in ENGINES:
        raise ValueError(f"none of {', '.join(ENGINES)}")
    return word


_COERCE: dict[str, Callable[[object], Any]] = {
    "dtype": _dtype,
    "engine": _engine,
    "compile": _when,
    "probe": _probe,
    "max_length": _positive,
    **dict.fromkeys(
        (
            "use_fast_tokenizer",
            "add_bos_token",
            "trust_remote_code",
            "parallelize",
            "load_in_4bit",
            "load_in_8bit",
            "packed_weights",
        ),
        as_boolean,
    ),
}
_DEMANDED = {field.name for field in fields(HfArguments) if field.default is MISSING}
_OPTIONAL = {field.name for field in fields(HfArguments) if field.default is None}
NAMES = tuple(field.name for field in fields(HfArguments))


def read_arguments(settings: BackendSettings) -> HfArguments:
    """Check the model arguments and join them with the settings of the same meaning.

    Args:
        settings: What the user said.

    Returns:
        The arguments, coerced; dtype, device and add_bos of the settings filled in.

    Raises:
        ConfigError: A name is unknown, a value has the wrong type, or two contradict each other.
        BackendError: A library that an argument needs is not installed.
    """
    values = {name: _coerced(name, value) for name, value in settings.model_args.items()}
    if values.get("pretrained") is None:
        raise ConfigError(
            "the hf backend needs to know the model", "add --model_args pretrained=FOLDER_OR_HUB_ID"
        )
    _join(values, "dtype", None if settings.dtype is None else _coerced("dtype", settings.dtype))
    _join(values, "device", settings.device)
    _join(values, "add_bos_token", settings.add_bos)
    arguments = HfArguments(**values)
    _refuse_contradictions(arguments)
    _require_libraries(arguments)
    return arguments


def _coerced(name: str, value: object) -> Any:
    if name not in NAMES:
        refuse_argument(name, "hf", NAMES)
    if value is None or (name in _OPTIONAL and value == "None"):
        return None if name in _DEMANDED else HfArguments.__dataclass_fields__[name].default
    try:
        return _COERCE.get(name, _word)(value)
    except ValueError as error:
        raise ConfigError(f"model argument {name}={value!r} is {error}") from None


def _join(values: dict[str, Any], name: str, setting: object) -> None:
    """Take a setting that has its own flag, unless the model arguments say otherwise."""
    if setting is None:
        return
    if values.get(name) not in (None, setting):
        raise ConfigError(
            f"{name} is {values[name]!r} in the model arguments and {setting!r} on its own flag",
            "give it in one place",
        )
    values[name] = setting


def _refuse_contradictions(arguments: HfArguments) -> None:
    is_gguf = arguments.gguf_file is not None or arguments.pretrained.endswith(".gguf")
    quantised = arguments.load_in_4bit or arguments.load_in_8bit
    if arguments.load_in_4bit and arguments.load_in_8bit:
        raise ConfigError("load_in_4bit and load_in_8bit exclude each other", "give one of them")
    if is_gguf and quantised:
        raise ConfigError(
            "a GGUF file is already quantised and is unpacked to float32 on loading",
            "leave load_in_4bit and load_in_8bit out",
        )
    if arguments.parallelize and arguments.device_map not in (None, "auto"):
        raise ConfigError(
            f"parallelize means device_map=auto, but device_map is {arguments.device_map!r}",
            "give one of them",
        )
    if (arguments.parallelize or arguments.device_map) and arguments.device not in (None, "auto"):
        raise ConfigError(
            f"device {arguments.device!r} and a device map are both given",
            "give one of them: a device map places the weights by itself",
        )


def _require_libraries(arguments: HfArguments) -> None:
    if arguments.load_in_4bit or arguments.load_in_8bit:
        _require("bitsandbytes", "load_in_4bit and load_in_8bit need", "tenbin[quantized]")
    if arguments.peft is not None:
        _require("peft", "an adapter needs", "tenbin[peft]")


def _require(module: str, reason: str, extra: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise BackendError(f"{reason} {module}, which is not installed", f"pip install '{extra}'")
