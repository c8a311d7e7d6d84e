"""Prices of tokens as the user gives them: by arguments, or in a file for many models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.backends.openai.arguments import ServerArguments
from tenbin.backends.openai.identity import short_name
from tenbin.errors import ConfigError, guess_at
from tenbin.files.home import expanded

_NAMES = ("input", "output", "cached")


def prices_of(arguments: ServerArguments, model: str) -> dict[str, Any] | None:
    """Prices of a million tokens, `input`, `output`, `cached`, with `currency`; None without any.

    Raises:
        ConfigError: The file cannot be read, or has no prices of this model.
    """
    if arguments.prices is not None:
        found = _read_file(arguments.prices, model)
    elif arguments.price_input is not None:
        found = {
            "input": arguments.price_input,
            "output": arguments.price_output,
            "cached": arguments.price_cached,
        }
    else:
        return None
    return {**found, "currency": arguments.currency}


def _read_file(path: str, model: str) -> dict[str, Any]:
    from tenbin.files.yaml_text import YamlError, read_yaml, why_unread

    try:
        table = read_yaml(expanded(path))
    except (OSError, YamlError) as error:
        raise ConfigError(f"prices={path}: {why_unread(error)}") from error
    if not isinstance(table, Mapping):
        raise ConfigError(f"prices={path}: a price table maps models to input, output and cached")
    # A model that is named by a path may be listed under its file name.
    model = next((name for name in (model, short_name(model)) if name in table), short_name(model))
    if model not in table:
        guess = guess_at(model, [str(name) for name in table])
        known = ", ".join(str(name) for name in list(table)[:8])
        raise ConfigError(f"prices={path}: no prices of {model!r}", f"{guess}it has: {known}")
    return _checked(path, model, table[model])


def _checked(path: str, model: str, entry: Any) -> dict[str, Any]:
    where = f"prices={path}: {model}"
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where}: give input, output and, where it differs, cached")
    unknown = sorted(str(name) for name in entry if name not in _NAMES)
    if unknown:
        raise ConfigError(f"{where}: unknown {', '.join(unknown)}", f"known: {', '.join(_NAMES)}")
    for name in ("input", "output"):
        if name not in entry:
            raise ConfigError(
                f"{where}: {name} is missing", "0 stands for tokens that cost nothing"
            )
    for name, value in entry.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value < float("inf"):
            raise ConfigError(f"{where}: {name} is {value!r}, not a number of 0 or more")
    return {name: entry.get(name) for name in _NAMES}
