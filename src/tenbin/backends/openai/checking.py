"""What can be known to be wrong before a server is asked: arguments, key, prices, tokenizer.

For runs of many models, whose servers may come up long after the command is given. Knows no
traffic.
"""

from __future__ import annotations

from tenbin.backends.base import BackendSettings
from tenbin.backends.openai.arguments import read_arguments
from tenbin.backends.openai.pricing import prices_of
from tenbin.backends.openai.secret import read_secret


def check_completions(settings: BackendSettings) -> None:
    """Look at what was said about an `openai` model.

    Raises:
        ConfigError: A model argument is wrong, or the key is not in the environment.
        BackendError: A tokenizer that is named by its path is not there.
    """
    _check(settings, is_chat=False)


def check_chat(settings: BackendSettings) -> None:
    """Look at what was said about an `openai-chat` model.

    Raises:
        ConfigError: A model argument is wrong, or the key is not in the environment.
        BackendError: A tokenizer that is named by its path is not there.
    """
    _check(settings, is_chat=True)


def _check(settings: BackendSettings, is_chat: bool) -> None:
    arguments = read_arguments(settings.model_args, is_chat)
    read_secret(arguments.api_key_env)
    if arguments.model is not None:
        prices_of(arguments, arguments.model)
    if arguments.tokenizer is not None:
        # A light install knows servers and no tokenizers.
        from tenbin.backends.checkpoint.location import check_place

        check_place(BackendSettings("hf", {"pretrained": arguments.tokenizer}))
