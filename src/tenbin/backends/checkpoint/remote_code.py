"""Code that a model runs and that does not lie beside it.

A model's files may name classes of another repository, `owner/name--module.Class`. That code is
part of the model, so it is part of what answers depend on. Knows the names; runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tenbin.backends.checkpoint.arguments import HfArguments
from tenbin.backends.checkpoint.fingerprint import fingerprint_of, texts_digest
from tenbin.backends.checkpoint.location import locate

_NAMING = ("config.json", "tokenizer_config.json")
_ELSEWHERE = "--"


def foreign_code(folders: Sequence[Path]) -> str:
    """A hash of all code from elsewhere that models or tokenizers name; empty where there is none.

    Args:
        folders: Where their files lie.

    Raises:
        BackendError: It is not there.
    """
    found: dict[str, str] = {}
    for repository, module in sorted(set(_named(folders))):
        location = locate(repository, HfArguments(""), f"{module}.py")
        if location.commit:
            found[repository] = f"hub:{repository}:{location.commit}"
        else:
            found[repository] = texts_digest(location.folder or Path(location.source))
    # A folder is known by what it holds, not by what it is called.
    return fingerprint_of({"code": sorted(found.values())}) if found else ""


def _named(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Repositories and their modules."""
    for file in (folder / name for folder in folders for name in _NAMING):
        try:
            classes = json.loads(file.read_bytes())["auto_map"].values()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # None is named, or the file is damaged, which loading it says.
            continue
        for value in classes:
            yield from _split(value)


def _split(value: Any) -> Iterator[tuple[str, str]]:
    """A tokenizer names a list, its slow and its fast class."""
    for name in value if isinstance(value, list) else [value]:
        if isinstance(name, str) and _ELSEWHERE in name:
            repository, _, path = name.partition(_ELSEWHERE)
            yield repository, path.rpartition(".")[0] or path
