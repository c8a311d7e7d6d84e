"""The model arguments of the server backends, checked before the server is contacted.

The key is never among them: it comes from the environment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from tenbin.backends.base import refuse_argument
from tenbin.errors import ConfigError

When = Literal["auto", "never"]


@dataclass(frozen=True, slots=True)
class ServerArguments:
    """The model arguments of one run, coerced to their types."""

    base_url: str
    """The server's address: `http://127.0.0.1:8000/v1`."""
    model: str | None = None
    """The model's name at the server; may be left out if the server has only one."""
    tokenizer: str | None = None
    """Folder or hub id of the model's tokenizer: prompts are then sent as tokens."""
    max_length: int | None = None
    """The context window in tokens; None: as the server or the tokenizer says."""
    concurrency: int = 32
    """Most calls at a time; the actual number adapts to the server."""
    timeout: float = 300.0
    """Seconds that a whole call may take."""
    retries: int = 5
    """Further attempts after a transient failure."""
    give_up: int = 20
    """Consecutive failed requests after which the run is stopped."""
    api_key_env: str | None = None
    """Environment variable of the key; None: OPENAI_API_KEY, if it is set."""
    logprobs: When = "auto"
    """Whether log-probabilities are requested."""
    choices: Literal["likelihoods", "letters"] = "likelihoods"
    """How `openai` answers choice tasks; `openai-chat` always uses letters."""
    choice_tokens: int = 16
    """Token limit for naming a choice; a thinking model needs more."""
    instruction: str | None = None
    """The instruction that asks for a letter, instead of the built-in one."""
    stops: int = 4
    """Number of stop strings that the server accepts; the others are applied here."""
    limit_field: str = "max_tokens"
    """The server's name of the token limit: `max_tokens` or `max_completion_tokens`."""
    price_input: float | None = None
    """Price of a million prompt tokens."""
    price_output: float | None = None
    price_cached: float | None = None
    """Price of a million prompt tokens that were in the server's cache."""
    prices: str | None = None
    """A YAML file: model → input, output, cached."""
    currency: str | None = None


def _whole(value: object) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError("not a whole number above 0")
    return number


def _count(value: object) -> int:
    try:
        return 0 if str(value) == "0" else _whole(value)
    except ValueError:
        raise ValueError("not a whole number of 0 or more") from None


def _number(value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _price(value: object) -> float:
    if not (number := _number(value)) >= 0:
        raise ValueError("not a number of 0 or more")
    return number


def _seconds(value: object) -> float:
    if not (number := _number(value)) > 0:
        raise ValueError("not a number above 0")
    return number


def _word(value: object) -> str:
    if not str(value).strip():
        raise ValueError("empty")
    return str(value)


def _address(value: object) -> str:
    address = _word(value).rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an address such as http://127.0.0.1:8000/v1")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("an address whose port is no number up to 65535") from None
    return address


def _one_of(*allowed: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if str(value) not in allowed:
            raise ValueError(f"none of {', '.join(allowed)}")
        return str(value)

    return check


_COERCE: Mapping[str, Callable[[object], Any]] = {
    "base_url": _address,
    "max_length": _whole,
    "concurrency": _whole,
    "timeout": _seconds,
    "retries": _count,
    "give_up": _whole,
    "logprobs": _one_of("auto", "never"),
    "choices": _one_of("likelihoods", "letters"),
    "choice_tokens": _whole,
    "stops": _count,
    "limit_field": _one_of("max_tokens", "max_completion_tokens"),
    "price_input": _price,
    "price_output": _price,
    "price_cached": _price,
}
NAMES = tuple(field.name for field in fields(ServerArguments))
_SECRETS = ("api_key", "key", "token", "password", "authorization")


def read_arguments(given: Mapping[str, Any], is_chat: bool) -> ServerArguments:
    """Check the model arguments.

    Raises:
        ConfigError: A name is unknown, a value has the wrong type, or two contradict each other.
    """
    for name in given:
        if str(name).lower() in _SECRETS:
            # The value is not shown: it would stay in logs.
            raise ConfigError(
                f"model argument {name}: keys are never written on the command line",
                "put it into OPENAI_API_KEY, or name another variable with api_key_env=NAME",
            )
    values = {name: _coerced(name, value) for name, value in given.items() if value is not None}
    if "base_url" not in values:
        raise ConfigError(
            "the server's address is not known",
            "add --model_args base_url=http://127.0.0.1:8000/v1,model=NAME",
        )
    arguments = ServerArguments(**values)
    _refuse_secrets_in(arguments.base_url)
    _refuse_contradictions(arguments)
    if not is_chat:
        return arguments
    if "choices" in values:
        raise ConfigError(
            "model argument choices has no effect on openai-chat, which always names letters",
            "leave it out",
        )
    return replace(arguments, choices="letters")


def _coerced(name: str, value: object) -> Any:
    if name not in NAMES:
        refuse_argument(name, "a server (openai, openai-chat)", NAMES)
    try:
        return _COERCE.get(name, _word)(value)
    except ValueError as error:
        shown = "" if name == "base_url" and "@" in str(value) else f"={value!r}"
        raise ConfigError(f"model argument {name}{shown} is {error}") from None


def _refuse_secrets_in(address: str) -> None:
    parts = urlsplit(address)
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "model argument base_url holds a user name or a password, and results record it",
            "leave it out, and put the key into OPENAI_API_KEY",
        )
    if parts.query or parts.fragment:
        raise ConfigError("model argument base_url ends in ?… or #…", "give the address without it")


def _refuse_contradictions(arguments: ServerArguments) -> None:
    single = [arguments.price_input, arguments.price_output, arguments.price_cached]
    if arguments.prices is not None and any(price is not None for price in single):
        raise ConfigError(
            "prices names a file, and price_input, price_output or price_cached is given too",
            "give one of them",
        )
    if (arguments.price_input is None) != (arguments.price_output is None):
        raise ConfigError(
            "a cost needs both price_input and price_output",
            "0 stands for tokens that cost nothing",
        )
    if arguments.currency is not None and arguments.prices is None and single[0] is None:
        raise ConfigError(
            "currency alone gives no cost", "add price_input and price_output, or prices=FILE"
        )
    if arguments.price_cached is not None and arguments.price_input is None:
        raise ConfigError("price_cached alone gives no cost", "add price_input and price_output")


def written_arguments(arguments: ServerArguments) -> dict[str, Any]:
    """The arguments that answers depend on, apart from address and model."""
    names = ("logprobs", "choices", "choice_tokens", "instruction", "stops", "limit_field")
    return {name: cast(Any, getattr(arguments, name)) for name in names}
