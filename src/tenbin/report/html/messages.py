"""The interface's texts: one JSON file per language, with the same keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from tenbin.errors import ConfigError

LANGUAGES = ("en", "ja")


@lru_cache
def messages(language: str) -> Mapping[str, str]:
    """Return the texts of a language by key.

    Raises:
        ConfigError: The interface is not available in that language.
    """
    if language not in LANGUAGES:
        raise ConfigError(
            f"--language {language}: the report is available in {' and '.join(LANGUAGES)}",
            "choose one of these",
        )
    source = files("tenbin.report.html") / "assets" / f"messages.{language}.json"
    loaded: dict[str, str] = json.loads(source.read_text(encoding="utf-8"))
    return loaded
