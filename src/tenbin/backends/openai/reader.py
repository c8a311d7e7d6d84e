"""A server's model as `tenbin doctor` sees it: by the tokenizer that `tokenizer=` names.

Asks no server.
"""

from __future__ import annotations

from dataclasses import replace

from tenbin.backends.base import BackendSettings, TokenReader
from tenbin.backends.openai.arguments import read_arguments
from tenbin.errors import BackendError


def open_reader(settings: BackendSettings) -> TokenReader:
    """The tokenizer of a completions server's model, laid open.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: No tokenizer is named, or it is not there.
    """
    from tenbin.backends.hf.inspection import open_reader as open_hf_reader

    arguments = read_arguments(settings.model_args, is_chat=False)
    if arguments.tokenizer is None:
        raise BackendError(
            "a server shows no tokenizer, and without one there is nothing to look at",
            "add the tokenizer of the model behind it: --model_args base_url=…,tokenizer=PATH",
        )
    given = {"pretrained": arguments.tokenizer}
    if arguments.max_length is not None:
        given["max_length"] = str(arguments.max_length)
    return open_hf_reader(replace(settings, model="hf", model_args=given))
