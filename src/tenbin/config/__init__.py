"""Flags and run files → one frozen RunConfig. Unknown keys are refused, values are checked.

Knows no task, data or model: only what a user may write and what type it has. `settings` is what
comes out; `building` makes it, by the `kinds` of values and those of `writing`; `files` reads it.
"""

from tenbin.config.building import build_config, check_values, version_shorthand
from tenbin.config.files import (
    AT_ONCE,
    MODELS,
    ModelsFile,
    list_models,
    read_models_file,
    read_run_file,
)
from tenbin.config.kinds import parse_model_args, split_list
from tenbin.config.pairing import pair_numbers
from tenbin.config.settings import AUTO, CROSSFIT, DEFAULT_SEED, SCALE, RunConfig

__all__ = [
    "AT_ONCE",
    "AUTO",
    "CROSSFIT",
    "DEFAULT_SEED",
    "MODELS",
    "SCALE",
    "ModelsFile",
    "RunConfig",
    "build_config",
    "check_values",
    "list_models",
    "pair_numbers",
    "parse_model_args",
    "read_models_file",
    "read_run_file",
    "split_list",
    "version_shorthand",
]
