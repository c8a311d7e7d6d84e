"""The key: read from the environment, sent to one address, and taken out of every other text.

Knows nothing of requests; `scrubbing` knows the ways in which a server may write a key.
"""

from __future__ import annotations

import os

from tenbin.backends.openai.scrubbing import Scrubber
from tenbin.errors import ConfigError

USUAL_VARIABLE = "OPENAI_API_KEY"
_LONGEST = 4096
"""Characters; the headers of a call have to fit into what servers take."""


class Secret:
    """A key that no text shows, its own representation included."""

    __slots__ = ("_key", "_scrubber", "variable")

    def __init__(self, key: str = "", variable: str = USUAL_VARIABLE) -> None:
        self._key = key
        self._scrubber = Scrubber(key)
        self.variable = variable

    def __repr__(self) -> str:
        return f"Secret({self.variable}, {'set' if self._key else 'not set'})"

    def __bool__(self) -> bool:
        return bool(self._key)

    @property
    def sent_from(self) -> str | None:
        """The variable whose key goes along with every call; None where there is no key."""
        return self.variable if self._key else None

    def headers(self) -> dict[str, str]:
        """What is sent along with a call."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def scrubbed(self, text: str) -> str:
        """A message without the key, which some servers repeat in their errors."""
        return self._scrubber.from_message(text)

    def scrubbed_answer(self, text: str) -> str:
        """A model's text without the key; a short one may be a word of the text."""
        return self._scrubber.from_answer(text)

    def may_be_in(self, written: str) -> bool:
        """Whether strings of this JSON may hold the key, by a quick look at it as it came."""
        return self._scrubber.may_be_in(written)


def read_secret(variable: str | None) -> Secret:
    """The key of the environment, or none.

    Args:
        variable: Its name there; None: OPENAI_API_KEY, which need not be set.

    Raises:
        ConfigError: The named variable is not set, or what it holds can be no key.
    """
    name = variable or USUAL_VARIABLE
    key = os.environ.get(name, "").strip()
    if variable is not None and not key:
        raise ConfigError(
            f"api_key_env={variable}: the environment has no such variable",
            f"export {variable}=…, or leave api_key_env out",
        )
    if not key.isascii() or any(mark.isspace() or not mark.isprintable() for mark in key):
        raise ConfigError(
            f"{name} holds spaces or characters that no key has", "set it to the key alone"
        )
    if len(key) > _LONGEST:
        raise ConfigError(
            f"{name} holds {len(key):,} characters, more than any key", "set it to the key alone"
        )
    return Secret(key, name)
