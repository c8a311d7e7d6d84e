"""A server's model as `tenbin doctor` sees it: by the tokenizer that `tokenizer=` names.

Asks no server, and so needs no address.
"""

from __future__ import annotations

from dataclasses import replace

from tenbin.backends.base import BackendSettings, TokenizerInspector
from tenbin.backends.openai.arguments import read_arguments
from tenbin.errors import BackendError


def open_inspector(settings: BackendSettings) -> TokenizerInspector:
    """The tokenizer of a completions server's model, laid open.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: No tokenizer is named, or it is not there.
    """
    from tenbin.backends.checkpoint.checkpoint import open_inspector as open_hf_inspector

    nowhere = {"base_url": "http://127.0.0.1/v1"}
    arguments = read_arguments({**nowhere, **settings.model_args}, is_chat=False)
    if arguments.tokenizer is None:
        raise BackendError(
            "a server shows no tokenizer, and without one there is nothing to look at",
            "name that of the model behind it, a folder or a hub id: --model_args tokenizer=PATH",
        )
    given = {"pretrained": arguments.tokenizer}
    if arguments.max_length is not None:
        given["max_length"] = str(arguments.max_length)
    return open_hf_inspector(replace(settings, model="hf", model_args=given))


def refuse_chat(settings: BackendSettings) -> TokenizerInspector:
    """Say why a chat server's model cannot be looked at.

    Raises:
        BackendError: Always.
    """
    raise BackendError(
        f"{settings.model}: the server puts the messages into the model's chat format and makes"
        " tokens of them itself, so there is nothing here to look at",
        "look at the templates in the model's chat format with its own tokenizer: --model hf"
        " --model_args pretrained=PATH --apply_chat_template",
    )
