"""What can be known to be wrong before vLLM is started: its options, and a path with no model.

For runs of many models. Imports vLLM, whose version says which options there are.
"""

from __future__ import annotations

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint.location import check_path
from tenbin.backends.vllm.arguments import read_arguments


def check_model(settings: BackendSettings) -> None:
    """Look at what was said about a `vllm` model.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: There is nothing at the path that is named; a hub id is not looked up.
    """
    check_path(read_arguments(settings).files)
