"""Run files: YAML whose keys are options of a run, or of a run with many models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tenbin.config.build import check_values
from tenbin.config.run_config import OPTIONS
from tenbin.config.values import positive
from tenbin.errors import ConfigError
from tenbin.sandbox.printable import shown

if TYPE_CHECKING:
    from pathlib import Path

MODELS, AT_ONCE = "models", "models_at_once"
"""Keys of a run file besides the options: a list of models, and how many run at once."""


class ModelsFile(NamedTuple):
    """Options and a list of models, from a file or from Python."""

    shared: Mapping[str, Any]
    """Options for all of them."""
    models: tuple[Mapping[str, Any], ...]
    at_once: int | None
    """Models that run at the same time; None: as many as there is room for."""


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
        number = None if at_once is None else positive(at_once)
    except ValueError as error:
        raise ConfigError(f"{where}: {AT_ONCE} takes {error}, not {shown(at_once)}") from None
    return ModelsFile(check_values(shared, where), tuple(models), number)


def _read_mapping(path: str | Path) -> dict[str, Any]:
    from pathlib import Path

    from tenbin.files.yaml_text import YamlError, read_yaml, why_unread

    try:
        loaded = read_yaml(Path(path))
    except (OSError, YamlError) as error:
        raise ConfigError(f"--config {path}: {why_unread(error)}") from error
    if not isinstance(loaded, dict):
        raise ConfigError(f"--config {path}: a run file is a mapping of keys")
    models = loaded.get(MODELS)
    for keys in (loaded, *(models if isinstance(models, list) else ())):
        for name in keys if isinstance(keys, dict) else ():
            known = OPTIONS.get(str(name).replace("-", "_"))
            if known is not None and not known.in_files:
                raise ConfigError(
                    f"--config {path}: {known.name} cannot be set in a file",
                    f"files may come from others: give --{known.name} on the command line",
                )
    return loaded
