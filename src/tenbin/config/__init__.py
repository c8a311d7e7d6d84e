"""Options of a run: declared once in `run_config`, read from flags, run files or Python.

`options` says what an option is, `values` how values are read, `build` makes a checked RunConfig,
`files` reads run files, `profiles` holds settings that reproduce published numbers.
"""

from tenbin.config.build import (
    build_config,
    check_values,
    complete_config,
    pair_numbers,
    version_shorthand,
)
from tenbin.config.files import (
    AT_ONCE,
    MODELS,
    ModelsFile,
    list_models,
    read_models_file,
    read_run_file,
)
from tenbin.config.options import show_in_signature
from tenbin.config.run_config import AUTO, OPTIONS, RunConfig, repeating_command, repeating_flags
from tenbin.config.values import CROSSFIT, parse_model_args, split_list

__all__ = [
    "AT_ONCE",
    "AUTO",
    "CROSSFIT",
    "MODELS",
    "OPTIONS",
    "ModelsFile",
    "RunConfig",
    "build_config",
    "check_values",
    "complete_config",
    "list_models",
    "pair_numbers",
    "parse_model_args",
    "read_models_file",
    "read_run_file",
    "repeating_command",
    "repeating_flags",
    "show_in_signature",
    "split_list",
    "version_shorthand",
]
