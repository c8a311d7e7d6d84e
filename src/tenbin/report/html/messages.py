"""The interface's texts. One JSON file a language, with the same keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from tenbin.errors import ConfigError

LANGUAGES = ("en", "ja")


@lru_cache
def messages(language: str) -> Mapping[str, str]:
    """Key → text.

    Raises:
        ConfigError: The interface does not speak that language.
    """
    if language not in LANGUAGES:
        raise ConfigError(
            f"--language {language}: the report speaks {' and '.join(LANGUAGES)}", "give one"
        )
    source = files("tenbin.report.html") / "assets" / f"messages.{language}.json"
    loaded: dict[str, str] = json.loads(source.read_text(encoding="utf-8"))
    return loaded
